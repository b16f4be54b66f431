"""What a recall leaves alone stays alone: recalls that weigh nothing change nothing, in the real engine.

They show that the part read again, its positions, its place in the prefix cache and the recurrent state in front of
it are right.
"""

import importlib.util
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cpu_engine.tiny_models import VOCABULARY, save_llama, save_qwen3_5

if importlib.util.find_spec("sglang") is None:
    pytest.skip("needs SGLang", allow_module_level=True)

_HERE = Path(__file__).parent
_NEW_TOKENS = 40  # past the first reconsideration


def _v14_directory(
    folder: Path, save: Callable[[Path], Any], heads: list[list[int]], head_dim: int, **memory: Any
) -> None:
    import torch
    from safetensors.torch import save_file

    from sglang_v14.bank import bank_metadata

    save(folder)
    config = json.loads((folder / "config.json").read_text())
    config["architectures"] = [config["architectures"][0].replace("For", "V14For")]
    config["memory"] = {
        "voting_heads": heads,
        "recall_floor": 0.0,
        "recall_ratio": 0.0,
        "cue_floor": 1.0,
        "recall_gap_tokens": 0,
        "recall_bias": 0.0,
        "engram_rank": 64,
        "engram_components": 64.0,
        "engram_carry_rank": 64,
        "engram_dtype": "float32",
        "engram_convolution": True,
        **memory,
    }
    (folder / "config.json").write_text(json.dumps(config))
    rows = len({(layer, head // 2) for layer, head in heads})
    (folder / "memory").mkdir()
    bank = {
        "token_ids": torch.arange(4, dtype=torch.int32),
        "keys": torch.randn(4, rows, head_dim),
        "lengths": torch.tensor([4], dtype=torch.int32),
    }
    save_file(bank, folder / "memory" / "bank.safetensors", metadata=bank_metadata(heads))


def _run(folder: Path, requests: list[dict[str, Any]], **arguments: Any) -> list[dict[str, Any]]:
    task, answers = folder / "task.json", folder / "answers.json"
    arguments = {"skip_tokenizer_init": True, "chunked_prefill_size": 64, "log_level": "error", **arguments}
    task.write_text(json.dumps({"model_path": str(folder), "arguments": arguments, "requests": requests}))
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(_HERE / "silent"), os.environ.get("PYTHONPATH", ""))),
        "SGLANG_V14_MEMORY_HOME": str(folder / "memory"),
    }
    command = [sys.executable, str(_HERE / "silent_engine.py"), str(task), str(answers)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Traceback" not in done.stderr, done.stderr[-3000:]
    return list(json.loads(answers.read_text()))


def _request(
    input_ids: list[int], namespace: str, mode: str, *, logprobs: bool | str, new_tokens: int = _NEW_TOKENS
) -> Any:
    """`logprobs`: none, those of the answer, or `all`, the prompt's too."""
    memory = {"namespace": namespace, "mode": mode, "report": True}
    return {"input_ids": input_ids, "memory": memory, "logprobs": logprobs, "new_tokens": new_tokens}


MODELS = pytest.mark.parametrize(
    ("save", "heads", "head_dim"),
    [
        pytest.param(save_llama, [[1, 0], [2, 1], [2, 3]], 16, id="llama"),
        pytest.param(save_qwen3_5, [[3, 0], [3, 1], [3, 3]], 32, id="gated-delta-net"),
    ],
)


@MODELS
def test_a_recall_that_weighs_nothing_changes_nothing(
    tmp_path: Path, save: Callable[[Path], Any], heads: list[list[int]], head_dim: int
) -> None:
    """In whole batches (with log-probabilities) and in parts; with prompts of several chunks; on the same prefix."""
    _v14_directory(tmp_path, save, heads, head_dim)
    draws = random.Random(3)
    told, asked, short = ([draws.randrange(VOCABULARY) for _ in range(n)] for n in (90, 150, 40))
    requests = []
    for namespace in ("silent", "loud"):
        requests.append(_request(told, namespace, "write", logprobs=False, new_tokens=1))
        for prompt in (asked, short):
            for logprobs in ("all", True, False):
                requests += [_request(prompt, namespace, mode, logprobs=logprobs) for mode in ("off", "read", "off")]
    answers = _run(tmp_path, requests)
    silent, loud = answers[: len(answers) // 2], answers[len(answers) // 2 :]
    for before, recalling, after in zip(silent[1::3], silent[2::3], silent[3::3], strict=True):
        assert recalling["memory"] and recalling["memory"][0]["recalled"]
        assert recalling["output_ids"] == before["output_ids"] == after["output_ids"]
        for step_before, step in zip(before["top"], recalling["top"], strict=True):
            assert dict(map(tuple, step)) == pytest.approx(dict(map(tuple, step_before)), abs=1e-3)
    changed = 0
    for before, recalling, after in zip(loud[1::3], loud[2::3], loud[3::3], strict=True):
        assert recalling["memory"] and recalling["memory"][0]["recalled"]
        assert before["output_ids"] == after["output_ids"]
        changed += recalling["output_ids"] != before["output_ids"]
    assert changed


@MODELS
def test_recalled_is_as_if_read(
    tmp_path: Path, save: Callable[[Path], Any], heads: list[list[int]], head_dim: int
) -> None:
    """One event read in an earlier chat and recalled, against event and prompt read in one go.

    Whatever the prompt's first reading was cut into, and with its beginning from the prefix cache.
    """
    _v14_directory(tmp_path, save, heads, head_dim)
    draws = random.Random(4)
    header, event, *prompts = ([draws.randrange(VOCABULARY) for _ in range(n)] for n in (4, 50, 30, 55, 100))
    requests = [_request([*header, *event], "told", "write", logprobs=False, new_tokens=1)]
    for prompt in prompts:
        requests += [
            _request([*header, *event, *prompt], "told", "off", logprobs=True, new_tokens=20),
            _request([*header, *prompt], "told", "read", logprobs=True, new_tokens=20),
            _request([*header, *prompt], "told", "off", logprobs=True, new_tokens=20),
        ]
    answers = _run(tmp_path, requests)
    for whole, recalled, alone in zip(answers[1::3], answers[2::3], answers[3::3], strict=True):
        assert recalled["memory"] and recalled["memory"][0]["recalled"]
        assert recalled["output_ids"] == whole["output_ids"] != alone["output_ids"]
        for step_whole, step in zip(whole["top"], recalled["top"], strict=True):
            assert dict(map(tuple, step)) == pytest.approx(dict(map(tuple, step_whole)), abs=1e-4)


@MODELS
def test_a_prefix_from_the_cache_changes_nothing(
    tmp_path: Path, save: Callable[[Path], Any], heads: list[list[int]], head_dim: int
) -> None:
    """A conversation's second turn that recalls: its first turn read anew, or taken from the prefix cache with its
    recurrent state."""
    user, end, assistant = 7, 8, 9
    markers = {"user": {"start": [user], "end": [end]}, "assistant": {"start": [assistant], "end": [end]}}
    _v14_directory(tmp_path, save, heads, head_dim, markers=markers)
    draws = random.Random(5)
    event, first, answer, second = ([draws.randrange(16, VOCABULARY) for _ in range(n)] for n in (50, 80, 70, 30))
    requests = [_request([user, *event, end], "told", "write", logprobs=False, new_tokens=1)]
    one_turn = [user, *first, end, assistant, *answer, end]
    two_turns = [*one_turn, user, *second, end, assistant]
    for logprobs in (True, False):
        cold = _request(two_turns, "told", "read", logprobs=logprobs)
        requests += [
            {**cold, "flush": True},
            _request(one_turn, "told", "off", logprobs=False, new_tokens=1),
            cold,
            cold,
        ]
    answers = _run(tmp_path, requests, chunked_prefill_size=256)
    for cold, warm, again in zip(answers[1::4], answers[3::4], answers[4::4], strict=True):
        assert all(answer["memory"] and answer["memory"][0]["recalled"] for answer in (cold, warm, again))
        assert cold["cached_tokens"] == 0 and warm["cached_tokens"] >= 128 and again["cached_tokens"] >= 128
        assert cold["output_ids"] == warm["output_ids"] == again["output_ids"]
        for step_cold, step, step_again in zip(cold["top"], warm["top"], again["top"], strict=True):
            assert dict(map(tuple, step)) == pytest.approx(dict(map(tuple, step_cold)), abs=1e-4)
            assert dict(map(tuple, step_again)) == pytest.approx(dict(map(tuple, step_cold)), abs=1e-4)
