"""Cutting a prompt's content into events, and naming them."""

from __future__ import annotations

import struct
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

import xxhash


@dataclass(frozen=True, slots=True)
class Span:
    """An event's place in its prompt: tokens `[start, end)`, and the role that said them.

    `id` (16 bytes) names the event by its tokens and those before them from the first content on, so that the same
    words in the same conversation are one event and the same words elsewhere another. What stands in front, a system
    prompt with the time in it, does not make a conversation another one.
    """

    id: bytes
    role: str
    start: int
    end: int


def cut(
    token_ids: Sequence[int],
    content: Iterable[tuple[str, int, int]],
    event_tokens: int,
    sentence_ends: Container[int] = frozenset(),
) -> list[Span]:
    """Cut `content`, `(role, start, end)` spans in order, into events of at most `event_tokens` tokens.

    No event spans two messages. One that would end inside a sentence ends with the sentence before, as long as that
    leaves it half its length: a statement that is cut in two is found by one half and answered by the other.
    """
    spans: list[Span] = []
    context = xxhash.xxh3_128()
    content = list(content)
    begin = hashed = content[0][1] if content else 0
    for role, start, end in content:
        first = start
        while first < end:
            last = _end(token_ids, first, end, event_tokens, sentence_ends)
            context.update(struct.pack(f"<{last - hashed}q", *token_ids[hashed:last]))
            hashed = last
            # The start is part of the name: one end may close events of different lengths.
            name = context.copy()
            name.update(struct.pack("<q", first - begin))
            spans.append(Span(name.digest(), role, first, last))
            first = last
    return spans


def _end(token_ids: Sequence[int], first: int, end: int, event_tokens: int, sentence_ends: Container[int]) -> int:
    longest = first + event_tokens
    if longest >= end:
        return end
    for last in range(longest, first + event_tokens // 2, -1):
        if token_ids[last - 1] in sentence_ends:
            return last
    return longest
