"""What the memory cannot be served with: every combination that would be silently wrong stops the server with one
sentence."""

from __future__ import annotations

from typing import Any

from .hooks.attention import SUPPORTED_BACKENDS


class Refusal(RuntimeError):
    """The server must not start like this. The message is one sentence for the operator, with the cure."""


_WITHOUT = "or set SGLANG_V14_MEMORY=0 to serve without memory"

_SWITCHES = {
    "enable_dp_attention": "data-parallel attention",
    "enable_mixed_chunk": "mixed prefill and decode batches",
    "enable_two_batch_overlap": "two-batch overlap",
    "enable_pdmux": "split prefill",
    "enable_unified_memory": "the unified memory pool",
    "enable_int8_mamba_checkpoint": "int8 state checkpoints",
    "enable_torch_compile": "torch.compile",
    "enable_lora": "LoRA adapters",
    "enable_hierarchical_cache": "the hierarchical cache",
}


def check(server_args: Any) -> None:
    """Raises `Refusal` for the first argument in SGLang's resolved `server_args` that the memory does not support."""
    for name, parallelism in (("pp_size", "pipeline"), ("tp_size", "tensor"), ("dp_size", "data")):
        if (size := getattr(server_args, name, 1) or 1) != 1:
            raise Refusal(
                f"The memory does not support {parallelism} parallelism (--{name.replace('_', '-')} is {size}): "
                f"use 1, {_WITHOUT}."
            )
    if (workers := getattr(server_args, "tokenizer_worker_num", 1) or 1) != 1:
        raise Refusal(
            f"SGLang loads no plugin in additional tokenizer workers (--tokenizer-worker-num is {workers}): "
            f"use 1, {_WITHOUT}."
        )
    for name, what in _SWITCHES.items():
        if getattr(server_args, name, False):
            raise Refusal(f"The memory does not support {what}: leave out --{name.replace('_', '-')}, {_WITHOUT}.")
    if getattr(server_args, "disaggregation_mode", "null") not in (None, "null"):
        raise Refusal(
            f"The memory does not support prefill/decode disaggregation: leave out --disaggregation-mode, {_WITHOUT}."
        )
    if str(getattr(server_args, "kv_cache_dtype", "auto")).startswith(("fp8", "fp4")):
        raise Refusal(
            f"The memory does not support a scaled K/V cache (--kv-cache-dtype is {server_args.kv_cache_dtype}): "
            f"leave it out, {_WITHOUT}."
        )
    if getattr(server_args, "speculative_algorithm", None):
        raise Refusal(
            f"The memory does not support speculative decoding yet: leave out --speculative-algorithm, {_WITHOUT}."
        )
    if (device := getattr(server_args, "device", "cpu")) != "cpu":
        raise Refusal(f"The memory does not serve on a {device} device yet: use --device cpu, {_WITHOUT}.")
    names = {
        getattr(server_args, name, None)
        for name in ("attention_backend", "prefill_attention_backend", "decode_attention_backend")
    } - {None}
    for name in sorted(names - set(SUPPORTED_BACKENDS)):
        raise Refusal(
            f"The memory needs an attention back end that it can merge recalled keys into, and {name!r} is none: use "
            f"--attention-backend {' or '.join(SUPPORTED_BACKENDS)}, {_WITHOUT}."
        )
