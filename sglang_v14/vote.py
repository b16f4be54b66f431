"""The vote: how much of a prompt's attention each stored event would take.

For a voting head h and a content token t of the prompt

    share[e, h, t] = exp(lse_e) / (exp(lse_own) + sum over all events exp(lse_e') + sum over the neutral bank
    exp(lse_b))

where lse is the log-sum-exp of the token's scaled scores over one event's keys (or over the prompt's own keys), event
keys standing just before the prompt. An event's vote is the geometric mean, over the heads in which it does best, of
the largest share that any token gives it. The competition supplies the contrast; an average over all heads would
measure only how much a text looks like a question.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

# A head that sees nothing in an event counts like one that sees this much.
_LEAST_SHARE = 1e-4
# Many small steps cost more than their arithmetic, and a large memory's scores of all heads do not fit at once.
_SCORES_AT_ONCE = 1 << 24


def segment_lse(scores: Tensor, segment_of_key: Tensor, segments: int) -> Tensor:
    """Log-sum-exp of `scores` `[keys, rows]` over the keys of each segment: `[segments, rows]`, float32.

    `segment_of_key` `[keys]` numbers the keys' segments. A segment without keys gives -inf.
    """
    scores = scores.float()
    if scores.shape[0] == 0:
        return scores.new_full((segments, scores.shape[1]), -torch.inf)
    # One maximum a row is enough: float32 loses an event only when it lies e^87 below the best one.
    top = scores.amax(dim=0)
    sums = scores.new_zeros(segments, scores.shape[1]).index_add_(0, segment_of_key, (scores - top).exp_())
    return sums.log_().add_(top)


def event_lse(
    queries: Tensor, keys: Tensor, key_head: Tensor, event_of_key: Tensor, events: int, scale: float
) -> Tensor:
    """Log-sum-exp of every query over every event's keys: `[events, heads, tokens]`, float32.

    `queries` `[tokens, heads, dim]` and `keys` `[keys, key_heads, dim]` are rotated to their places; `key_head`
    `[heads]` is the row of `keys` that a voting head reads; `scale` is the layer's softmax scale.
    """
    tokens, heads, dim = queries.shape
    out = queries.new_empty(events, heads, tokens, dtype=torch.float32)
    for some in _heads_at_once(heads, keys.shape[0] * max(tokens, dim)):
        scores = _scores(queries[:, some], keys[:, key_head[some]], scale)
        lse = segment_lse(scores.permute(2, 0, 1).reshape(keys.shape[0], -1), event_of_key, events)
        out[:, some] = lse.view(events, -1, tokens)
    return out


def total_lse(queries: Tensor, keys: Tensor, key_head: Tensor, scale: float) -> Tensor:
    """Log-sum-exp of every query over all keys: `[heads, tokens]`, float32; arguments as for `event_lse`."""
    tokens, heads, dim = queries.shape
    out = queries.new_empty(heads, tokens, dtype=torch.float32)
    for some in _heads_at_once(heads, keys.shape[0] * max(tokens, dim)):
        out[some] = torch.logsumexp(_scores(queries[:, some], keys[:, key_head[some]], scale), dim=2)
    return out


def _heads_at_once(heads: int, scores_of_head: int) -> Iterator[slice]:
    step = max(1, _SCORES_AT_ONCE // max(1, scores_of_head))
    return (slice(first, min(first + step, heads)) for first in range(0, heads, step))


def _scores(queries: Tensor, keys: Tensor, scale: float) -> Tensor:
    """`[heads, tokens, keys]` of queries `[tokens, heads, dim]` and keys `[keys, heads, dim]`."""
    return torch.bmm(queries.float().transpose(0, 1), keys.float().permute(1, 2, 0)).mul_(scale)


def shares(lse_events: Tensor, lse_rest: Tensor) -> Tensor:
    """The events' shares `[events, heads, tokens]` of each token's attention.

    `lse_events` `[events, heads, tokens]`, `lse_rest` `[heads, tokens]` of everything that is no event.
    """
    rivals = torch.cat((lse_events, lse_rest.unsqueeze(0)))
    return (lse_events - torch.logsumexp(rivals, dim=0)).exp()


def votes(share: Tensor, top_heads: int) -> Tensor:
    """`[events]`: the geometric mean over an event's best `top_heads` heads of its largest share over the tokens.

    The geometric mean asks the heads to agree: one head that is carried away by a common word does not make a vote.
    """
    best = share.amax(dim=2).clamp_min(_LEAST_SHARE)
    return best.topk(min(top_heads, best.shape[1]), dim=1).values.log().mean(dim=1).exp()
