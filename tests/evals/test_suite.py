"""The suite as a whole: order, errors, the table, the command line."""

import json
import re

import msgspec
import pytest
from fake_server import Behaviour, FakeServer
from typer.testing import CliRunner

from sglang_v14.evals.functional import report
from sglang_v14.evals.functional.__main__ import app
from sglang_v14.evals.functional.checks import CHECKS
from sglang_v14.evals.functional.client import (
    ChatClient,
    Memory,
    MemoryUnavailable,
    NotAChatServer,
    RequestRefused,
    ServerUnreachable,
    memory_report,
)
from sglang_v14.evals.functional.plan import FULL
from sglang_v14.evals.functional.preflight import examine
from sglang_v14.evals.functional.result import Measure, Result, Row, Score
from sglang_v14.evals.functional.suite import run_checks


def invoke(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


def test_rows_come_in_the_suites_order(start):
    result = run_checks(start(), ["two-steps", "facts"])
    assert [row.check for row in result.rows] == ["facts", "two-steps"]
    assert result.stopped is None


def test_an_unknown_check_is_refused_before_anything_is_asked(start):
    run = start()
    asked = len(run.fake.requests)
    with pytest.raises(KeyError):
        run_checks(run, ["facts", "nonsense"])
    assert len(run.fake.requests) == asked


def test_a_refused_request_fails_its_check_only(start):
    run = start()
    run.fake.broken = True
    result = run_checks(run, ["facts", "two-steps"])
    assert [(row.check, row.met) for row in result.rows] == [("facts", False), ("two-steps", False)]
    assert "the engine has died" in result.rows[0].note
    assert result.stopped is None


def test_a_server_that_is_gone_ends_the_run_with_the_rows_so_far(start, monkeypatch):
    run = start()

    def gone(run):
        raise ServerUnreachable("no server answers")

    monkeypatch.setitem(CHECKS, "unrelated", gone)
    result = run_checks(run, ["facts", "unrelated", "two-steps"])
    assert [(row.check, row.met) for row in result.rows] == [("facts", True), ("unrelated", False)]
    assert result.stopped == "in check unrelated: no server answers"


def test_one_namespace_for_everything_on_request(start):
    run = start()
    assert run.memory("facts") != run.memory("two-steps")
    run._shared_namespace = True
    assert run.memory("facts") == run.memory("two-steps")


def result_of(*rows: Row) -> Result:
    return Result("http://x", "m", "2030-01-01", FULL, 1.0, "n", rows)


def test_the_table():
    row = Row("facts", "Facts | told", Score(3, 4), Score(4, 4), None, "all", False, "a\nnote")
    text = report.markdown(result_of(row, Row("storing", "Wait", Measure(0.1234, "s"))), quick=True)
    assert "quick slice" in text
    assert "| Facts \\| told | 3 / 4 | 4 / 4 | - | all | **no** | a note |" in text
    assert "| Wait | 0.123 s | - | - | - | - |  |" in text


@pytest.mark.parametrize(
    ("value", "text"), [(0.0123, "0.012 s"), (1.234, "1.23 s"), (12.34, "12.3 s"), (1234.5, "1,234 s")]
)
def test_measures_are_shown_with_three_digits(value, text):
    assert str(Measure(value, "s")) == text


def test_json_holds_everything(start):
    result = run_checks(start(), ["facts"])
    assert report.from_json(report.to_json(result)) == result
    with pytest.raises(msgspec.ValidationError):
        report.from_json(b"{}")


def test_required_checks_must_be_met():
    met, missed = Row("facts", "a", goal="g", met=True), Row("storing", "b", goal="g", met=False)
    unknown, without = Row("later", "c", goal="g"), Row("two-steps", "d")
    result = result_of(met, missed, unknown, without)
    assert result.missed(["facts", "two-steps"]) == []
    assert result.missed(["facts", "storing", "later"]) == [missed, unknown]


def test_the_command_prints_a_table_and_writes_files(tmp_path):
    with FakeServer() as server:
        files = tmp_path / "out.json", tmp_path / "out.md"
        outcome = invoke(
            *("--base-url", f"{server.url}/v1/", "--checks", "facts,two-steps", "--quick"),
            *("--json", str(files[0]), "--markdown", str(files[1]), "--require", "facts"),
        )
    assert outcome.exit_code == 0, outcome.output
    assert "| Facts told in one chat, asked in another | 6 / 6 | 6 / 6 | 0 / 6 |" in outcome.output
    assert [row["check"] for row in json.loads(files[0].read_bytes())["rows"]] == ["facts", "two-steps"]
    assert files[1].read_text() in outcome.output


def test_a_missed_required_goal_is_an_exit_code():
    with FakeServer(Behaviour(remembers=False)) as server:
        arguments = ("--base-url", server.url, "--checks", "facts", "--quick")
        assert invoke(*arguments).exit_code == 0
        outcome = invoke(*arguments, "--require", "facts")
    assert outcome.exit_code == 1
    assert "goal missed: Facts told in one chat" in outcome.output


def test_a_restart_command_is_run_and_must_succeed(tmp_path):
    done = tmp_path / "done"
    with FakeServer() as server:
        arguments = ("--base-url", server.url, "--checks", "restart", "--quick", "--restart-command")
        assert invoke(*arguments, f"touch {done}").exit_code == 0
        assert done.exists()
        outcome = invoke(*arguments, "echo no such unit >&2; exit 5")
    assert outcome.exit_code == 2
    assert "the restart command ended with 5: no such unit" in outcome.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--checks", "fact"), "no check is called fact"),
        (("--extra-body", "{"), "is not JSON"),
        (("--extra-body", "[]"), "must be a JSON object"),
    ],
)
def test_wrong_options_are_named(arguments, message):
    outcome = invoke(*arguments)
    assert outcome.exit_code == 2
    assert message in re.sub(r"\s*│\s*", " ", outcome.output)


def error_of(url: str, **options) -> Exception:
    client = ChatClient(url, timeout_seconds=5)
    with pytest.raises(Exception) as caught:
        examine(client, **options)
    return caught.value


def test_nobody_listens():
    with FakeServer() as server:
        url = server.url
    error = error_of(url)
    assert isinstance(error, ServerUnreachable)
    assert url in str(error)
    outcome = invoke("--base-url", url)
    assert (outcome.exit_code, "no server answers" in outcome.output) == (2, True)


def test_another_path():
    with FakeServer() as server:
        error = error_of(f"{server.url}/elsewhere")
    assert isinstance(error, NotAChatServer)
    assert "is http://127.0.0.1" in str(error)


def test_the_memory_field_is_refused():
    with FakeServer(Behaviour(refuses_memory=True)) as server:
        error = error_of(server.url)
    assert isinstance(error, MemoryUnavailable)
    assert "unknown field memory" in str(error)
    assert "--memory absent" in str(error)


def test_no_memory_is_reported():
    with FakeServer(Behaviour(reports=False)) as server:
        assert "SGLANG_V14_MEMORY=0" in str(error_of(server.url))
        assert examine(ChatClient(server.url), require_report=False).memory_reports is False


def test_extras_are_only_used_where_they_are_known():
    with FakeServer() as server:
        abilities = examine(ChatClient(server.url))
        assert (abilities.token_ids, abilities.ignore_eos, abilities.memory_reports) == (True, True, True)
    with FakeServer(Behaviour(refuses_extras=True)) as server:
        abilities = examine(ChatClient(server.url))
        assert (abilities.token_ids, abilities.ignore_eos) == (False, False)


def test_nothing_is_stored_by_looking():
    with FakeServer() as server:
        examine(ChatClient(server.url))
        assert server.stored == []


def test_a_refusal_says_what_the_server_said():
    with (
        FakeServer(Behaviour(refuses_memory=True)) as server,
        pytest.raises(RequestRefused, match="400: unknown field"),
    ):
        ChatClient(server.url).stream("Hello", memory=Memory("a"), max_tokens=1)


def test_a_report_stands_in_the_response_or_in_its_choice():
    report_ = {"recalled": [{"event": "ab", "vote": 1, "text": "t", "bias": 0.0}], "readings": 2, "best_votes": []}
    whole = memory_report({"choices": [{}], "sglext": {"memory": report_}})
    assert whole == memory_report({"choices": [{"sglext": {"memory": report_}}]})
    assert (whole.recalled[0].text, whole.readings) == ("t", 2)
    assert memory_report({"choices": [{"sglext": None}]}) is None
    assert memory_report({"choices": []}) is None


def test_a_report_of_another_shape_is_not_taken_for_silence():
    with pytest.raises(NotAChatServer, match="unknown shape"):
        memory_report({"sglext": {"memory": {"recalled": 3}}})
