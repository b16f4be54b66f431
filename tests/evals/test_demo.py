"""The demonstration, from telling to the restart, on the fake server."""

import json
import socket
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sglang_v14.evals import demo

FAKE = str(Path(__file__).with_name("served_fake.py"))


def run_demo(tmp_path, monkeypatch, **behaviour):
    def command(model, port):
        return [sys.executable, FAKE, str(port), json.dumps(behaviour)]

    monkeypatch.setattr(demo, "serve_command", command)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = tmp_path / "home"
    arguments = ["--model", str(tmp_path), "--memory-home", str(home), "--port", str(port)]
    return CliRunner().invoke(demo.app, [*arguments, "--log", str(tmp_path / "log")])


def test_a_working_memory(tmp_path, monkeypatch):
    outcome = run_demo(tmp_path, monkeypatch)
    assert outcome.exit_code == 0, outcome.output
    assert "told: My dog is called Rumba." in outcome.output
    assert "Asked in new chats" in outcome.output
    assert "Asked again after a restart" in outcome.output
    assert outcome.output.count("0.30") == 12
    assert "Paris" in outcome.output


@pytest.mark.parametrize("behaviour", [{"remembers": False}, {"forgets_on_restart": True}, {"answers_unasked": True}])
def test_a_memory_that_does_not_work(tmp_path, monkeypatch, behaviour):
    outcome = run_demo(tmp_path, monkeypatch, **behaviour)
    assert outcome.exit_code == 1
    assert "The memory did not work" in outcome.output


def test_a_server_without_memory(tmp_path, monkeypatch):
    outcome = run_demo(tmp_path, monkeypatch, reports=False)
    assert outcome.exit_code == 1
    assert "without reporting a memory" in outcome.output


def test_a_server_that_does_not_start(tmp_path, monkeypatch):
    outcome = run_demo(tmp_path, monkeypatch, no_such_field=True)
    assert outcome.exit_code == 1
    assert "while starting" in outcome.output
    assert "no_such_field" in outcome.output
