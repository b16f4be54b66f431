"""Applying hooks and checking that they took.

SGLang's hook registry only logs a hook that fails (`HookRegistry.apply_hooks`), so a server whose memory is half in
place would start all the same. `install` checks every seam instead and raises `SeamError`.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .targets import VERSIONS, Target, of_version

Kind = Literal["before", "after", "around", "replace"]


class SeamError(RuntimeError):
    """A seam of SGLang is not what the hooks were written for. The message is one sentence for the operator."""


@dataclass(frozen=True, slots=True)
class Hook:
    """`function` on `target`. The call convention of each `kind` is that of
    `sglang.srt.plugins.hook_registry.HookType`."""

    target: Target
    kind: Kind
    function: Callable[..., Any]


def check_version(version: str) -> None:
    """Raises `SeamError` unless the hooks were tested with SGLang `version`."""
    if version not in VERSIONS:
        raise SeamError(
            f"SGLang {version} is not a version that sglang-v14 was tested with ({', '.join(VERSIONS)}); install one "
            "of them, or set SGLANG_V14_MEMORY=0 to serve without memory."
        )


def check_signature(target: Target, version: str) -> None:
    """Raises `SeamError` unless `target` exists in the running SGLang with the parameters of the table."""
    try:
        function = pkgutil.resolve_name(target.path)
    except (ImportError, AttributeError, ValueError) as error:
        raise SeamError(
            f"SGLang {version} has no {target.path} ({error}); the memory cannot be hooked into it."
        ) from error
    found = tuple(inspect.signature(inspect.unwrap(function)).parameters)
    expected = target.parameters[version]
    if found != expected:
        raise SeamError(
            f"{target.path} of SGLang {version} takes ({', '.join(found)}) where ({', '.join(expected)}) was expected; "
            "the memory cannot be hooked into it."
        )


def install(hooks: Sequence[Hook], version: str) -> None:
    """Apply `hooks` to the running SGLang.

    Raises `SeamError` when the version is untested, a target is missing or different, a seam has no hook, or the
    registry did not apply one.
    """
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    check_version(version)
    wanted = set(of_version(version))
    chosen = [hook for hook in hooks if hook.target in wanted]
    if missing := wanted - {hook.target for hook in chosen}:
        raise SeamError(f"no hook was given for {', '.join(sorted(target.path for target in missing))}")
    for target in of_version(version):
        check_signature(target, version)
    for hook in chosen:
        HookRegistry.register(hook.target.path, hook.function, HookType[hook.kind.upper()])
    HookRegistry.apply_hooks()
    require_applied([hook.target.path for hook in chosen], version)


def require_applied(paths: Sequence[str], version: str) -> None:
    """Raises `SeamError` unless SGLang applied a hook on each of `paths`."""
    from sglang.srt.plugins.hook_registry import HookRegistry

    for path in paths:
        if path not in HookRegistry._patched:
            raise SeamError(f"SGLang {version} did not apply the hook on {path}.")
