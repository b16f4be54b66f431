"""Faster forms of the layers that SGLang computes with many small operations when it has no CPU kernels.

Each is an AROUND hook: ``original`` is SGLang's own method and is called for every case not meant here.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F


def rms_norm(
    original: Callable[..., Any],
    norm: Any,
    x: torch.Tensor,
    residual: torch.Tensor | None = None,
    post_residual_addition: torch.Tensor | None = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """``norm(x)``, or ``norm(x + residual)`` and the sum, in one fused pass; for float32 without special cases."""
    if post_residual_addition is not None or not _plain_float32(norm, x, residual):
        return original(norm, x, residual, post_residual_addition, *args, **kwargs)
    if residual is None:
        return F.rms_norm(x, (x.shape[-1],), norm.weight, norm.variance_epsilon)
    residual = x + residual
    return F.rms_norm(residual, (x.shape[-1],), norm.weight, norm.variance_epsilon), residual


def _plain_float32(norm: Any, x: torch.Tensor, residual: torch.Tensor | None) -> bool:
    return (
        x.dtype == norm.weight.dtype == torch.float32
        and (residual is None or residual.dtype == torch.float32)
        and x.shape[-1] == norm.hidden_size
        and norm.variance_size_override is None
        and norm.override_orig_dtype in (None, torch.float32)
    )


def silu_and_mul(original: Callable[..., torch.Tensor], activation: Any, x: torch.Tensor) -> torch.Tensor:
    """``silu(gate) * up`` of ``[..., gate | up]`` with one intermediate tensor instead of two."""
    gate, up = x.chunk(2, -1)
    return F.silu(gate).mul_(up)


def rotary(
    original: Callable[..., tuple[torch.Tensor, torch.Tensor]],
    rope: Any,
    positions: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    *args: Any,
    **kwargs: Any,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Rotate the halves of whole heads: ``x * cos + (-second, first) * sin``.

    ``query`` and ``key`` are ``[tokens, heads * dim]``, ``rope.cos_sin_cache`` ``[positions, cos | sin]``. Partial,
    interleaved and offset rotations, and other dtypes, go to ``original``.
    """
    cache = rope.cos_sin_cache
    plain = rope.is_neox_style and rope.rotary_dim == rope.head_size and cache.dtype == query.dtype == torch.float32
    if args or any(value is not None for value in kwargs.values()) or not plain:
        return original(rope, positions, query, key, *args, **kwargs)
    cos, sin = cache.index_select(0, positions.flatten()).chunk(2, -1)
    cos = torch.cat((cos, cos), -1)[:, None]
    sin = torch.cat((-sin, sin), -1)[:, None]
    return _rotate(query, cos, sin), _rotate(key, cos, sin)


def _rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    heads = x.reshape(x.shape[0], -1, cos.shape[-1])
    first, second = heads.chunk(2, -1)
    return torch.addcmul(heads * cos, torch.cat((second, first), -1), sin).reshape(x.shape)
