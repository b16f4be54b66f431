"""Runs one engine on a model folder and a list of requests; ``python engine_driver.py <requests.json> <answers.json>``.

A process of its own, because the engine's environment has to be set before Python starts.
"""

import json
import sys
from pathlib import Path


def main() -> None:
    task = json.loads(Path(sys.argv[1]).read_text())
    from sglang_v14.launch import prepare_engine

    arguments = prepare_engine(task["model_path"], device="cpu") | task["arguments"]
    import sglang

    engine = sglang.Engine(model_path=task["model_path"], **arguments)
    answers = []
    for request in task["requests"]:
        answer = engine.generate(
            input_ids=request["input_ids"],
            sampling_params={"temperature": 0, "max_new_tokens": request["new_tokens"], "ignore_eos": True},
            return_logprob=True,
            top_logprobs_num=task["top"],
        )
        meta = answer["meta_info"]
        answers.append(
            {
                "output_ids": answer["output_ids"],
                "cached_tokens": meta["cached_tokens"],
                "top": [[(entry[1], entry[0]) for entry in step] for step in meta["output_top_logprobs"]],
            }
        )
    from sglang.srt.plugins.hook_registry import HookRegistry

    result = {"answers": answers, "hooked": sorted(HookRegistry._patched)}
    Path(sys.argv[2]).write_text(json.dumps(result))
    engine.shutdown()


if __name__ == "__main__":
    main()
