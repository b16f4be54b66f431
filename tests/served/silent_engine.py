"""Runs one engine with a memory on a list of requests; ``python silent_engine.py <task.json> <answers.json>``."""

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
        if request.get("flush"):
            engine.flush_cache()
        sampling = {"temperature": 0, "max_new_tokens": request["new_tokens"], "ignore_eos": True}
        answer = engine.generate(
            input_ids=request["input_ids"],
            sampling_params={**sampling, "custom_params": {"memory": request["memory"]}},
            return_logprob=request["logprobs"],
            top_logprobs_num=8 if request["logprobs"] else 0,
            logprob_start_len=0 if request["logprobs"] == "all" else -1,
        )
        meta = answer["meta_info"]
        top = [[(entry[1], entry[0]) for entry in step] for step in meta.get("output_top_logprobs") or []]
        answer = {"output_ids": answer["output_ids"], "top": top, "memory": meta.get("memory")}
        answers.append(answer | {"cached_tokens": meta["cached_tokens"]})
    Path(sys.argv[2]).write_text(json.dumps(answers))
    engine.shutdown()


if __name__ == "__main__":
    main()
