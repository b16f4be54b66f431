"""Cutting a prompt's content into events, and naming them."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import xxhash


@dataclass(frozen=True, slots=True)
class Span:
    """An event's place in its prompt: tokens `[start, end)`, and the role that said them.

    `id` (16 bytes) names the event by its tokens and all tokens before them, so that the same words in the same
    context are one event and the same words elsewhere another.
    """

    id: bytes
    role: str
    start: int
    end: int


def cut(token_ids: Sequence[int], content: Iterable[tuple[str, int, int]], event_tokens: int) -> list[Span]:
    """Cut `content`, `(role, start, end)` spans in order, into events of at most `event_tokens` tokens that span no
    two messages."""
    spans: list[Span] = []
    context = xxhash.xxh3_128()
    hashed = 0
    for role, start, end in content:
        for first in range(start, end, event_tokens):
            last = min(first + event_tokens, end)
            context.update(struct.pack(f"<{last - hashed}q", *token_ids[hashed:last]))
            hashed = last
            # The start is part of the name: one end may close events of different lengths.
            name = context.copy()
            name.update(struct.pack("<q", first))
            spans.append(Span(name.digest(), role, first, last))
    return spans
