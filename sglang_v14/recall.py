"""The recall: which events come back for a prompt, in which order and with which weight."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from .index import Cue, Entry, Index, pack, stands_in
from .options import MemoryOptions


@dataclass(frozen=True, slots=True)
class Recalled:
    """An event that comes back: its vote, the bias in nats on its attention scores, and what found it (`prompt`, `cue`, `answer`)."""

    entry: Entry
    vote: float
    bias: float = 0.0
    found_by: str = "prompt"


@dataclass(frozen=True, slots=True)
class Decision:
    """What a vote decided: `recalled` in the order in which the events stand before the prompt, the nearest last."""

    recalled: tuple[Recalled, ...] = ()
    best: tuple[tuple[Entry, float], ...] = field(default=())

    @property
    def tokens(self) -> int:
        return sum(len(r.entry.token_ids) for r in self.recalled)

    @property
    def ids(self) -> frozenset[bytes]:
        return frozenset(r.entry.id for r in self.recalled)


NOTHING = Decision()
_BEST_SHOWN = 3


def decide(
    index: Index, cue: Cue, prompt: Sequence[int], options: MemoryOptions, *, already: Collection[bytes] = (), found_by: str = "prompt"
) -> Decision:
    """Vote with `cue` and choose the events to recall into `prompt` (all its token ids).

    An event whose text stands in the prompt, or whose id is in `already`, takes no part.
    """
    if not len(index):
        return NOTHING
    text = pack(prompt)
    absent = [n for n, entry in enumerate(index.entries) if entry.id in already]
    while True:
        votes = index.vote(cue, top_heads=options.vote_top_heads, without=absent)
        order = votes.argsort(descending=True)[: options.max_events + _BEST_SHOWN].tolist()
        # Looked for only among the best: what stands in the prompt attracts its own tokens above all others.
        repeated = [n for n in order if votes[n] > 0 and stands_in(index.entries[n].packed, text)]
        if not repeated:
            break
        absent += repeated
    best = [(index.entries[n], float(votes[n])) for n in order if votes[n] > 0]
    if not best:
        return NOTHING
    bar = max(options.recall_floor, options.recall_ratio * best[0][1])
    chosen = [Recalled(entry, vote, found_by=found_by) for entry, vote in best if vote >= bar][: options.max_events]
    chosen = _with_next_step(index, chosen, prompt, text, options, already)
    chosen = _within(chosen, options.max_recalled_tokens)
    return Decision(tuple(_weighed(chosen, options)), tuple(best[:_BEST_SHOWN]))


def _with_next_step(
    index: Index, chosen: list[Recalled], prompt: Sequence[int], text: bytes, options: MemoryOptions, already: Collection[bytes]
) -> list[Recalled]:
    """Let the best event ask in turn, with what it says and the prompt does not: the second step of a two-step question."""
    if not chosen or options.cue_floor >= 1.0:
        return chosen
    known = set(prompt)
    found = {r.entry.id for r in chosen}
    for recalled in list(chosen):
        cue = _own_cue(recalled.entry, known, options)
        if cue is None:
            continue
        absent = [
            n
            for n, entry in enumerate(index.entries)
            if entry.id in already or entry.id in found or stands_in(entry.packed, text)
        ]
        votes = index.vote(cue, top_heads=options.vote_top_heads, without=absent)
        n = int(votes.argmax())
        if float(votes[n]) >= options.cue_floor:
            chosen = [*chosen, Recalled(index.entries[n], float(votes[n]), found_by="cue")]
            found.add(index.entries[n].id)
    return chosen


def _own_cue(entry: Entry, known: Collection[int], options: MemoryOptions) -> Cue | None:
    if entry.queries is None or entry.lse_own is None:
        return None
    news = [i for i, token in enumerate(entry.token_ids) if token not in known]
    if not news:
        return None
    tokens = torch.tensor(news)
    return Cue(entry.queries[tokens].float(), entry.lse_own[:, tokens].float(), options.vote_gap_tokens + tokens)


def _within(chosen: list[Recalled], max_tokens: int) -> list[Recalled]:
    """The best events that fit."""
    kept, tokens = [], 0
    for recalled in chosen:
        tokens += len(recalled.entry.token_ids)
        if tokens > max_tokens:
            break
        kept.append(recalled)
    return kept


def overlap(a: Entry, b: Entry) -> float:
    """The share of the shorter event's different tokens that the other one has too."""
    tokens_a, tokens_b = set(a.token_ids), set(b.token_ids)
    return len(tokens_a & tokens_b) / min(len(tokens_a), len(tokens_b))


def _weighed(chosen: Sequence[Recalled], options: MemoryOptions) -> list[Recalled]:
    """Order the events, the best nearest to the prompt, and let a newer event outweigh an older one that it overlaps."""
    ordered = sorted(chosen, key=lambda r: (r.found_by == "cue", r.vote))
    biased = []
    for recalled in ordered:
        newer = any(
            other.entry.created_at > recalled.entry.created_at
            and overlap(other.entry, recalled.entry) >= options.correction_overlap
            for other in ordered
        )
        biased.append(
            Recalled(recalled.entry, recalled.vote, -options.correction_bias if newer else 0.0, recalled.found_by)
        )
    return sorted(biased, key=lambda r: r.bias == 0.0)


def bias_of(recalled: Sequence[Recalled]) -> Tensor:
    """The bias of every recalled token, `[tokens]`, in the order of the events."""
    return torch.cat([torch.full((len(r.entry.token_ids),), r.bias) for r in recalled])
