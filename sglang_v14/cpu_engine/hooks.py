"""The CPU engine's replacements inside SGLang, registered with SGLang's own hook registry."""

from collections.abc import Callable
from typing import Any, NamedTuple

from sglang_v14 import cpu_engine
from sglang_v14.cpu_engine.kernels.gated_norm import layernorm_fn
from sglang_v14.cpu_engine.kernels.state_tracking import track_mamba_states_all_layers, track_mamba_states_if_needed
from sglang_v14.cpu_engine.pinning import ignore_pinning


class CpuHook(NamedTuple):
    """``replacement`` takes the place of the SGLang function named by ``target``."""

    target: str
    replacement: Callable[..., Any]


def _snapshots_supported() -> bool:
    """The stand-in kernels return the states that prefix caching of recurrent layers needs."""
    return True


_TRACKING = "sglang.kernels.ops.mamba.mamba_state_scatter_triton"

# Functions that SGLang's CPU engine still runs through Triton.
_TRITON_HOOKS = (
    CpuHook("sglang.kernels.ops.attention.fla.layernorm_gated.layernorm_fn", layernorm_fn),
    CpuHook(f"{_TRACKING}.track_mamba_states_all_layers", track_mamba_states_all_layers),
    CpuHook(f"{_TRACKING}.track_mamba_states_if_needed", track_mamba_states_if_needed),
)


def cpu_hooks(sglang_version: str) -> list[CpuHook]:
    """Every replacement that this SGLang version needs on a CPU."""
    hooks = list(_TRITON_HOOKS)
    if not sglang_version.startswith("0.5.17"):
        hooks.append(
            CpuHook(
                "sglang.srt.arg_groups.mamba_hook._platform_supports_mamba_cache_extra_buffer", _snapshots_supported
            )
        )
    return hooks


def register_cpu_hooks() -> list[CpuHook]:
    """Register the replacements if the CPU engine is in use, and return those registered.

    The registry applies them later and only logs a failure, so the caller should check that every returned target was
    really patched.
    """
    if not cpu_engine.in_use():
        return []
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType
    from sglang.version import __version__ as sglang_version

    ignore_pinning(constructors=sglang_version.startswith("0.5.17"))
    hooks = cpu_hooks(sglang_version)
    for hook in hooks:
        HookRegistry.register(hook.target, hook.replacement, HookType.REPLACE)
    return hooks
