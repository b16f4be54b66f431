"""The vote: how strongly a prompt's own queries point at each stored event.

For a voting head h, with the scaled score s of a content token t of the prompt with a key k of the event

    margin[e, h] = max over t and k in e of  s[h, t, k] - rest[h, t],    rest = log(exp(lse_own) + exp(b + lse_bank))

where lse_own is the log-sum-exp of the token's scores over the prompt's own keys, lse_bank that over a bank of neutral
texts, and b the bank's bias. sigmoid(margin) is the share of the token's attention that the event's best key would take
from these. An event's vote is the geometric mean of that share over the heads in which it does best.

The rest supplies the contrast: without it a vote would measure how much a text looks like a question. Other events are
no rivals, so that a vote means the same in a small and in a large memory, and nothing shares its vote with what
repeats it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

# A head that sees nothing in an event counts like one that sees this much.
_LEAST_SHARE = 1e-4
# Many small steps cost more than their arithmetic, and a large memory's scores of all heads do not fit at once.
_SCORES_AT_ONCE = 1 << 24


def margins(
    queries: Tensor, keys: Tensor, key_row: Sequence[int], event_of_key: Tensor, events: int, rest: Tensor, scale: float
) -> Tensor:
    """The events' margins `[events, heads]`, float32; -inf for an event without keys.

    `queries` `[tokens, heads, dim]` and `keys` `[key_rows, keys, dim]` are rotated to their places; `key_row` `[heads]`
    is the row of `keys` that a voting head reads; `event_of_key` `[keys]` numbers the keys' events; `rest`
    `[heads, tokens]`; `scale` is the layer's softmax scale.
    """
    best = queries.new_empty(queries.shape[1], keys.shape[1], dtype=torch.float32)
    for some, scores in _scores(queries, keys, key_row, scale, rest):
        best[some] = scores.amax(dim=1)
    out = best.new_full((len(best), events), -torch.inf)
    return out.scatter_reduce_(1, event_of_key.expand_as(best), best, "amax").T


def votes(margin: Tensor, top_heads: int) -> Tensor:
    """`[events]` from margins `[events, heads]`: the geometric mean of the shares in an event's best `top_heads` heads.

    The geometric mean asks the heads to agree: one head that is carried away by a common word does not make a vote.
    """
    best = margin.topk(min(top_heads, margin.shape[1]), dim=1).values
    return logsigmoid(best).clamp_min(math.log(_LEAST_SHARE)).mean(dim=1).exp()


def total_lse(queries: Tensor, keys: Tensor, key_row: Sequence[int], scale: float) -> Tensor:
    """Log-sum-exp of every query over all keys: `[heads, tokens]`, float32; arguments as for `margins`."""
    tokens, heads, _ = queries.shape
    out = queries.new_empty(heads, tokens, dtype=torch.float32)
    for some, scores in _scores(queries, keys, key_row, scale, torch.zeros_like(out)):
        out[some] = torch.logsumexp(scores, dim=2)
    return out


def _scores(
    queries: Tensor, keys: Tensor, key_row: Sequence[int], scale: float, less: Tensor
) -> Iterator[tuple[slice, Tensor]]:
    """The scores `[heads, tokens, keys]` of some heads at a time, each token's `less` `[heads, tokens]`."""
    tokens, heads, dim = queries.shape
    step = max(1, _SCORES_AT_ONCE // max(1, keys.shape[1] * max(tokens, dim)))
    by_head = queries.float().transpose(0, 1)
    for first in range(0, heads, step):
        some = slice(first, min(first + step, heads))
        rows = key_row[some]
        # Without a copy of the keys where only one row is read: there it is large.
        read = keys[rows[0]].unsqueeze(0) if len(rows) == 1 else keys[rows]
        yield some, torch.baddbmm(-less[some].unsqueeze(-1), by_head[some], read.float().transpose(1, 2), alpha=scale)
