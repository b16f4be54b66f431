"""Softmax attention of one sequence over keys and values gathered from a pool."""

import functools

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
    # A single last token sees everything anyway, and PyTorch's own causal mask is aligned to the first token.
    square = causal and window is None and new == tokens
    mask = None
    if causal and not square and (new > 1 or window is not None):
        mask = _mask(new, tokens, window)
    out = scaled_dot_product_attention(
        q.movedim(0, 1)[None],
        k.to(q.dtype).movedim(0, 1)[None],
        v.to(q.dtype).movedim(0, 1)[None],
        attn_mask=mask,
        is_causal=square and new > 1,
        scale=scale,
        enable_gqa=q.shape[1] != k.shape[1],
    )
    return out[0].movedim(1, 0)


@functools.lru_cache(maxsize=2)
def _mask(new: int, tokens: int, window: int | None) -> torch.Tensor:
    """``[new, tokens]``, true where a token is seen; the layers of one forward pass ask for the same one."""
    query = torch.arange(tokens - new, tokens)[:, None]
    key = torch.arange(tokens)
    seen = key <= query
    return seen if window is None else seen & (key >= query - window)
