"""What of a prompt is content, and from where it is read again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from sglang_v14.options import Marker, MemoryOptions
from sglang_v14.prompt import RAW_SINK_TOKENS, PromptPlan, PromptReader

START, END, NEWLINE = 1, 2, 3
ROLES = {"system": 10, "user": 11, "assistant": 12, "tool": 13}
MARKERS = {role: Marker(start=(START, token, NEWLINE), end=(END,)) for role, token in ROLES.items()}


def plan(token_ids: Sequence[int], **options: Any) -> PromptPlan:
    return PromptReader(MemoryOptions(**{"markers": MARKERS, **options})).plan(token_ids)


def chat(*messages: tuple[str, range], asks: bool = True) -> list[int]:
    """A ChatML-like prompt."""
    tokens: list[int] = []
    for role, text in messages:
        tokens += [START, ROLES[role], NEWLINE, *text, END, NEWLINE]
    return [*tokens, START, ROLES["assistant"], NEWLINE] if asks else tokens


def at(tokens: list[int], text: range) -> range:
    """Where `text` stands in the prompt."""
    first = tokens.index(text[0])
    return range(first, first + len(text))


def contents(tokens: list[int], found: PromptPlan) -> list[tuple[str, list[int]]]:
    return [(event.role, tokens[event.start : event.end]) for event in found.events]


SYSTEM, QUESTION, ANSWER, TOOL, NEXT = (range(first, first + 10) for first in range(100, 200, 20))


def test_one_turn() -> None:
    """The user's text is content, the system's and all of the template's tokens are not."""
    tokens = chat(("system", SYSTEM), ("user", QUESTION))
    found = plan(tokens)
    assert contents(tokens, found) == [("user", [*QUESTION])]
    assert found.length == len(tokens)
    assert found.turn_start == found.reread_from == at(tokens, QUESTION)[0]
    assert found.voting == tuple(at(tokens, QUESTION))


def test_later_turn() -> None:
    """Only what came after the assistant's last message is the last turn; earlier user messages are content."""
    tokens = chat(("system", SYSTEM), ("user", QUESTION), ("assistant", ANSWER), ("user", NEXT))
    found = plan(tokens)
    assert contents(tokens, found) == [("user", [*QUESTION]), ("user", [*NEXT])]
    assert found.turn_start == at(tokens, NEXT)[0]
    assert found.voting == tuple(at(tokens, NEXT))


def test_several_messages_in_the_last_turn() -> None:
    """Two user messages and a tool's in a row are one turn; the template's tokens between them do not vote."""
    tokens = chat(("user", QUESTION), ("assistant", ANSWER), ("tool", TOOL), ("user", NEXT))
    found = plan(tokens)
    assert contents(tokens, found) == [("user", [*QUESTION]), ("tool", [*TOOL]), ("user", [*NEXT])]
    assert found.turn_start == at(tokens, TOOL)[0]
    assert found.voting == (*at(tokens, TOOL), *at(tokens, NEXT))


def test_assistant_messages_are_remembered_when_asked() -> None:
    """`remember_assistant` makes history content, but never a voter."""
    tokens = chat(("user", QUESTION), ("assistant", ANSWER), ("user", NEXT))
    found = plan(tokens, remember_assistant=True)
    assert contents(tokens, found) == [("user", [*QUESTION]), ("assistant", [*ANSWER]), ("user", [*NEXT])]
    assert found.turn_start == at(tokens, NEXT)[0]
    assert found.voting == tuple(at(tokens, NEXT))


def test_an_answer_that_is_to_be_continued() -> None:
    """When nothing came after the assistant's words, the turn is the message that they answer."""
    tokens = [*chat(("user", QUESTION), asks=False), START, ROLES["assistant"], NEWLINE, *ANSWER]
    found = plan(tokens)
    assert found.turn_start == at(tokens, QUESTION)[0]
    assert found.voting == tuple(at(tokens, QUESTION))


def test_an_answer_that_is_to_be_continued_is_no_turn() -> None:
    """`remember_assistant` says what is stored, not who asks: the turn stays the user's."""
    tokens = [*chat(("user", QUESTION), asks=False), START, ROLES["assistant"], NEWLINE, *ANSWER]
    assert plan(tokens, remember_assistant=True).voting == tuple(at(tokens, QUESTION))


def test_system_message_alone() -> None:
    """Nothing to remember, nobody to vote, nothing to read again."""
    tokens = chat(("system", SYSTEM))
    assert plan(tokens) == PromptPlan(len(tokens), (), len(tokens), len(tokens), ())


@pytest.mark.parametrize("options", [{}, {"markers": {}}], ids=["no message", "no markers"])
def test_raw_text(options: dict[str, Any]) -> None:
    """Without messages all but the first four tokens are content."""
    tokens = [*range(500, 520)]
    found = plan(tokens, **options)
    assert RAW_SINK_TOKENS == 4
    assert contents(tokens, found) == [("text", tokens[4:])]
    assert found.turn_start == found.reread_from == 4
    assert found.voting == tuple(range(4, 20))


@pytest.mark.parametrize("length", [0, 1, 4])
def test_too_short_for_content(length: int) -> None:
    """An empty prompt, and one of sinks alone."""
    assert plan([*range(500, 500 + length)]) == PromptPlan(length, (), length, length, ())


def test_long_messages_become_several_events() -> None:
    """`event_tokens` and `sentence_ends` of the options reach the cut."""
    tokens = chat(("user", range(100, 140)))
    lengths = [event.end - event.start for event in plan(tokens, event_tokens=16).events]
    assert lengths == [16, 16, 8]
    lengths = [event.end - event.start for event in plan(tokens, event_tokens=16, sentence_ends={109}).events]
    assert lengths == [10, 16, 14]


def test_reread_tokens() -> None:
    """At most so many of the prompt's last tokens are read again, and only those vote."""
    tokens = chat(("user", range(100, 140)))
    found = plan(tokens, reread_tokens=15)
    assert found.reread_from == len(tokens) - 15
    assert found.turn_start == 3
    assert found.voting == tuple(range(len(tokens) - 15, at(tokens, range(100, 140))[-1] + 1))
    assert plan(tokens, reread_tokens=len(tokens)).reread_from == found.turn_start
    assert plan(tokens, reread_tokens=2).voting == ()


def test_vote_tokens() -> None:
    """The last of the turn's content tokens vote."""
    tokens = chat(("user", QUESTION), ("user", NEXT))
    found = plan(tokens, vote_tokens=13)
    assert found.voting == (*at(tokens, QUESTION)[-3:], *at(tokens, NEXT))
    assert found.reread_from == found.turn_start == at(tokens, QUESTION)[0]


def test_a_later_turn_keeps_the_names_of_earlier_events() -> None:
    """What a conversation said before is found again under the same names."""
    first = chat(("system", SYSTEM), ("user", QUESTION), asks=False)
    second = chat(("system", SYSTEM), ("user", QUESTION), ("assistant", ANSWER), ("user", NEXT))
    assert plan(second).events[0] == plan(first).events[0]
