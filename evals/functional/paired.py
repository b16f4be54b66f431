"""Pairs of streamed runs, memory on and off one right after the other, for times that compare on a busy machine."""

from collections.abc import Callable, Iterable

import msgspec

from .client import Memory, Reply
from .run import Run

_FACTS_TOLD = 4


class Pair(msgspec.Struct, frozen=True):
    """`off` is None where the memory cannot be switched off."""

    memory: Reply
    off: Reply | None

    @property
    def recalled(self) -> bool | None:
        """Whether something was recalled, None where the server does not report it."""
        return bool(self.memory.memory.recalled) if self.memory.memory else None


def run_pairs(
    run: Run, purpose: str, questions: Iterable[str], send: Callable[[Run, str, Memory], Reply]
) -> list[Pair]:
    """`send` every question both ways; the order alternates, so that a machine that slows down favours neither side.

    Each pair has a namespace of its own, in which a few facts were told (the pair's own among them): in one namespace
    the questions of earlier pairs would be recalled for later ones.
    """
    pairs = []
    for i, question in enumerate(questions):
        memory = run.memory(f"{purpose}-{i}")
        run.tell((fact.statement for fact in run.texts.facts[i : i + _FACTS_TOLD]), memory)
        off = send(run, question, memory.off) if run.can_be_off and i % 2 else None
        on = send(run, question, memory)
        if run.can_be_off and off is None:
            off = send(run, question, memory.off)
        pairs.append(Pair(on, off))
    return pairs


def counted(pairs: list[Pair], recall: bool) -> list[Pair]:
    """The pairs in which something was recalled (or nothing was); all of them where the server does not report it."""
    return [pair for pair in pairs if pair.recalled is None or pair.recalled is recall]
