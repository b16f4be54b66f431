"""Softmax attention of one sequence over keys and values gathered from a pool."""

import functools

import torch
from torch.nn.functional import scaled_dot_product_attention

from sglang_v14 import merge


def attend(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    scale: float | None,
    *,
    causal: bool,
    window: int | None = None,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """The queries are those of the last tokens of the sequence.

    Args:
        q: ``[new tokens, query heads, dim]``.
        k, v: ``[tokens, key heads, dim]``; query head ``h`` reads key head ``h // (query heads / key heads)``.
        scale: factor of the scores; None for ``dim ** -0.5``.
        causal: a token sees itself and what lies before it; otherwise all tokens.
        window: with ``causal``, how many tokens before itself a token sees; None for all.

    Returns:
        ``[new tokens, query heads, value dim]``, and the log-sum-exp of the scores ``[new tokens, query heads]``: None
        with a window, or when keys and values differ in their dims.
    """
    new, tokens = q.shape[0], k.shape[0]
    k, v = k.to(q.dtype), v.to(q.dtype)
    if window is not None or q.shape[-1] != v.shape[-1]:
        return _attend_masked(q, k, v, scale, _mask(new, tokens, window) if causal else None), None
    # A single last token sees everything anyway.
    if not causal or new == 1:
        return merge.attend(q, k, v, scale)
    if new == tokens:
        return merge.attend(q, k, v, scale, causal=True)
    # All of the prefix and the causal part of the new tokens: no mask, half the products.
    prefix = tokens - new
    before = merge.attend(q, k[:prefix], v[:prefix], scale)
    out, lse = merge.merge(*before, *merge.attend(q, k[prefix:], v[prefix:], scale, causal=True))
    return out.to(q.dtype), lse


def _attend_masked(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float | None, mask: torch.Tensor | None
) -> torch.Tensor:
    batch = [x.movedim(0, 1)[None] for x in (q, k, v)]
    grouped = q.shape[1] != k.shape[1]
    return scaled_dot_product_attention(*batch, attn_mask=mask, scale=scale, enable_gqa=grouped)[0].movedim(1, 0)


@functools.lru_cache(maxsize=2)
def _mask(new: int, tokens: int, window: int | None) -> torch.Tensor:
    """``[new, tokens]``, true where a token is seen; the layers of one forward pass ask for the same one."""
    query = torch.arange(tokens - new, tokens)[:, None]
    key = torch.arange(tokens)
    seen = key <= query
    return seen if window is None else seen & (key >= query - window)
