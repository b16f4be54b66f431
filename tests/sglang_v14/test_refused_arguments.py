"""Server arguments that the memory does not support are named."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sglang_v14.hooks.attention import SUPPORTED_BACKENDS
from sglang_v14.refusals import Refusal, check

FINE: dict[str, Any] = {
    "pp_size": 1,
    "tp_size": 1,
    "dp_size": 1,
    "tokenizer_worker_num": 1,
    "disaggregation_mode": "null",
    "speculative_algorithm": None,
    "enable_dp_attention": False,
    "enable_lora": None,
    "attention_backend": SUPPORTED_BACKENDS[0],
    "prefill_attention_backend": None,
    "decode_attention_backend": None,
}

REFUSED: list[tuple[str, Any]] = [
    ("pp_size", 2),
    ("tp_size", 4),
    ("dp_size", 2),
    ("tokenizer_worker_num", 2),
    ("enable_dp_attention", True),
    ("enable_mixed_chunk", True),
    ("enable_two_batch_overlap", True),
    ("enable_pdmux", True),
    ("enable_unified_memory", True),
    ("enable_int8_mamba_checkpoint", True),
    ("enable_torch_compile", True),
    ("enable_lora", True),
    ("enable_hierarchical_cache", True),
    ("disaggregation_mode", "prefill"),
    ("speculative_algorithm", "EAGLE"),
    ("kv_cache_dtype", "fp8_e4m3"),
    ("attention_backend", "no_such_backend"),
    ("prefill_attention_backend", "no_such_backend"),
    ("decode_attention_backend", "no_such_backend"),
]


def test_what_is_supported() -> None:
    """The defaults, every checked back end, and arguments that a version does not have."""
    check(SimpleNamespace(**FINE))
    check(SimpleNamespace())
    for backend in SUPPORTED_BACKENDS:
        check(SimpleNamespace(**{**FINE, "attention_backend": backend, "decode_attention_backend": backend}))


@pytest.mark.parametrize(("name", "value"), REFUSED)
def test_a_refusal_is_one_sentence_with_the_flag_and_the_cure(name: str, value: Any) -> None:
    """Each alone is enough."""
    with pytest.raises(Refusal) as refusal:
        check(SimpleNamespace(**{**FINE, name: value}))
    sentence = str(refusal.value)
    flag = "--attention-backend" if name.endswith("attention_backend") else f"--{name.replace('_', '-')}"
    assert flag in sentence
    assert "SGLANG_V14_MEMORY=0" in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence
    if (
        isinstance(value, int | str)
        and value is not True
        and name not in ("disaggregation_mode", "speculative_algorithm")
    ):
        assert str(value) in sentence
