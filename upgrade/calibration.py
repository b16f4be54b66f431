"""Finds the voting heads without labels: which heads let a prompt find the one event that shares tokens with it.

A few events of random tokens are read alone, each behind the chat header. Each then gets a cue: other random tokens,
a few of them the event's. A head's margin is how much larger a share of the cue's attention the right event takes
than the best of the wrong ones, the largest share over the cue's tokens counting, on average over the cues. Heads
that copy or match tokens have a large margin; the many heads whose attention says only what kind of text this is have
none.
"""

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from .attention import AttentionReader, QueryKey

EVENTS = 48
EVENT_TOKENS = 8
SHARED_TOKENS = 2
ROUNDS = 2
PROMPTS_AT_ONCE = 8


class Frame(NamedTuple):
    """The chat template's tokens around a user's text: what stands before it, and what follows it."""

    before: tuple[int, ...]
    behind: tuple[int, ...]


class RankedHead(NamedTuple):
    """A query head with its mean margin, a share between -1 and 1."""

    layer: int
    head: int
    margin: float


def rank_heads(
    reader: AttentionReader,
    frame: Frame,
    vocabulary: Sequence[int],
    *,
    rounds: int = ROUNDS,
    seed: int = 0,
    advance: Callable[[], None] = lambda: None,
) -> list[RankedHead]:
    """All heads of all attention layers, the best voting head first.

    `vocabulary` holds the token ids that random tokens are drawn from; `advance` is called `rounds *
    steps_in_a_round()` times. Raises `ValueError` when the vocabulary is too small for one round without repeated
    tokens.
    """
    draws = random.Random(seed)
    margins: dict[int, Tensor] = {}
    for _ in range(rounds):
        events, cues = draw_round(vocabulary, draws)
        for layer, margin in _round_margins(reader, frame.before, events, cues, advance).items():
            margins[layer] = margins.get(layer, torch.zeros_like(margin)) + margin / rounds
    ranked = [
        RankedHead(layer, head, value) for layer, row in margins.items() for head, value in enumerate(row.tolist())
    ]
    return sorted(ranked, key=lambda head: (-head.margin, head.layer, head.head))


def steps_in_a_round() -> int:
    """How many batches one round reads."""
    return 2 * -(-EVENTS // PROMPTS_AT_ONCE)


def draw_round(vocabulary: Sequence[int], draws: random.Random) -> tuple[Tensor, Tensor]:
    """Random events and their cues, both `[EVENTS, EVENT_TOKENS]`: no token occurs twice but for those a cue shares."""
    needed = EVENTS * (2 * EVENT_TOKENS - SHARED_TOKENS)
    if len(vocabulary) < needed:
        raise ValueError(f"{needed} different tokens are needed, the vocabulary has {len(vocabulary)}")
    fresh = iter(draws.sample(list(vocabulary), needed))
    events = [[next(fresh) for _ in range(EVENT_TOKENS)] for _ in range(EVENTS)]
    cues = []
    for event in events:
        # Neighbours in the event stay neighbours in the cue, as the words of a name do.
        at = draws.randrange(EVENT_TOKENS - SHARED_TOKENS + 1)
        cue = [next(fresh) for _ in range(EVENT_TOKENS - SHARED_TOKENS)]
        to = draws.randrange(len(cue) + 1)
        cues.append([*cue[:to], *event[at : at + SHARED_TOKENS], *cue[to:]])
    return torch.tensor(events), torch.tensor(cues)


def _round_margins(
    reader: AttentionReader, header: Sequence[int], events: Tensor, cues: Tensor, advance: Callable[[], None]
) -> dict[int, Tensor]:
    """Per layer the heads' mean margins `[heads]`."""
    event_states = _read(reader, header, events, advance)
    cue_states = _read(reader, header, cues, advance)
    cue_of_token = torch.arange(EVENTS).repeat_interleave(EVENT_TOKENS)
    margins = {}
    for layer in reader.layers:
        share = _shares(reader, layer, len(header), event_states[layer].key, cue_states[layer])
        # [events, cues, heads]: the largest share over each cue's content tokens
        best = torch.stack([share[:, :, cue_of_token == cue].amax(dim=2) for cue in range(EVENTS)], dim=1)
        right = best.diagonal(dim1=0, dim2=1).T
        wrong = best.masked_fill(torch.eye(EVENTS, dtype=torch.bool).unsqueeze(-1), -torch.inf).amax(dim=0)
        margins[layer] = (right - wrong).mean(dim=0)
    return margins


def _read(
    reader: AttentionReader, header: Sequence[int], contents: Tensor, advance: Callable[[], None]
) -> dict[int, QueryKey]:
    """Read every content behind the header; what follows a content cannot change its queries and keys."""
    prompts = torch.cat([torch.tensor(header, dtype=torch.long).expand(len(contents), -1), contents], dim=1)
    parts: list[dict[int, QueryKey]] = []
    for batch in prompts.split(PROMPTS_AT_ONCE):
        parts.append(reader.read(batch))
        advance()
    return {
        layer: QueryKey(*(torch.cat([part[layer][side] for part in parts]) for side in range(2)))
        for layer in reader.layers
    }


def _shares(reader: AttentionReader, layer: int, header_tokens: int, event_key: Tensor, cue: QueryKey) -> Tensor:
    """The events' shares `[events, heads, cues * EVENT_TOKENS]` of the cues' attention in one layer."""
    heads, key_heads = reader.heads(layer)
    key_head = torch.arange(heads) // (heads // key_heads)
    scale = reader.scale(layer)
    positions = torch.arange(header_tokens + EVENT_TOKENS)
    query = reader.rotate(layer, cue.query, positions)[:, header_tokens:]
    own = reader.rotate(layer, cue.key, positions)[:, :, key_head]
    later = positions[None, :] > positions[header_tokens:, None]
    scores = torch.einsum("cthd,cshd->hcts", query, own) * scale
    lse_own = scores.masked_fill(later, -torch.inf).logsumexp(dim=3).flatten(1)
    # The events stand as if each had been read, header and all, and ended right before the cue's prompt.
    keys = reader.rotate(layer, event_key, positions - len(positions))[:, header_tokens:].flatten(0, 1)
    scores = torch.einsum("thd,nhd->nht", query.flatten(0, 1), keys[:, key_head]) * scale
    lse = torch.cat((scores.unflatten(0, (EVENTS, EVENT_TOKENS)).logsumexp(dim=1), lse_own.unsqueeze(0)))
    return torch.softmax(lse, dim=0)[:EVENTS]
