"""Attention in parts, merged by log-sum-exp.

Softmax attention over the union of two sets of keys is the average of the two attentions weighted by exp(lse)
(Milakov & Gimelshein 2018, online softmax; Dao et al. 2022, FlashAttention, arXiv:2205.14135, section 3.1).
"""

from __future__ import annotations

import torch
from torch import Tensor


def attend(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    scale: float | None,
    bias: Tensor | None = None,
    *,
    causal: bool = False,
) -> tuple[Tensor, Tensor]:
    """Attention of `queries` `[tokens, heads, dim]` over `keys`, `values` `[keys, key_heads, dim]`, on a CPU.

    `scale` multiplies the scores (None: `dim ** -0.5`), `bias` `[keys]` in nats is added to them; `causal` lets token i
    see the keys up to the i-th. Query head h reads key head h // (heads / key_heads). Returns the output
    `[tokens, heads, dim]` in the dtype of `queries` and the natural log-sum-exp `[tokens, heads]`, at least float32.
    """
    output, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        _batch(queries),
        _batch(keys.to(queries.dtype)),
        _batch(values.to(queries.dtype)),
        is_causal=causal,
        attn_mask=None if bias is None else bias.to(queries.dtype)[None, None, None],
        scale=scale,
    )
    return output[0].movedim(1, 0), lse[0].T


def merge(output_a: Tensor, lse_a: Tensor, output_b: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
    """Merge two attentions `[tokens, heads, dim]` with their `lse` `[tokens, heads]`, each over at least one key.

    Returns the output, at least float32, and the log-sum-exp of the whole.
    """
    share = torch.sigmoid(lse_b - lse_a).unsqueeze(-1)
    return torch.lerp(output_a.to(share.dtype), output_b.to(share.dtype), share), torch.logaddexp(lse_a, lse_b)


def _batch(x: Tensor) -> Tensor:
    """`[tokens, heads, dim]` to `[1, heads, tokens, dim]`."""
    return x.movedim(0, 1)[None]
