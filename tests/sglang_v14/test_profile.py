"""Sums of seconds by section."""

from __future__ import annotations

import logging
import re

import pytest

from sglang_v14 import profile as profile_module
from sglang_v14.profile import Profile


def test_sections_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    """Calls add up, also of a section that failed; nested sections count in both; a report begins anew."""
    profile = Profile(enabled=True)
    for _ in range(3):
        with profile.section("outer"), profile.section("inner"):
            pass
    with pytest.raises(KeyError), profile.section("outer"):
        raise KeyError
    with caplog.at_level(logging.INFO, "sglang_v14"):
        profile.report()
        profile.report()
    first, second = (record.getMessage() for record in caplog.records)
    assert re.search(r"inner \d\.\d{3} s / 3, outer \d\.\d{3} s / 4", first)
    assert second.endswith("nothing yet")


def test_reports_come_by_themselves(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """When their time has come."""
    monkeypatch.setattr(profile_module, "_REPORT_SECONDS", 0.0)
    with caplog.at_level(logging.INFO, "sglang_v14"), Profile(enabled=True).section("a"):
        pass
    assert "a 0.000 s / 1" in caplog.text


def test_disabled(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is counted or logged."""
    monkeypatch.setattr(profile_module, "_REPORT_SECONDS", 0.0)
    profile = Profile(enabled=False)
    with caplog.at_level(logging.INFO, "sglang_v14"), profile.section("a"):
        pass
    assert not caplog.records
    assert not profile._calls
