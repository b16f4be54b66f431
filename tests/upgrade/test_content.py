"""Messages found in token ids by markers, without a tokenizer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sglang_v14.content import Message, find_messages

OPEN, CLOSE, LINE, USER, MODEL, SYSTEM, TOOL = 90, 91, 92, 93, 94, 95, 96
CHAT = {
    "system": {"start": [OPEN, SYSTEM, LINE], "end": [CLOSE, LINE]},
    "user": {"start": [OPEN, USER, LINE], "end": [CLOSE, LINE]},
    "assistant": {"start": [OPEN, MODEL, LINE], "end": [CLOSE, LINE]},
}
BRACKETS = {"user": {"start": [80], "end": [81]}, "assistant": {"start": [81], "end": [82]}}


def turn(role: int, *content: int) -> list[int]:
    return [OPEN, role, LINE, *content, CLOSE, LINE]


def test_a_chat() -> None:
    tokens = [*turn(SYSTEM, 1, 2), *turn(USER, 3), *turn(MODEL, 4, 5), *turn(USER, 6), OPEN, MODEL, LINE]
    assert find_messages(tokens, CHAT) == [
        Message("system", 3, 5),
        Message("user", 10, 11),
        Message("assistant", 16, 18),
        Message("user", 23, 24),
    ]


def test_an_unclosed_last_message_ends_with_the_prompt() -> None:
    assert find_messages([*turn(USER, 1), OPEN, MODEL, LINE, 7, 8], CHAT)[-1] == Message("assistant", 9, 11)


def test_empty_messages_are_left_out() -> None:
    assert find_messages([*turn(SYSTEM), *turn(USER, 1), OPEN, MODEL, LINE], CHAT) == [Message("user", 8, 9)]


def test_parts_of_markers_are_content() -> None:
    """An opening without its role, a close without its line, a role's name alone: all the user's own text."""
    content = [OPEN, 1, CLOSE, 2, USER, LINE, OPEN, USER, CLOSE, 3]
    assert find_messages(turn(USER, *content), CHAT) == [Message("user", 3, 3 + len(content))]


def test_a_start_inside_a_message_is_content() -> None:
    tokens = [OPEN, USER, LINE, 1, OPEN, SYSTEM, LINE, 2, CLOSE, LINE]
    assert find_messages(tokens, CHAT) == [Message("user", 3, 8)]


def test_an_end_that_is_the_next_start() -> None:
    assert find_messages([80, 1, 2, 81, 3, 82, 80, 4, 81], BRACKETS) == [
        Message("user", 1, 3),
        Message("assistant", 4, 5),
        Message("user", 7, 8),
    ]


def test_a_tool_result_inside_a_user_turn() -> None:
    markers = {**CHAT, "tool": {"start": [TOOL, LINE], "end": [97]}}
    tokens = [OPEN, USER, LINE, TOOL, LINE, 1, 2, 97, LINE, TOOL, LINE, 3, 97, CLOSE, LINE, *turn(MODEL, 4)]
    assert find_messages(tokens, markers) == [
        Message("tool", 5, 7),
        Message("tool", 11, 12),
        Message("assistant", 18, 19),
    ]


def test_a_start_whose_last_token_was_merged_with_the_text() -> None:
    assert find_messages([OPEN, USER, 50, 1, CLOSE, LINE, OPEN, MODEL, LINE], CHAT) == [Message("user", 2, 4)]


def test_roles_that_differ_in_the_merged_token_only_are_not_guessed() -> None:
    markers = {"user": {"start": [OPEN, 1], "end": [CLOSE]}, "tool": {"start": [OPEN, 2], "end": [CLOSE]}}
    assert find_messages([OPEN, 50, CLOSE], markers) == []


def test_a_role_without_an_end_runs_to_the_next_start() -> None:
    markers = {"user": {"start": [80], "end": []}, "assistant": {"start": [81], "end": []}}
    assert find_messages([80, 1, 2, 81, 3, 80, 4], markers) == [
        Message("user", 1, 3),
        Message("assistant", 4, 5),
        Message("user", 6, 7),
    ]


@pytest.mark.parametrize("markers", [{}, {"user": {"start": [], "end": [1]}}])
def test_nothing_to_find(markers: dict[str, dict[str, list[int]]]) -> None:
    assert find_messages([1, 2, 3], markers) == []


@given(st.lists(st.sampled_from([OPEN, CLOSE, LINE, USER, MODEL, SYSTEM, TOOL, 1, 2]), max_size=80))
def test_any_tokens_give_ordered_spans_inside_the_prompt(tokens: list[int]) -> None:
    edge = 0
    for message in find_messages(tokens, CHAT):
        assert edge <= message.start < message.end <= len(tokens)
        edge = message.end


class CountingTokens(list[int]):
    """Counts how many tokens are looked at."""

    looked_at = 0

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        taken = super().__getitem__(index)
        CountingTokens.looked_at += len(taken) if isinstance(index, slice) else 1
        return taken


@pytest.mark.parametrize("filling", [[OPEN], [CLOSE], [OPEN, USER], [1]])
def test_the_work_grows_with_the_prompt_and_not_faster(filling: list[int]) -> None:
    """Prompts that are nothing but beginnings of markers are the worst case."""
    work = []
    for length in (1000, 4000):
        CountingTokens.looked_at = 0
        find_messages(CountingTokens([OPEN, USER, LINE, *(filling * length)[:length]]), CHAT)
        work.append(CountingTokens.looked_at)
    assert work[0] >= 1000
    assert work[1] < 4.2 * work[0]
