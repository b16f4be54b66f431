"""Softmax attention of one sequence over keys and values gathered from a pool."""

import functools
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention


def attend(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    scale: float | None,
    *,
    causal: bool,
    window: int | None = None,
) -> torch.Tensor:
    """The queries are those of the last tokens of the sequence.

    Args:
        q: ``[new tokens, query heads, dim]``.
        k, v: ``[tokens, key heads, dim]``; query head ``h`` reads key head ``h // (query heads / key heads)``.
        scale: factor of the scores; None for ``dim ** -0.5``.
        causal: a token sees itself and what lies before it; otherwise all tokens.
        window: with ``causal``, how many tokens before itself a token sees; None for all.

    Returns:
        ``[new tokens, query heads, value dim]``.
    """
    new, tokens = q.shape[0], k.shape[0]
    k, v = k.to(q.dtype), v.to(q.dtype)
    if not causal or (new == 1 and window is None):
        # A single last token sees everything anyway.
        return _attend(q, k, v, scale)
    if window is None and new == tokens:
        return _attend(q, k, v, scale, is_causal=True)
    if window is None and q.shape[-1] == v.shape[-1]:
        return _behind_prefix(q, k, v, scale)
    return _attend(q, k, v, scale, attn_mask=_mask(new, tokens, window))


def _attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float | None, **which: Any) -> torch.Tensor:
    grouped = q.shape[1] != k.shape[1]
    out = scaled_dot_product_attention(_batch(q), _batch(k), _batch(v), scale=scale, enable_gqa=grouped, **which)
    return out[0].movedim(1, 0)


def _behind_prefix(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float | None) -> torch.Tensor:
    """All of the prefix and the causal part of the new tokens, merged by log-sum-exp: no mask, half the products.

    Softmax over two sets of keys is the average of both attentions weighted by ``exp(lse)`` (Dao et al. 2022,
    "FlashAttention", arXiv:2205.14135, section 3.1).
    """
    prefix = k.shape[0] - q.shape[0]
    flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    before, lse_before = flash(_batch(q), _batch(k[:prefix]), _batch(v[:prefix]), scale=scale)
    own, lse_own = flash(_batch(q), _batch(k[prefix:]), _batch(v[prefix:]), is_causal=True, scale=scale)
    share = torch.sigmoid(lse_own - lse_before)[..., None]
    return torch.lerp(before.float(), own.float(), share)[0].movedim(1, 0).to(q.dtype)


def _batch(x: torch.Tensor) -> torch.Tensor:
    """``[tokens, heads, dim]`` to ``[1, heads, tokens, dim]``."""
    return x.movedim(0, 1)[None]


@functools.lru_cache(maxsize=2)
def _mask(new: int, tokens: int, window: int | None) -> torch.Tensor:
    """``[new, tokens]``, true where a token is seen; the layers of one forward pass ask for the same one."""
    query = torch.arange(tokens - new, tokens)[:, None]
    key = torch.arange(tokens)
    seen = key <= query
    return seen if window is None else seen & (key >= query - window)
