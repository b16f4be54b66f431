"""The CPU engine's hooks inside SGLang, registered with SGLang's own hook registry."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from sglang_v14 import cpu_engine
from sglang_v14.cpu_engine import attention
from sglang_v14.cpu_engine.kernels.gated_norm import layernorm_fn
from sglang_v14.cpu_engine.kernels.state_tracking import track_mamba_states_all_layers, track_mamba_states_if_needed
from sglang_v14.cpu_engine.without_accelerator import default_to_cpu_module, ignore_pinning


class CpuHook(NamedTuple):
    """``function`` on the SGLang function named by ``target``; ``kind`` as in SGLang's ``HookType``."""

    target: str
    function: Callable[..., Any]
    kind: Literal["replace", "around"]


def _snapshots_supported() -> bool:
    """The stand-in kernels return the states that prefix caching of recurrent layers needs."""
    return True


_TRACKING = "sglang.kernels.ops.mamba.mamba_state_scatter_triton"
_NATIVE = "sglang.srt.layers.attention.torch_native_backend.TorchNativeAttnBackend"

# Functions that SGLang's CPU engine would run through Triton.
_NEEDED = (
    CpuHook("sglang.kernels.ops.attention.fla.layernorm_gated.layernorm_fn", layernorm_fn, "replace"),
    CpuHook(f"{_TRACKING}.track_mamba_states_all_layers", track_mamba_states_all_layers, "replace"),
    CpuHook(f"{_TRACKING}.track_mamba_states_if_needed", track_mamba_states_if_needed, "replace"),
)

# Functions that work as they are and are made faster.
_FASTER = (
    CpuHook(f"{_NATIVE}._run_sdpa_forward_extend", attention.run_sdpa_forward_extend, "around"),
    CpuHook(f"{_NATIVE}._run_sdpa_forward_decode", attention.run_sdpa_forward_decode, "around"),
)


def _is_0_5_17(version: str) -> bool:
    return version.startswith("0.5.17")


def cpu_hooks(sglang_version: str) -> list[CpuHook]:
    """Every hook for this SGLang version on a CPU."""
    hooks = [*_NEEDED, *_FASTER]
    if not _is_0_5_17(sglang_version):
        supported = "sglang.srt.arg_groups.mamba_hook._platform_supports_mamba_cache_extra_buffer"
        hooks.append(CpuHook(supported, _snapshots_supported, "replace"))
    return hooks


def register_cpu_hooks() -> list[CpuHook]:
    """Register the hooks if the CPU engine is in use, and return those registered.

    The registry applies them later and only logs a failure, so the caller should check that every returned target was
    really patched.
    """
    if not cpu_engine.in_use():
        return []
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType
    from sglang.version import __version__ as sglang_version

    older = _is_0_5_17(sglang_version)
    ignore_pinning(constructors=older)
    if older:
        default_to_cpu_module()
    hooks = cpu_hooks(sglang_version)
    for hook in hooks:
        HookRegistry.register(hook.target, hook.function, HookType(hook.kind))
    return hooks
