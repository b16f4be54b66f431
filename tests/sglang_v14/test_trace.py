"""What is logged of a decision, and what a client gets of it."""

from __future__ import annotations

import json
import logging
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from told import event

from sglang_v14.options import RequestMemory
from sglang_v14.prompt import PromptPlan
from sglang_v14.recall import NOTHING, Decision, Recalled
from sglang_v14.request import MemoryRequest
from sglang_v14.trace import Trace

FAR, NEAR = event(1, 1), event(2, 2)
DECISION = Decision((Recalled(FAR, 0.51239, -1.5, "cue"), Recalled(NEAR, 0.9)), ((NEAR, 0.9), (FAR, 0.3)))


class Words:
    """A tokenizer whose tokens are words."""

    def decode(self, token_ids: list[int]) -> str:
        return " ".join(f"wört{token}" for token in token_ids)


def engine_request(tokenizer: Any = None) -> Any:
    return SimpleNamespace(rid="0123456789abcdef", tokenizer=tokenizer, customized_info=None)


def request(*, report: bool = False, decision: Decision = DECISION) -> MemoryRequest:
    plan = PromptPlan(0, (), 0, 0, ())
    memory = RequestMemory(namespace="älice", report=report)
    return MemoryRequest(memory, (), plan, (), torch.empty(0), decision=decision)


def test_json_lines(caplog: pytest.LogCaptureFixture) -> None:
    """One object a decision, the nearest event first."""
    with caplog.at_level(logging.INFO, "sglang_v14.trace"):
        Trace("json").decided(engine_request(Words()), request(), "prompt", 0.0123, 0.004)
    (record,) = caplog.records
    line = json.loads(record.getMessage())
    assert (line["request"], line["namespace"], line["on"]) == ("0123456789abcdef", "älice", "prompt")
    assert (line["reading_ms"], line["vote_ms"]) == (12.3, 4.0)
    assert [one["event"] for one in line["recalled"]] == [NEAR.id.hex(), FAR.id.hex()]
    assert line["recalled"][1] == {
        "event": FAR.id.hex(),
        "vote": 0.5124,
        "bias": -1.5,
        "found_by": "cue",
        "text": "wört100 wört101 wört102 wört103",
    }
    assert [one["vote"] for one in line["best_votes"]] == [0.9, 0.3]


def test_text(caplog: pytest.LogCaptureFixture) -> None:
    """A line for people, with long texts cut and line breaks gone; nothing recalled is said so."""
    long = SimpleNamespace(decode=lambda ids: "a\nb " + "x" * 200)
    with caplog.at_level(logging.INFO, "sglang_v14.trace"):
        Trace("text").decided(engine_request(long), request(), "answer", 0.0, 0.0)
        Trace("text").decided(engine_request(), request(decision=NOTHING), "prompt", 0.0, 0.0)
    recalled, nothing = (record.getMessage() for record in caplog.records)
    assert "01234567 [älice] answer" in recalled
    assert f"0.90 “a b {'x' * 76}…” by prompt" in recalled
    assert "\n" not in recalled
    assert "recalled nothing | best votes: none" in nothing


def test_off(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is logged and nothing decoded."""
    with caplog.at_level(logging.INFO, "sglang_v14.trace"):
        req = engine_request(SimpleNamespace(decode=None))
        Trace("off").decided(req, request(), "prompt", 0.0, 0.0)
    assert not caplog.records
    assert req.customized_info is None


def test_report(caplog: pytest.LogCaptureFixture) -> None:
    """A client that asks gets it with the log off, beside what is there, and later decisions change the same report."""
    req, told = engine_request(Words()), request(report=True, decision=NOTHING)
    req.customized_info = {"other": [1]}
    trace = Trace("off")
    trace.decided(req, told, "prompt", 0.0, 0.0)
    assert req.customized_info["other"] == [1]
    (report,) = req.customized_info["memory"]
    assert report["recalled"] == []
    told.decision = DECISION
    trace.decided(req, told, "answer", 0.0, 0.0)
    assert req.customized_info["memory"] == [report]
    assert [one["event"] for one in report["recalled"]] == [NEAR.id.hex(), FAR.id.hex()]
    json.dumps(report)
    assert not caplog.records
