"""Which events come back, in which order and with which weight."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from told import HEADS, cue, event, share

from sglang_v14.index import Cue, Entry, Index
from sglang_v14.options import MemoryOptions
from sglang_v14.recall import NOTHING, Decision, bias_of, decide, only_asks

PROMPT = [9001, 9002, 9003]


def recall(entries: list[Entry], asked: Cue, *, prompt: list[int] = PROMPT, **settings: Any) -> Decision:
    already = settings.pop("already", ())
    found_by = settings.pop("found_by", "prompt")
    index = Index(HEADS)
    index.add(entries)
    options = MemoryOptions(**{"recall_bias": 0.0, **settings})
    return decide(index, asked, prompt, options, already=already, found_by=found_by)


def numbers(decision: Decision) -> list[int]:
    """The events that come back, the nearest to the prompt last."""
    return [int.from_bytes(one.entry.id, "little") for one in decision.recalled]


def test_the_event_on_the_topic_comes_back() -> None:
    """One of five, with the vote that its keys give it."""
    decision = recall([event(n, n) for n in range(5)], cue(3))
    assert numbers(decision) == [3]
    (one,) = decision.recalled
    assert one.vote == pytest.approx(share(10.0), rel=1e-4)
    assert (one.bias, one.found_by) == (0.0, "prompt")
    assert decision.span(0) == 4 and decision.span(2) == 6
    assert decision.ids == {event(3, 3).id}
    assert decision.best[0] == (one.entry, one.vote)


def test_nothing_is_the_answer_to_what_nobody_told() -> None:
    """Without an event on the topic, and without any event."""
    assert recall([event(n, n) for n in range(5)], cue(9)).recalled == ()
    assert recall([], cue(1)) is NOTHING


def test_floor() -> None:
    """A vote right below the floor is not enough, one right above is; the best votes are told all the same."""
    vote = share(3.5)
    entries = [event(0, 1, strength=3.5)]
    below = recall(entries, cue(1), recall_floor=vote + 0.01)
    assert below.recalled == ()
    assert [v for _, v in below.best] == pytest.approx([vote], rel=1e-4)
    assert numbers(recall(entries, cue(1), recall_floor=vote - 0.01)) == [0]
    assert numbers(recall(entries, cue(1), recall_floor=0.0)) == [0]


def test_ratio() -> None:
    """A second event comes along only when it is about as good as the best one, and then stands farther away."""
    entries = [event(0, 1, strength=10.0), event(1, 2, strength=5.0)]
    best, second = share(10.0), share(5.0)
    assert numbers(recall(entries, cue(1, 2), recall_ratio=second / best + 0.01)) == [0]
    assert numbers(recall(entries, cue(1, 2), recall_ratio=second / best - 0.01)) == [1, 0]


def test_max_events() -> None:
    """The best ones, in rising order."""
    entries = [event(n, n, strength=12.0 - n) for n in range(5)]
    topics = cue(*range(5))
    assert numbers(recall(entries, topics, max_events=2, recall_ratio=0.0)) == [1, 0]
    assert numbers(recall(entries, topics, max_events=4, recall_ratio=0.0)) == [3, 2, 1, 0]


def test_max_recalled_tokens() -> None:
    """The best events that fit together."""
    entries = [event(n, n, strength=12.0 - n) for n in range(3)]
    settings: dict[str, Any] = {"recall_ratio": 0.0, "event_tokens": 8}
    assert numbers(recall(entries, cue(0, 1, 2), max_recalled_tokens=8, **settings)) == [1, 0]
    assert numbers(recall(entries, cue(0, 1, 2), max_recalled_tokens=11, **settings)) == [1, 0]
    assert numbers(recall(entries, cue(0, 1, 2), max_recalled_tokens=12, **settings)) == [2, 1, 0]


def test_text_that_stands_in_the_prompt() -> None:
    """An event that the prompt repeats takes no part: it is not recalled."""
    repeated, other = event(0, 1, strength=14.0), event(1, 1, strength=7.0)
    prompt = [*PROMPT, *repeated.token_ids, 9004]
    decision = recall([repeated, other], cue(1), prompt=prompt)
    assert numbers(decision) == [1]
    assert decision.recalled[0].vote == pytest.approx(share(7.0), rel=1e-4)
    assert numbers(recall([repeated, other], cue(1))) == [1, 0]
    assert recall([repeated], cue(1), prompt=prompt).recalled == ()


def test_many_events_that_stand_in_the_prompt() -> None:
    """More repeated events than are looked at together do not hide the one behind them."""
    repeated = [event(n, 1, strength=20.0) for n in range(1, 20)]
    told = event(0, 1, strength=8.0)
    prompt = [token for entry in repeated for token in entry.token_ids]
    assert numbers(recall([told, *repeated], cue(1), prompt=prompt)) == [0]


def test_events_that_are_recalled_already() -> None:
    """They are not recalled again, and what comes on top says what found it."""
    decision = recall([event(0, 1), event(1, 1, 8.0)], cue(1), already={event(0, 1).id}, found_by="answer")
    assert numbers(decision) == [1]
    assert decision.recalled[0].found_by == "answer"
    assert decision.recalled[0].vote == pytest.approx(share(8.0), rel=1e-4)


QUESTION_END, SENTENCE_END = 7, 8


@pytest.mark.parametrize(
    ("tokens", "asks"),
    [
        ((50, 51, QUESTION_END), True),
        ((50, SENTENCE_END, 51, QUESTION_END), False),
        ((50, QUESTION_END, 51, SENTENCE_END), False),
        ((50, 51), False),
        ((QUESTION_END,), True),
    ],
)
def test_bare_questions(tokens: tuple[int, ...], asks: bool) -> None:
    """A question alone takes no part, one behind a statement does."""
    settings: dict[str, Any] = {"question_ends": {QUESTION_END}, "sentence_ends": {SENTENCE_END, QUESTION_END}}
    entry = event(0, 1, token_ids=tokens)
    assert only_asks(entry, MemoryOptions(**settings)) == asks
    assert numbers(recall([entry], cue(1), **settings)) == ([] if asks else [0])
    assert numbers(recall([entry], cue(1))) == [0]


# Two steps


def test_second_step() -> None:
    """The best event asks in turn: what it finds stands farthest and is weighed down."""
    decision = recall([event(0, 1, asks=2), event(1, 2), event(2, 3)], cue(1), cue_bias=0.7)
    assert numbers(decision) == [1, 0]
    second, first = decision.recalled
    assert (second.found_by, second.bias) == ("cue", -0.7)
    assert (first.found_by, first.bias) == ("prompt", 0.0)


def test_second_step_comes_on_top_of_max_events() -> None:
    """It takes no place of what the prompt itself asks for."""
    assert numbers(recall([event(0, 1, asks=2), event(1, 2)], cue(1), max_events=1)) == [1, 0]


@pytest.mark.parametrize(
    ("entry", "settings", "prompt"),
    [
        (event(0, 1, asks=2), {"cue_floor": 1.0}, PROMPT),
        (event(0, 1, asks=5), {}, PROMPT),
        (event(0, 1), {}, PROMPT),
        (event(0, 1, asks=2, asks_lse=13.0), {}, PROMPT),
        (event(0, 1, asks=2), {}, [3, 9003, 2, 9002, 1, 9001, 0]),
        (event(0, 1, asks=2), {"cue_tokens": 3}, PROMPT),
        (event(0, 1, asks=2), {}, [101, 102, 103, 100, 101, 102, 103]),
    ],
    ids=["off", "nothing to find", "no queries", "its own text answers", "nothing new", "too long", "stands in prompt"],
)
def test_no_second_step(entry: Entry, settings: dict[str, Any], prompt: list[int]) -> None:
    """Switched off, below the floor, or when the best event has nothing to ask with."""
    assert numbers(recall([entry, event(1, 2)], cue(1), prompt=prompt, **settings)) == [0]


def test_only_new_tokens_ask() -> None:
    """A token of the event that the prompt says too does not ask."""
    entries = [event(0, 1, asks=2, token_ids=(10, 11, 12, 13)), event(1, 2)]
    assert numbers(recall(entries, cue(1), prompt=[13])) == [0]
    assert numbers(recall(entries, cue(1), prompt=[12])) == [1, 0]


# Corrections

OLD, NEW = (50, 51, 52, 53), (50, 51, 52, 63)


@pytest.mark.parametrize("stronger", ["older", "newer"])
def test_the_newer_of_two_that_overlap(stronger: str) -> None:
    """The older one is weighed down and stands farther, whichever has the better vote."""
    strengths = (10.0, 9.0) if stronger == "older" else (9.0, 10.0)
    older = event(0, 1, strengths[0], token_ids=OLD, created_at=100.0)
    newer = event(1, 1, strengths[1], token_ids=NEW, created_at=200.0)
    for entries in ([older, newer], [newer, older]):
        decision = recall(entries, cue(1), correction_bias=1.25)
        assert numbers(decision) == [0, 1]
        assert [one.bias for one in decision.recalled] == [-1.25, 0.0]


def test_events_that_do_not_overlap_enough() -> None:
    """Neither is weighed down; the better one stands nearest."""
    older = event(0, 1, 10.0, token_ids=(50, 51, 52, 53), created_at=100.0)
    newer = event(1, 2, 9.0, token_ids=(50, 61, 62, 63), created_at=200.0)
    decision = recall([older, newer], cue(1, 2))
    assert numbers(decision) == [1, 0]
    assert [one.bias for one in decision.recalled] == [0.0, 0.0]
    assert [one.bias for one in recall([older, newer], cue(1, 2), correction_overlap=0.25).recalled] == [-1.5, 0.0]


def test_events_of_the_same_time() -> None:
    """Two tellings at once do not correct each other."""
    decision = recall([event(0, 1, token_ids=OLD, created_at=1.0), event(1, 1, token_ids=NEW, created_at=1.0)], cue(1))
    assert [one.bias for one in decision.recalled] == [0.0, 0.0]


def test_events_that_say_the_same_do_not_share_one_vote() -> None:
    """None is a rival of another one."""
    twins = [event(n, 1, token_ids=(50, 51, 52, 60 + n)) for n in range(3)]
    decision = recall([*twins, event(9, 4)], cue(1))
    assert [one.vote for one in decision.recalled] == pytest.approx([share(10.0)] * 3, rel=1e-4)


def test_a_second_step_is_no_correction() -> None:
    """What brings up a second step shares words with it; being newer it does not correct it."""
    first = event(0, 1, asks=2, token_ids=(70, 71, 52, 53), created_at=300.0)
    second = event(1, 2, token_ids=(80, 81, 52, 53), created_at=100.0)
    decision = recall([first, second], cue(1), cue_bias=0.5, correction_bias=1.5)
    assert numbers(decision) == [1, 0]
    assert [one.bias for one in decision.recalled] == [-0.5, 0.0]


def test_what_was_told_often_is_one_thing_to_know() -> None:
    """However often a text was told, it comes back once, and is as new as its last telling."""
    often = [event(n, 1, 10.0, token_ids=OLD, created_at=float(n)) for n in range(5)]
    correction = event(9, 1, 9.0, token_ids=NEW, created_at=50.0)
    decision = recall([*often, correction], cue(1), correction_bias=1.5)
    assert [one.entry.token_ids for one in decision.recalled] == [OLD, NEW]
    assert [one.bias for one in decision.recalled] == [-1.5, 0.0]
    again = event(10, 1, 8.0, token_ids=OLD, created_at=60.0)
    decision = recall([*often, correction, again], cue(1), correction_bias=1.5)
    assert [one.entry.token_ids for one in decision.recalled] == [NEW, OLD]
    already = {often[0].id}
    assert [one.entry.token_ids for one in recall(often, cue(1), already=already).recalled] == []


def test_a_correction_comes_along() -> None:
    """Though its own vote is far below the ratio, not below the floor; among many others as well."""
    old = event(0, 1, 10.0, token_ids=OLD, created_at=100.0)
    weak = event(1, 1, 3.5, token_ids=NEW, created_at=200.0)
    others = [event(n, 1, 9.0, created_at=10.0 * n) for n in range(2, 6)]
    assert share(3.5) < 0.6 * share(10.0)
    asked = [*PROMPT, *OLD[:3]]
    decision = recall(
        [old, weak, *others], cue(1), prompt=asked, recall_floor=share(3.4), recall_ratio=0.6, max_events=3
    )
    assert numbers(decision)[-1] == 1 and 0 in numbers(decision)
    below = recall([old, weak], cue(1), recall_floor=share(3.6), recall_ratio=0.6)
    assert numbers(below) == [0]
    about = [*PROMPT, OLD[3]]
    assert numbers(recall([old, weak], cue(1), prompt=about, recall_floor=share(3.4), recall_ratio=0.6)) == [0]
    about = [*PROMPT, OLD[2]]
    assert numbers(recall([old, weak], cue(1), prompt=about, recall_floor=share(3.4), recall_ratio=0.6)) == [0, 1]
    older = event(1, 1, 3.5, token_ids=NEW, created_at=50.0)
    assert numbers(recall([old, older], cue(1), recall_floor=share(3.4), recall_ratio=0.6)) == [0]


def test_a_statement_of_the_same_kind_is_no_second_step() -> None:
    """The code of one door asks for the codes of all."""
    first = event(0, 1, asks=2, token_ids=(60, 61, 62, 80, 70))
    like = event(1, 2, token_ids=(60, 61, 62, 81, 71))
    other = event(2, 2, strength=9.0, token_ids=(90, 91, 92, 80, 93))
    assert numbers(recall([first, like], cue(1))) == [0]
    assert numbers(recall([first, like, other], cue(1))) == [2, 0]


def test_bias_of_every_token() -> None:
    """One value a token, in the order of the events."""
    older = event(0, 1, token_ids=(1, 2, 3, 50, 51, 52), created_at=1.0)
    newer = event(1, 1, token_ids=(50, 51, 52), created_at=2.0)
    decision = recall([older, newer], cue(1))
    assert torch.equal(bias_of(decision.recalled), torch.tensor([-1.5] * 6 + [0.0] * 3))


def test_recall_bias() -> None:
    """What all recalled events get adds up with what lowers one of them, and does not change their order."""
    older = event(0, 1, 10.0, token_ids=OLD, created_at=100.0)
    newer = event(1, 1, 9.0, token_ids=NEW, created_at=200.0)
    decision = recall([older, newer], cue(1), recall_bias=0.75, correction_bias=1.5)
    assert numbers(decision) == [0, 1]
    assert [one.bias for one in decision.recalled] == [-0.75, 0.75]


def test_span() -> None:
    """How many positions the events take, with a gap behind each."""
    decision = recall([event(0, 1), event(1, 1)], cue(1))
    assert [decision.span(gap) for gap in (0, 1, 5)] == [8, 10, 18]
    assert NOTHING.span(5) == 0
