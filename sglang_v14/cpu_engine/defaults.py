"""The environment and the server arguments with which SGLang runs on a plain CPU."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sglang_v14.cpu_engine import SITE
from sglang_v14.cpu_engine.sizing import (
    NotEnoughMemory,
    free_memory_bytes,
    layer_types,
    pool_sizes,
    text_config,
    weight_bytes,
)

_BYTES = {"float32": 4, "float": 4, "bfloat16": 2, "float16": 2, "half": 2}


def cpu_environment(dtype: str = "float32") -> dict[str, str]:
    """Variables that have to be set before the server's Python starts.

    ``PYTHONPATH`` is complete, with this process's own entries behind the stand-in kernels; the other variables are
    defaults that a value of the operator's overrides.
    """
    paths = [str(SITE), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)),
        "SGLANG_USE_CPU_ENGINE": "1",
        # Modules ask PyTorch for a GPU as well, and would half use one that is there.
        "CUDA_VISIBLE_DEVICES": "",
        # The pool of convolution windows is written with activations and must have their dtype.
        "SGLANG_MAMBA_CONV_DTYPE": {"float": "float32", "half": "float16"}.get(dtype, dtype),
        "OMP_NUM_THREADS": str(usable_cores()),
        # A thread that spins while it waits for the others takes their core as soon as anything else runs.
        "OMP_WAIT_POLICY": "PASSIVE",
        # Keep freed activations: fetching fresh pages for every one costs more than computing many of them.
        "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
        "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
    }


def cpu_arguments(model_path: str, dtype: str = "float32") -> dict[str, Any]:
    """Arguments for ``sglang.Engine`` or, spelt as flags, for ``sglang serve``.

    Pool sizes are left to SGLang where ``model_path`` is not a folder with a ``config.json``.

    Raises:
        NotEnoughMemory: if the model cannot fit.
    """
    arguments: dict[str, Any] = {
        "device": "cpu",
        "attention_backend": "torch_native",
        "dtype": dtype,
        "page_size": 1,
        "chunked_prefill_size": 2048,
        "mem_fraction_static": 0.9,
        "sleep_on_idle": True,
    }
    config = read_config(model_path)
    if config is None:
        return arguments
    bytes_per_value = _BYTES.get(dtype, 4)
    free = free_memory_bytes()
    weights = weight_bytes(Path(model_path), config, bytes_per_value)
    if weights > free:
        raise NotEnoughMemory(
            f"{model_path} needs {weights / 2**30:.1f} GiB for its weights in {dtype}, and {free / 2**30:.1f} GiB of "
            "memory are free."
        )
    sizes = pool_sizes(config, free - weights, bytes_per_value)
    arguments["max_total_tokens"] = sizes.max_total_tokens
    arguments["max_running_requests"] = sizes.max_running_requests
    if "linear_attention" in layer_types(text_config(config)):
        arguments["mamba_radix_cache_strategy"] = "extra_buffer"
        if sizes.max_mamba_cache_size is not None:
            arguments["max_mamba_cache_size"] = sizes.max_mamba_cache_size
    return arguments


def read_config(model_path: str) -> Mapping[str, Any] | None:
    """The parsed ``config.json`` of a model folder, or None where there is none."""
    try:
        config = json.loads((Path(model_path) / "config.json").read_text())
    except (OSError, json.JSONDecodeError):
        return None
    return config if isinstance(config, dict) and "num_hidden_layers" in text_config(config) else None


def usable_cores() -> int:
    """Cores this process may run on, less where its control group grants less time than that."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
    except (OSError, ValueError):
        return cores
    return cores if quota == "max" else max(1, min(cores, int(quota) // int(period)))
