"""Events and cues whose votes are known: every topic is a direction of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from tiny_model import Layer

from sglang_v14.heads import VotingHeads
from sglang_v14.index import Cue, Entry
from sglang_v14.rope import NoRope

DIM = 16
HEADS = VotingHeads([(0, 0), (0, 3)], {0: Layer(scale=1.0)}, {0: NoRope()})
OWN = 5.0
"""The log-sum-exp of what a cue's own text takes."""


def event(
    number: int,
    topic: int,
    strength: float = 10.0,
    *,
    token_ids: Sequence[int] | None = None,
    created_at: float | None = None,
    asks: int | None = None,
    asks_lse: float = OWN,
) -> Entry:
    """An event of four tokens, the last of which scores `strength` with a cue on `topic`, all else 0.

    `asks` is the topic that its own last token asks for.
    """
    tokens = tuple(token_ids or range(100 * number, 100 * number + 4))
    keys = torch.zeros(len(tokens), 2, DIM)
    keys[-1, :, topic] = strength
    queries = lse = None
    if asks is not None:
        queries, lse = torch.zeros(len(tokens), 2, DIM), torch.full((2, len(tokens)), asks_lse)
        queries[-1, :, asks] = 1.0
    when = float(number) if created_at is None else created_at
    return Entry(number.to_bytes(16, "little"), "ns", tokens, "user", when, keys, queries, lse)


def cue(*topics: int) -> Cue:
    """One token a topic."""
    queries = torch.zeros(len(topics), 2, DIM)
    for t, topic in enumerate(topics):
        queries[t, :, topic] = 1.0
    return Cue(queries, torch.full((2, len(topics)), OWN), torch.arange(len(topics)))


def share(strength: float) -> float:
    """The vote of an event on the cue's topic."""
    return 1 / (1 + math.exp(OWN - strength))
