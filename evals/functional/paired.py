"""Pairs of streamed runs, memory on and off one right after the other, for times that compare on a busy machine."""

from collections.abc import Callable

import msgspec

from .client import Memory, Reply
from .run import Run


class Pair(msgspec.Struct, frozen=True):
    """`off` is None where the memory cannot be switched off."""

    memory: Reply
    off: Reply | None

    @property
    def recalled(self) -> bool | None:
        """Whether something was recalled, None where the server does not report it."""
        return bool(self.memory.memory.recalled) if self.memory.memory else None


def run_pairs(run: Run, memory: Memory, sends: list[Callable[[Memory], Reply]]) -> list[Pair]:
    """Every request both ways; the order alternates, so that a machine that slows down favours neither side."""
    pairs = []
    for i, send in enumerate(sends):
        off = send(memory.off) if run.can_be_off and i % 2 else None
        on = send(memory)
        if run.can_be_off and off is None:
            off = send(memory.off)
        pairs.append(Pair(on, off))
    return pairs


def counted(pairs: list[Pair], recall: bool) -> list[Pair]:
    """The pairs in which something was recalled (or nothing was); all of them where the server does not report it."""
    return [pair for pair in pairs if pair.recalled is None or pair.recalled is recall]
