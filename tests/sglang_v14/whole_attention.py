"""Softmax attention in one piece, in float64, one query and head at a time: what the fast ways are compared with."""

from __future__ import annotations

import torch
from torch import Tensor


def whole_attention(
    queries: Tensor, keys: Tensor, values: Tensor, scale: float, bias: Tensor, visible: Tensor
) -> tuple[Tensor, Tensor]:
    """Attention of `queries` `[tokens, heads, dim]` over the keys `[keys, key_heads, dim]` that each may see.

    `bias` `[keys]` is in nats, `visible` `[tokens, keys]` is bool. Returns the output and the log-sum-exp, float64.
    """
    tokens, heads, _ = queries.shape
    group = heads // keys.shape[1]
    output = torch.full((tokens, heads, values.shape[-1]), torch.nan, dtype=torch.float64)
    lse = torch.full((tokens, heads), torch.nan, dtype=torch.float64)
    for t in range(tokens):
        seen = visible[t]
        for h in range(heads):
            scores = keys[seen, h // group].double() @ queries[t, h].double() * scale + bias[seen].double()
            lse[t, h] = torch.logsumexp(scores, dim=0)
            output[t, h] = torch.softmax(scores, dim=0) @ values[seen, h // group].double()
    return output, lse


def causal(positions: Tensor, keys: int) -> Tensor:
    """`[tokens, keys]`: a token sees what stands at its own position and before."""
    return torch.arange(keys) <= positions[:, None]
