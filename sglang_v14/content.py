"""Finds the messages inside a chat prompt's token ids.

The chat template wraps every message in tokens of its own. The markers of a model directory name, per role, the tokens
right before (`start`) and right after (`end`) a message's text; what lies between them is the message's content.

Reading goes by two states. *Between* messages, a role's whole `start` opens a message. A tokenizer may merge a
start's last token with the white space a message begins with (`"\\n" + "\\n\\nHello"`), so between messages, and only
there, a start that lacks its last token opens the message too. *Inside* a message everything is content until the
role's whole `end` comes; the start of another message is only seen right behind the opening (a tool result inside a
user turn), or when the role has no end of its own. A marker that is only partly there is content. The end's tokens
may begin the next start (`[/INST]` ends the user's text and starts the assistant's), so reading goes on at the end
marker's first token.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Message(NamedTuple):
    """One message's content: tokens `[start, end)` of the prompt, never empty."""

    role: str
    start: int
    end: int


class _Marker(NamedTuple):
    role: str
    start: tuple[int, ...]
    end: tuple[int, ...]


def find_messages(token_ids: Sequence[int], markers: Mapping[str, Mapping[str, Sequence[int]]]) -> list[Message]:
    """The contents of all messages in the prompt, in order.

    `markers` maps a role to `{"start": [ids], "end": [ids]}`. A role with an empty start is never found; one with an
    empty end runs until the next start. A last message that is not closed ends with the prompt; empty messages (the
    assistant's, in a prompt that asks for an answer) are left out. Time is linear in the prompt: every token is
    compared with the markers once, and no marker is searched for ahead.
    """
    tokens = token_ids if isinstance(token_ids, list) else list(token_ids)
    by_first = _by_first_token(markers)
    found: list[Message] = []
    opened: _Marker | None = None
    content_start = 0
    position, count = 0, len(tokens)

    def close(end: int) -> None:
        if opened is not None and end > content_start:
            found.append(Message(opened.role, content_start, end))

    while position < count:
        if opened is not None and opened.end and _stands_at(tokens, position, opened.end):
            close(position)
            opened = None
        if opened is None or not opened.end or position == content_start:
            match = _opening(tokens, position, by_first, between=opened is None)
            if match is not None:
                close(position)
                opened, content_start = match
                position = content_start
                continue
        position += 1
    close(count)
    return found


def _by_first_token(markers: Mapping[str, Mapping[str, Sequence[int]]]) -> dict[int, list[_Marker]]:
    """Markers by their start's first token, longest start first."""
    by_first: dict[int, list[_Marker]] = {}
    for role, marker in markers.items():
        start = tuple(marker.get("start", ()))
        if start:
            by_first.setdefault(start[0], []).append(_Marker(role, start, tuple(marker.get("end", ()))))
    for candidates in by_first.values():
        candidates.sort(key=lambda marker: -len(marker.start))
    return by_first


def _stands_at(tokens: list[int], position: int, marker: tuple[int, ...]) -> bool:
    return tokens[position] == marker[0] and tuple(tokens[position : position + len(marker)]) == marker


def _opening(
    tokens: list[int], position: int, by_first: dict[int, list[_Marker]], between: bool
) -> tuple[_Marker, int] | None:
    """The message that opens at `position` and where its content starts."""
    candidates = by_first.get(tokens[position], ())
    for marker in candidates:
        if _stands_at(tokens, position, marker.start):
            return marker, position + len(marker.start)
    if not between:
        return None
    merged = [
        marker for marker in candidates if len(marker.start) > 1 and _stands_at(tokens, position, marker.start[:-1])
    ]
    longest = [marker for marker in merged if len(marker.start) == len(merged[0].start)]
    # Two roles whose starts differ in the lost token only cannot be told apart.
    if len(longest) == 1 and position + len(longest[0].start) - 1 < len(tokens):
        return longest[0], position + len(longest[0].start) - 1
    return None
