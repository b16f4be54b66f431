"""How large SGLang's pools may be on a CPU, from the model's configuration and the free memory.

SGLang sizes its pools as a share of the memory, which on a CPU also belongs to everything else on the machine.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import psutil

MAX_RUNNING_REQUESTS = 8
# Under overlap scheduling a request holds up to 5 state slots; the rest keep states for the prefix cache.
_SLOTS_PER_REQUEST = 8
_MAX_POOL_BYTES = 8 << 30
_MAX_CACHED_TOKENS = 1 << 17
_FLOAT_BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "float8_e4m3fn": 1}


class PoolSizes(NamedTuple):
    """Arguments of SGLang's server; ``max_mamba_cache_size`` is None for models without recurrent layers."""

    max_total_tokens: int
    max_mamba_cache_size: int | None
    max_running_requests: int


class NotEnoughMemory(RuntimeError):
    """The model does not fit; the message is one sentence for the operator."""


def free_memory_bytes() -> int:
    """Memory available to this process: the machine's, or what its control group has left."""
    free = int(psutil.virtual_memory().available)
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text().strip()
    except OSError:
        return free
    return free if limit == "max" else max(0, min(free, int(limit) - int(used)))


def weight_bytes(model_path: Path, config: Mapping[str, Any], bytes_per_value: int) -> int:
    """Size of the weights once loaded, from the size of the safetensors files."""
    stored = text_config(config).get("dtype") or text_config(config).get("torch_dtype") or config.get("dtype")
    scale = bytes_per_value / _FLOAT_BYTES.get(str(stored), 2)
    return math.ceil(scale * sum(file.stat().st_size for file in model_path.glob("*.safetensors")))


def pool_sizes(config: Mapping[str, Any], available_bytes: int, bytes_per_value: int) -> PoolSizes:
    """Sizes for a model with this ``config.json`` when the pools may take half of ``available_bytes``.

    Args:
        config: the parsed ``config.json``.
        available_bytes: memory left once the weights are loaded.
        bytes_per_value: of a key, value or state element.

    Raises:
        NotEnoughMemory: if that is too little for one request of 2,048 tokens (or of the model's context, if shorter).
    """
    text = text_config(config)
    context = int(text.get("max_position_embeddings") or 8192)
    budget = min(available_bytes // 2, _MAX_POOL_BYTES)
    slot = state_slot_bytes(text, bytes_per_value)
    requests, slots = MAX_RUNNING_REQUESTS, None
    if slot:
        requests = max(1, min(requests, budget // 2 // (slot * _SLOTS_PER_REQUEST)))
        slots = requests * _SLOTS_PER_REQUEST
        budget -= slots * slot
    tokens = min(budget // token_bytes(text, bytes_per_value), _MAX_CACHED_TOKENS, max(4 * context, 1 << 14))
    needed = min(context, 2048)
    if tokens < needed:
        raise NotEnoughMemory(
            f"{available_bytes / 2**30:.1f} GiB of memory would be left beside the weights, too little to cache "
            f"a prompt of {needed} tokens."
        )
    return PoolSizes(tokens, slots, requests)


def text_config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of a multimodal model's configuration that describes its language model."""
    nested = config.get("text_config")
    return nested if isinstance(nested, Mapping) else config


def layer_types(text: Mapping[str, Any]) -> list[str]:
    """``full_attention``, ``sliding_attention`` or ``linear_attention`` for every layer."""
    layers = int(text["num_hidden_layers"])
    if types := text.get("layer_types"):
        return list(types)
    if interval := text.get("full_attention_interval"):
        return ["linear_attention" if (index + 1) % interval else "full_attention" for index in range(layers)]
    return ["full_attention"] * layers


def token_bytes(text: Mapping[str, Any], bytes_per_value: int) -> int:
    """Keys and values of one token in all attention layers."""
    attention = sum(kind != "linear_attention" for kind in layer_types(text))
    heads = int(text["num_attention_heads"])
    key_heads = int(text.get("num_key_value_heads") or heads)
    head_dim = int(text.get("head_dim") or text["hidden_size"] // heads)
    return max(1, 2 * attention * key_heads * head_dim * bytes_per_value)


def state_slot_bytes(text: Mapping[str, Any], bytes_per_value: int) -> int:
    """Recurrent and convolution states of one sequence in all Gated DeltaNet layers; 0 if there are none."""
    recurrent = layer_types(text).count("linear_attention")
    if not recurrent or "linear_num_value_heads" not in text:
        return 0
    values = int(text["linear_num_value_heads"]) * int(text["linear_value_head_dim"])
    keys = int(text["linear_num_key_heads"]) * int(text["linear_key_head_dim"])
    state = values * int(text["linear_key_head_dim"])
    convolution = (2 * keys + values) * (int(text.get("linear_conv_kernel_dim", 4)) - 1)
    return recurrent * (state * 4 + convolution * bytes_per_value)
