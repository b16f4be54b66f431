"""Options of the memory that a directory is made with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from sglang_v14.options import memory_options
from sglang_v14.upgrade.command import upgrade
from sglang_v14.upgrade.errors import UpgradeError
from sglang_v14.upgrade.set_options import FOUND, parse

APP = typer.Typer()
APP.command()(upgrade)


def test_parsed() -> None:
    given = ["recall_floor=0.2", "max_events=2", "recall_into=attention", "engram_convolution=true"]
    parsed = parse(given)
    assert parsed == {
        "recall_floor": 0.2,
        "max_events": 2,
        "recall_into": "attention",
        "engram_convolution": True,
    }
    assert parse(()) == {}


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (["recall_floor"], "NAME=VALUE"),
        (["recal_floor=0.2"], "no option 'recal_floor'"),
        (["recall_floor=2"], "recall_floor"),
        (["recall_floor=much"], "recall_floor"),
        (["recall_floor=NaN"], "recall_floor"),
        (["recall_floor="], "recall_floor"),
        (["max_events=3", "max_events=4"], "set twice"),
        (["max_recalled_tokens=64"], "max_recalled_tokens"),
        *(([f"{name}=1"], "finds") for name in FOUND),
    ],
)
def test_refused(given: list[str], complaint: str) -> None:
    with pytest.raises(UpgradeError, match=complaint):
        parse(given)


def test_order_does_not_matter() -> None:
    """Options that go together are taken in either order."""
    together = ["max_recalled_tokens=64", "event_tokens=32"]
    assert parse(together) == parse(together[::-1])


def test_a_directory(tiny_llama: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = [str(tiny_llama), str(out), "--no-calibration"]
    done = CliRunner().invoke(APP, [*arguments, "--set", "recall_floor=0.2", "--set", "max_events=2"])
    assert done.exit_code == 0, done.output
    options = memory_options(json.loads((out / "config.json").read_text())["memory"], source="it")
    assert (options.recall_floor, options.max_events, options.cue_floor) == (0.2, 2, 0.17)
    refused = CliRunner().invoke(APP, [str(tiny_llama), str(tmp_path / "other"), "--set", "recall_floor=2"])
    assert refused.exit_code == 2 and not (tmp_path / "other").exists()
