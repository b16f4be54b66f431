"""Every check passes on a perfect memory and fails on one that lacks what it looks for."""

import pytest

from sglang_v14.evals.functional.checks import CHECKS, decode_speed, first_token
from sglang_v14.evals.functional.client import MemoryReport, Recalled, Reply
from sglang_v14.evals.functional.paired import Pair
from sglang_v14.evals.functional.result import Measure, Row, Score

SLOW_TEXT = {"token_seconds": 0.02}


def rows(run, name: str) -> list[Row]:
    return CHECKS[name](run)


def judged(run, name: str) -> list[bool | None]:
    """The verdicts of the rows that have a goal."""
    return [row.met for row in rows(run, name) if row.goal]


@pytest.mark.parametrize("name", [name for name in CHECKS if name != "server-log"])
def test_a_perfect_memory_meets_every_goal(start, name):
    found = rows(start(cold_seconds=0.3), name)
    assert found
    assert all(row.check == name for row in found)
    # Ratios of the fake's own few milliseconds are noise; how they are judged is tested on made-up times below.
    if name not in ("first-token", "decode-speed"):
        assert [row for row in found if row.goal and row.met is not True] == []


FAILURES = [
    ("facts", {"remembers": False}),
    ("facts", {"answers_unasked": True}),
    ("unrelated", {"recalls_always": True}),
    ("unrelated", {"altered_output": True}),
    ("paraphrases", {"same_words_only": True}),
    ("later", {"forgets_after": 9}),
    ("later", {"recalls_always": True}),
    ("restart", {"forgets_on_restart": True}),
    ("concurrent", {"loses_concurrent": True, "read_seconds": 0.02}),
    ("long-prompt", {"longest_event": 300}),
    ("dropped-stream", {"drops_dropped": True}),
    ("corrections", {"prefers_old": True}),
    ("two-steps", {"one_hop": True}),
    ("ask-tell-ask", {"caches_replies": True}),
    ("ask-tell-ask", {"remembers": False}),
    ("namespaces", {"leaks": True}),
    ("namespaces", {"leaks_recall_only": True}),
    ("first-token", {"recall_seconds": 0.3}),
    ("first-token", {"read_seconds": 0.3}),
    ("decode-speed", SLOW_TEXT),
    ("prefix-cache", {"cold_seconds": 0.2, "warm_prefix": False}),
    ("storing", {"store_seconds": 2.5}),
]


@pytest.mark.parametrize(("name", "behaviour"), FAILURES)
def test_a_faulty_memory_misses_a_goal(start, name, behaviour):
    assert False in judged(start(**behaviour), name)


def test_every_check_is_shown_to_fail():
    """Store size has no goal; the log's own test is below."""
    assert {name for name, _ in FAILURES} == set(CHECKS) - {"store-size", "server-log"}


def test_facts_have_three_columns(start):
    [row] = rows(start(), "facts")
    assert (row.memory, row.same_prompt, row.off) == (Score(12, 12), Score(12, 12), Score(0, 12))
    assert len(row.cases) == 12
    assert row.cases[0].recalled[0].text == "My dog is called Rumba."


def test_a_fact_is_told_in_one_chat_and_asked_in_another_with_the_memory_named(start):
    run = start()
    rows(run, "facts")
    told = next(body for body in run.fake.requests if "Rumba" in body["messages"][0]["content"])
    asked = next(body for body in run.fake.requests if body["messages"][0]["content"] == "What is my dog called?")
    assert told["memory"] == asked["memory"]
    assert told["memory"] == {"namespace": f"{run.base_namespace}-facts", "mode": "on", "report": True}
    assert all(len(body["messages"]) == 1 for body in run.fake.requests)


def test_what_was_told_is_not_told_twice(start):
    run = start()
    rows(run, "facts")
    rows(run, "paraphrases")
    told = [b for b in run.fake.requests if b["messages"][0]["content"] == "My dog is called Rumba."]
    assert len(told) == 1


def test_a_weak_model_shows_nothing_about_a_memory(start, monkeypatch):
    monkeypatch.setattr("fake_server._say", lambda *_: "I do not know.")
    [row] = rows(start(), "facts")
    assert row.same_prompt == Score(0, 12)
    assert row.met is None


def test_old_values_are_counted(start):
    present, old, neither = rows(start(prefers_old=True), "corrections")
    assert (present.memory, old.memory, neither.memory) == (Score(0, 16), Score(16, 16), Score(0, 16))
    assert neither.off == Score(16, 16)


def test_a_leak_is_listed_with_what_was_said(start):
    leak = next(row for row in rows(start(leaks=True), "namespaces") if row.goal == "none")
    assert leak.memory == Score(36, 36)
    assert leak.cases[0].question == "What does my bank card end with?"


def test_an_answer_that_needs_no_memory_is_no_leak(start, monkeypatch):
    monkeypatch.setattr("fake_server._say", lambda *_: "Look in the attic or the chimney.")
    leak = next(row for row in rows(start(remembers=False), "namespaces") if row.goal == "none")
    assert leak.memory.count == 0


def test_an_output_that_differs_is_compared_by_token_ids(start):
    identical = rows(start(altered_output=True), "unrelated")[-1]
    assert (identical.memory, identical.met, identical.note) == (Score(0, 6), False, "")


def test_without_token_ids_texts_are_compared(start):
    identical = rows(start(refuses_extras=True), "unrelated")[-1]
    assert identical.met is True
    assert "texts compared" in identical.note


def test_times_with_a_recall_count_only_pairs_that_recalled(start):
    with_recall, without = rows(start(remembers=False), "first-token")
    assert with_recall.memory is None
    assert with_recall.met is None
    assert with_recall.note == "0 of 3 pairs"
    assert without.note.startswith("3 of 3 pairs")


def reply(first: float, seconds: float, recalled: int = 0) -> Reply:
    report = MemoryReport(tuple(Recalled("00", 0.3, "text") for _ in range(recalled)))
    return Reply("text", 10, 11, seconds, first, memory=report)


@pytest.mark.parametrize(("off", "met"), [(0.2, True), (0.19, False)])
def test_first_tokens_are_judged_by_the_median_ratio_of_pairs(off, met):
    pairs = [Pair(reply(0.4, 1, recalled=1), reply(off, 1)), Pair(reply(9.0, 1), reply(0.1, 1))]
    row = first_token._row("title", pairs, True, 2.0, [reply(0.3, 1)])
    assert (row.memory, row.same_prompt, row.off) == (Measure(0.4, "s"), Measure(0.3, "s"), Measure(off, "s"))
    assert row.met is met
    assert row.note.startswith("1 of 2 pairs")


@pytest.mark.parametrize(("seconds", "met"), [(3.0, True), (3.3, False)])
def test_decode_speed_is_that_behind_the_first_token(seconds, met):
    pairs = [Pair(reply(1.0, seconds, recalled=1), reply(0.5, 2.5))]
    row = decode_speed._row(pairs, [])
    assert row.off == Measure(5.0, "tokens/s")
    assert row.met is met


def test_a_wait_for_the_store_is_measured(start):
    [row] = rows(start(store_seconds=0.8), "storing")
    assert row.memory.value > 0.2
    assert "1 / 1 answered" in row.note


def test_store_size(start):
    [row] = rows(start(), "store-size")
    assert row.memory.value == pytest.approx(2.0)
    [row] = rows(start(stats=False), "store-size")
    assert (row.memory, row.note) == (None, "not reported by the server")


def test_tracebacks_are_counted_from_the_start_of_the_run(start, tmp_path):
    log = tmp_path / "server.log"
    run = start()
    log.write_text("Traceback (most recent call last)\nold\n")
    run.server_log, run.log_start_bytes = log, log.stat().st_size
    [row] = rows(run, "server-log")
    assert row.met is True
    log.write_text(log.read_text() + "ERROR\nTraceback (most recent call last):\n  new\n")
    [row] = rows(run, "server-log")
    assert (row.met, row.memory.count) == (False, 1)


@pytest.mark.parametrize("name", ["restart", "server-log"])
def test_what_cannot_be_run_is_skipped_with_a_note(start, name):
    run = start()
    run.restart = None
    [row] = rows(run, name)
    assert (row.met, row.note.split(":")[0]) == (None, "skipped")


@pytest.mark.parametrize("name", list(CHECKS))
def test_a_server_that_reports_nothing_is_not_judged_by_reports(start, name):
    for row in rows(start(reports=False, require_report=False, cold_seconds=0.05), name):
        assert "recalled" not in row.title or row.met is not True or name == "namespaces"
        assert all(case.recalled in (None, ()) for case in row.cases)


@pytest.mark.parametrize("name", list(CHECKS))
def test_without_the_memory_field_there_is_no_off_column(start, name):
    run = start(memory_field=False, refuses_memory=True)
    assert all(row.off is None for row in rows(run, name))
    assert all("memory" not in body for body in run.fake.requests)
