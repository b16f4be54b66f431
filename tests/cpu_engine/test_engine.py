"""Unmodified SGLang on a CPU against Transformers, on the same weights.

Each engine starts once (about a minute) and answers all requests; the tests look at the answers.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

pytestmark = pytest.mark.skipif(importlib.util.find_spec("sglang") is None, reason="needs SGLang")

CHUNK = 128
TRACKED_EVERY = 64
TOP = 20
NEW_TOKENS = 8


class Served(NamedTuple):
    """A model as Transformers runs it, and SGLang's answers to ``requests``."""

    model: Any
    requests: dict[str, list[int]]
    answers: dict[str, dict[str, Any]]
    hooked: set[str]


def prompt(tokens: int, seed: int) -> list[int]:
    from tests.cpu_engine.tiny_models import VOCABULARY

    return torch.randint(0, VOCABULARY, (tokens,), generator=torch.Generator().manual_seed(seed)).tolist()


def serve(model: Any, folder: Path, workplace: Path, port: int, **arguments: Any) -> Served:
    """Start an engine with nothing of this project in it but the CPU engine, and ask it everything."""
    plugin = workplace / "plugin" / "cpu_engine_only-0.dist-info"
    plugin.mkdir(parents=True)
    (plugin / "METADATA").write_text("Metadata-Version: 2.1\nName: cpu_engine_only\nVersion: 0\n")
    (plugin / "entry_points.txt").write_text(
        "[sglang.srt.plugins]\ncpu_engine_only = sglang_v14.cpu_engine.hooks:register_cpu_hooks\n"
    )
    long = prompt(300, seed=1)
    requests = {
        "one shot": prompt(100, seed=0),
        "chunked": long,
        "cached prefix": long[:290] + prompt(30, seed=2),
        "long decode": prompt(40, seed=3),
    }
    lengths = {"long decode": 2 * TRACKED_EVERY + 5}
    task = {
        "model_path": str(folder),
        "top": TOP,
        "arguments": {
            "port": port,
            "skip_tokenizer_init": True,
            "chunked_prefill_size": CHUNK,
            "max_total_tokens": 4096,
            "log_level": "warning",
            **arguments,
        },
        "requests": [{"input_ids": ids, "new_tokens": lengths.get(name, NEW_TOKENS)} for name, ids in requests.items()],
    }
    (workplace / "requests.json").write_text(json.dumps(task))
    driver = Path(__file__).with_name("engine_driver.py")
    paths = [str(plugin.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    subprocess.run(
        [sys.executable, str(driver), str(workplace / "requests.json"), str(workplace / "answers.json")],
        check=True,
        timeout=600,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "SGLANG_PLUGINS": "cpu_engine_only"},
    )
    result = json.loads((workplace / "answers.json").read_text())
    return Served(model, requests, dict(zip(requests, result["answers"], strict=True)), set(result["hooked"]))


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Served:
    from tests.cpu_engine.tiny_models import save_llama

    folder = tmp_path_factory.mktemp("llama")
    return serve(save_llama(folder), folder, tmp_path_factory.mktemp("run"), port=31010)


@pytest.fixture(scope="module")
def hybrid(tmp_path_factory: pytest.TempPathFactory) -> Served:
    from tests.cpu_engine.tiny_models import save_qwen3_5

    folder = tmp_path_factory.mktemp("qwen3_5")
    return serve(
        save_qwen3_5(folder),
        folder,
        tmp_path_factory.mktemp("run"),
        port=31020,
        mamba_track_interval=TRACKED_EVERY,
    )


def difference(served: Served, name: str) -> float:
    """Largest difference of the log-probabilities of the likeliest tokens, over all generated positions."""
    answer = served.answers[name]
    ids = served.requests[name] + answer["output_ids"]
    with torch.no_grad():
        logits = served.model(torch.tensor([ids])).logits[0].double()
    expected = torch.log_softmax(logits[len(served.requests[name]) - 1 : -1], -1)
    worst = 0.0
    assert len(answer["top"]) == len(answer["output_ids"])
    for row, step in zip(expected, answer["top"], strict=True):
        assert len(step) == TOP
        for token, logprob in step:
            worst = max(worst, abs(float(row[token]) - logprob))
    return worst


@pytest.mark.parametrize("name", ["one shot", "chunked", "cached prefix", "long decode"])
def test_llama(llama: Served, name: str) -> None:
    """Prefill at once, in chunks and behind a cached prefix, and decoding."""
    assert difference(llama, name) < 1e-4


@pytest.mark.parametrize("name", ["one shot", "chunked", "cached prefix", "long decode"])
def test_hybrid(hybrid: Served, name: str) -> None:
    """The same with recurrent states: carried over chunks, restored behind a cached prefix."""
    assert difference(hybrid, name) < 1e-4


def test_every_hook_was_applied(llama: Served) -> None:
    """SGLang only logs a hook that fails."""
    import sglang

    from sglang_v14.cpu_engine.hooks import cpu_hooks

    assert {hook.target for hook in cpu_hooks(sglang.__version__)} <= llama.hooked


def test_the_prefix_cache_was_used(llama: Served, hybrid: Served) -> None:
    """A wrong state restored from the cache is only found if there was one."""
    assert llama.answers["chunked"]["cached_tokens"] == 0
    assert llama.answers["cached prefix"]["cached_tokens"] == 290
    assert hybrid.answers["chunked"]["cached_tokens"] == 0
    assert hybrid.answers["cached prefix"]["cached_tokens"] >= CHUNK


def test_the_hybrid_model_remembers(hybrid: Served) -> None:
    """Changing the first tokens changes the prediction 90 tokens later, so that a lost state would show."""
    ids = torch.tensor([hybrid.requests["one shot"]])
    other = ids.clone()
    other[0, :8] = (other[0, :8] + 1) % 512
    with torch.no_grad():
        moved = (hybrid.model(ids).logits[0, -1] - hybrid.model(other).logits[0, -1]).abs().max()
    assert moved > 0.01
