"""PyTorch calls that SGLang makes unasked and that fail where PyTorch is built for GPUs and there is none."""

import functools
from collections.abc import Callable
from types import ModuleType

import torch

_ANY_DEVICE_MODULE = torch.get_device_module


def _without_pinning(make: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    @functools.wraps(make)
    def wrapper(*args: object, **kwargs: object) -> torch.Tensor:
        kwargs.pop("pin_memory", None)
        return make(*args, **kwargs)

    return wrapper


def _unpinned(tensor: torch.Tensor, device: object = None) -> torch.Tensor:
    return tensor


def _device_module(device: torch.device | str | None = None) -> ModuleType:
    return _ANY_DEVICE_MODULE("cpu" if device is None else device)


def ignore_pinning(*, constructors: bool) -> None:
    """Make ``Tensor.pin_memory()`` return its tensor where there is no accelerator to pin for.

    SGLang pins a few small host tensors without asking whether that is possible.

    Args:
        constructors: also drop ``pin_memory=True`` given to ``torch.tensor`` and ``torch.empty``. SGLang 0.5.17 needs
            that, later versions ask first; the wrapper costs about a microsecond a call.
    """
    if torch.accelerator.is_available() or torch.Tensor.pin_memory is _unpinned:
        return
    torch.Tensor.pin_memory = _unpinned  # type: ignore[method-assign,assignment]
    if constructors:
        torch.tensor = _without_pinning(torch.tensor)
        torch.empty = _without_pinning(torch.empty)


def default_to_cpu_module() -> None:
    """Make ``torch.get_device_module()`` without an argument return ``torch.cpu`` where there is no accelerator.

    PyTorch answers with what it was built for. SGLang 0.5.17 asks it for the current device when it builds a Gated
    DeltaNet layer.
    """
    if not torch.accelerator.is_available():
        torch.get_device_module = _device_module  # type: ignore[assignment]
