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
    """An event that comes back: its vote, the bias in nats on its attention scores, and what found it (`prompt`,
    `cue`, `answer`)."""

    entry: Entry
    vote: float
    bias: float = 0.0
    found_by: str = "prompt"


@dataclass(frozen=True, slots=True)
class Decision:
    """What a vote decided: `recalled` in the order in which the events stand before the prompt, the nearest last."""

    recalled: tuple[Recalled, ...] = ()
    best: tuple[tuple[Entry, float], ...] = field(default=())

    def span(self, gap: int) -> int:
        """How many positions the events take, with `gap` empty ones behind each."""
        return sum(len(r.entry.token_ids) + gap for r in self.recalled)

    @property
    def ids(self) -> frozenset[bytes]:
        return frozenset(r.entry.id for r in self.recalled)


NOTHING = Decision()
_BEST_SHOWN = 3
# How far down the votes a correction is looked for.
_LOOKED_AT = 16
# Statements that share so much of their words are of one kind, not steps of one question.
_SAME_KIND = 0.6
# How much of what the prompt shares with an event its correction shares as well.
_SAME_TOPIC = 0.8
# What an event gets that no head sees; see `vote.votes`.
_NO_VOTE = 1e-3


def decide(
    index: Index,
    cue: Cue,
    prompt: Sequence[int],
    options: MemoryOptions,
    *,
    already: Collection[bytes] = (),
    found_by: str = "prompt",
) -> Decision:
    """Vote with `cue` and choose the events to recall into `prompt` (all its token ids).

    An event whose text stands in the prompt, whose id is in `already` or that only asks takes no part.
    """
    if not len(index):
        return NOTHING
    best = _best(index, cue, pack(prompt), options, already)
    if not best:
        return NOTHING
    bar = max(options.recall_floor, options.recall_ratio * best[0][1])
    chosen = [Recalled(entry, vote, found_by=found_by) for entry, vote in best if vote >= bar][: options.max_events]
    chosen = _with_correction(index, chosen, best, prompt, options)
    chosen = _with_next_step(index, chosen, prompt, options, already)
    chosen = _within(chosen, options.max_recalled_tokens)
    return Decision(tuple(_weighed(index, chosen, options)), tuple(best[:_BEST_SHOWN]))


def _best(
    index: Index, cue: Cue, text: bytes, options: MemoryOptions, already: Collection[bytes]
) -> list[tuple[Entry, float]]:
    """The events that may be recalled with the best votes, the best one first."""
    votes = index.votes(cue, options.vote_top_heads, options.bank_bias)
    best: list[tuple[Entry, float]] = []
    seen = {entry.packed for event_id in already if (entry := index.entry(event_id)) is not None}
    for n in votes.argsort(descending=True).tolist():
        if len(best) == options.max_events + _LOOKED_AT or votes[n] <= _NO_VOTE:
            break
        entry = index.entries[n]
        # What was told several times is one thing to know; what stands in the prompt attracts its own tokens above all
        # others.
        if entry.packed in seen or only_asks(entry, options) or stands_in(entry.packed, text):
            continue
        seen.add(entry.packed)
        best.append((entry, float(votes[n])))
    return best


def only_asks(entry: Entry, options: MemoryOptions) -> bool:
    """Whether an event is a bare question: it tells nothing, and it looks more like a prompt than any answer to it
    does."""
    *others, last = entry.token_ids
    return last in options.question_ends and not any(token in options.sentence_ends for token in others)


def _with_correction(
    index: Index,
    chosen: list[Recalled],
    best: list[tuple[Entry, float]],
    prompt: Sequence[int],
    options: MemoryOptions,
) -> list[Recalled]:
    """What corrects the best event comes with it: said behind what it corrects, it may be hard to find.

    It has to share what the prompt asks for, too: the code of another door is no correction.
    """
    if not chosen:
        return chosen
    first, found = chosen[0].entry, {one.entry.id for one in chosen}
    newer = [
        Recalled(entry, vote, found_by=chosen[0].found_by)
        for entry, vote in best
        if entry.id not in found
        and vote >= options.recall_floor
        and _told_at(index, entry) > _told_at(index, first)
        and index.overlap(entry, first) >= options.correction_overlap
        and index.share(entry, set(first.token_ids) & set(prompt)) >= _SAME_TOPIC
    ]
    newest = max(newer, key=lambda one: _told_at(index, one.entry), default=None)
    return chosen if newest is None else [*chosen[: options.max_events - 1], newest]


def _told_at(index: Index, entry: Entry) -> float:
    return index.told_at(entry.packed) or entry.created_at


def _same_kind(a: Entry, b: Entry) -> bool:
    words_a, words_b = set(a.token_ids), set(b.token_ids)
    return len(words_a & words_b) >= _SAME_KIND * min(len(words_a), len(words_b))


def _with_next_step(
    index: Index, chosen: list[Recalled], prompt: Sequence[int], options: MemoryOptions, already: Collection[bytes]
) -> list[Recalled]:
    """Let the best event ask in turn, with what it says and the prompt does not: the second step of a two-step
    question."""
    if not chosen or options.cue_floor >= 1.0:
        return chosen
    cue = _own_cue(chosen[0].entry, set(prompt), options)
    if cue is None:
        return chosen
    found = {*already, *(r.entry.id for r in chosen)}
    best = [one for one in _best(index, cue, pack(prompt), options, found) if not _same_kind(one[0], chosen[0].entry)]
    if best and best[0][1] >= options.cue_floor:
        chosen = [*chosen, Recalled(*best[0], found_by="cue")]
    return chosen


def _own_cue(entry: Entry, known: Collection[int], options: MemoryOptions) -> Cue | None:
    if entry.queries is None or entry.lse_own is None:
        return None
    news = [i for i, token in enumerate(entry.token_ids) if token not in known]
    # A passage of a document brings up its neighbours, not a second step.
    if not 0 < len(news) <= options.cue_tokens:
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


def _weighed(index: Index, chosen: Sequence[Recalled], options: MemoryOptions) -> list[Recalled]:
    """Order the events, the best nearest to the prompt, and let a newer event outweigh an older one that it
    overlaps."""

    def corrects(one: Recalled, other: Recalled) -> bool:
        # What brings up a second step shares words with it: that is how it found it.
        return (
            _told_at(index, one.entry) > _told_at(index, other.entry)
            and one.found_by == other.found_by
            and index.overlap(one.entry, other.entry) >= options.correction_overlap
        )

    def corrected(one: Recalled) -> bool:
        return any(corrects(other, one) for other in chosen)

    def bias(one: Recalled) -> float:
        by_age = options.correction_bias if corrected(one) else 0.0
        by_step = options.cue_bias if one.found_by == "cue" else 0.0
        return options.recall_bias - by_age - by_step

    def place(one: Recalled) -> tuple[bool, bool, bool, float]:
        return not corrected(one), one.found_by != "cue", any(corrects(one, other) for other in chosen), one.vote

    ordered = sorted(chosen, key=place)
    return [Recalled(one.entry, one.vote, bias(one), one.found_by) for one in ordered]


def bias_of(recalled: Sequence[Recalled]) -> Tensor:
    """The bias of every recalled token, `[tokens]`, in the order of the events."""
    return torch.cat([torch.full((len(r.entry.token_ids),), r.bias) for r in recalled])
