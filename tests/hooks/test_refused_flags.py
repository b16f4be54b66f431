"""The arguments that `sglang_v14.refusals` looks at are SGLang's."""

from __future__ import annotations

import pytest
import sglang_sources

from sglang_v14.hooks.targets import V17, V23
from sglang_v14.refusals import _SWITCHES

OTHERS = (
    "pp_size",
    "tp_size",
    "dp_size",
    "tokenizer_worker_num",
    "disaggregation_mode",
    "speculative_algorithm",
    "attention_backend",
    "prefill_attention_backend",
    "decode_attention_backend",
)


def server_args(version: str) -> set[str]:
    return sglang_sources.dataclass_fields(version, "sglang.srt.server_args.ServerArgs")


@pytest.mark.parametrize("name", [*_SWITCHES, *OTHERS])
def test_a_refused_argument_exists(name: str) -> None:
    """A name that no version has would never be refused."""
    assert name in server_args(V17) | server_args(V23)
