"""Attention in two parts, merged by log-sum-exp.

Softmax attention over the union of two sets of keys is the average of the two attentions weighted by exp(lse)
(Milakov & Gimelshein 2018, online softmax; Dao et al. 2022, FlashAttention, section 3.1).
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention


def attend_masked(queries: Tensor, keys: Tensor, values: Tensor, scale: float, mask: Tensor) -> Tensor:
    """Attention of `queries` `[tokens, heads, dim]` over recalled and own keys at once, in one pass.

    Where both sets of keys are at hand this is what `merge` makes of the two attentions, with fewer operations. `mask`
    `[tokens, keys]` is added to the scaled scores. Returns `[tokens, heads, dim]` in the dtype of `queries`.
    """
    output = scaled_dot_product_attention(
        queries.movedim(0, 1)[None],
        keys.to(queries.dtype).movedim(0, 1)[None],
        values.to(queries.dtype).movedim(0, 1)[None],
        attn_mask=mask.to(queries.dtype),
        scale=scale,
        enable_gqa=queries.shape[1] != keys.shape[1],
    )
    return output[0].movedim(1, 0)


def attend(
    queries: Tensor, keys: Tensor, values: Tensor, scale: float, bias: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Attention of `queries` `[tokens, heads, dim]` over all of `keys`, `values` `[keys, key_heads, dim]`.

    `bias` `[keys]` is added to the scaled scores. Returns the output `[tokens, heads, dim]` and the natural log-sum-exp
    `[tokens, heads]`, both float32. Query head h reads key head h // (heads / key_heads).
    """
    tokens, heads, dim = queries.shape
    key_heads = keys.shape[1]
    grouped = queries.float().view(tokens, key_heads, heads // key_heads, dim)
    scores = torch.einsum("tkgd,nkd->tkgn", grouped, keys.float()).mul_(scale)
    if bias is not None:
        scores += bias
    lse = torch.logsumexp(scores, dim=-1)
    output = torch.einsum("tkgn,nkd->tkgd", (scores - lse.unsqueeze(-1)).exp_(), values.float())
    return output.reshape(tokens, heads, -1), lse.reshape(tokens, heads)


def merge(output_a: Tensor, lse_a: Tensor, output_b: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
    """Merge two attentions `[tokens, heads, dim]` with their `lse` `[tokens, heads]`. A part with lse -inf counts for
    nothing.

    Returns the merged output and log-sum-exp.
    """
    lse = torch.logaddexp(lse_a, lse_b)
    parts = []
    for output, part in ((output_a, lse_a), (output_b, lse_b)):
        share = torch.where(part == -torch.inf, torch.zeros_like(part), (part - lse).exp()).unsqueeze(-1)
        # An empty part may hold anything, and 0 times NaN is NaN.
        parts.append(torch.where(share > 0, output * share, torch.zeros_like(output)))
    return parts[0] + parts[1], lse
