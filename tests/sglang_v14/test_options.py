"""Options, environment and requests: what is wrong is named."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from memory_store.keys import MAX_NAMESPACE_BYTES
from sglang_v14.options import (
    NAMESPACE_MAX_BYTES,
    Environment,
    MemoryOptions,
    OptionError,
    RequestMemory,
    as_json,
    memory_options,
    request_memory,
)

SOURCE = "/models/m/config.json"


def test_defaults_and_a_whole_section() -> None:
    """An empty section is complete, and one goes through JSON unchanged."""
    assert memory_options({}, source=SOURCE) == MemoryOptions()
    section = {
        "version": 1,
        "markers": {"user": {"start": [1, 2], "end": [3]}, "assistant": {"start": [4]}},
        "begin": [0],
        "voting_heads": [[0, 1], [3, 2]],
        "question_ends": [30],
        "neutral_bank": ["A text."],
        "recall_floor": 0.25,
        "recall_while_decoding": False,
    }
    options = memory_options(section, source=SOURCE)
    assert options.voting_heads == ((0, 1), (3, 2))
    assert options.markers["user"].end == (3,)
    assert options.recall_while_decoding is False
    assert memory_options(json.loads(json.dumps(as_json(options))), source=SOURCE) == options


FAULTS: list[tuple[str, Any]] = [
    ("version", 2),
    ("markers", [1]),
    ("begin", "a"),
    ("remember_assistant", "perhaps"),
    ("question_ends", 3),
    ("sentence_ends", ["x"]),
    ("event_tokens", 7),
    ("event_tokens", 1025),
    ("event_tokens", 12.5),
    ("boundaries", "surprise"),
    ("voting_heads", [[0]]),
    ("voting_heads", [[0, -1]]),
    ("voting_heads", [[0, 1], [2, 0], [0, 1]]),
    ("vote_top_heads", 0),
    ("vote_gap_tokens", -1),
    ("vote_tokens", 0),
    ("neutral_bank", [1]),
    ("recall_floor", 1.5),
    ("recall_floor", math.nan),
    ("recall_ratio", -0.1),
    ("recall_ratio", math.nan),
    ("max_events", 0),
    ("max_events", 65),
    ("max_recalled_tokens", 7),
    ("max_recalled_tokens", 127),
    ("cue_floor", "much"),
    ("cue_floor", math.nan),
    ("cue_tokens", 0),
    ("recall_gap_tokens", -1),
    ("bank_bias", -21),
    ("bank_bias", math.nan),
    ("recall_bias", 21),
    ("recall_bias", math.nan),
    ("cue_bias", -1),
    ("cue_bias", math.nan),
    ("correction_overlap", 2),
    ("correction_overlap", math.nan),
    ("correction_bias", math.inf),
    ("correction_bias", math.nan),
    ("reread_tokens", 15),
    ("max_readings", 1),
    ("max_readings", 4),
    ("recall_while_decoding", None),
    ("engram_rank", -1),
    ("engram_components", 0.0),
    ("engram_components", math.nan),
    ("engram_dtype", "int2"),
    ("engram_carry_rank", -1),
    ("engram_convolution", None),
    ("engram_place", "behind"),
    ("recall_into", "nothing"),
    ("no_such_option", 1),
]


@pytest.mark.parametrize(("field", "value"), FAULTS)
def test_a_wrong_field_is_named(field: str, value: Any) -> None:
    """The error names the field and the file."""
    with pytest.raises(OptionError) as error:
        memory_options({field: value}, source=SOURCE)
    assert field in str(error.value)
    assert SOURCE in str(error.value)


def test_every_field_has_a_wrong_value_here() -> None:
    """A new option comes with a test of its validation."""
    fields = {field for field, _ in FAULTS} - {"no_such_option"}
    assert fields == set(MemoryOptions.__struct_fields__)


@pytest.mark.parametrize(
    ("marker", "field"), [({"start": []}, "start"), ({"end": [1]}, "start"), ({"start": [1], "stop": [2]}, "stop")]
)
def test_wrong_markers(marker: dict[str, Any], field: str) -> None:
    """A role needs a start, and nothing but a start and an end."""
    with pytest.raises(OptionError, match=field):
        memory_options({"markers": {"user": marker}}, source=SOURCE)


@pytest.mark.parametrize("section", [None, [], "on", 1])
def test_no_section(section: object) -> None:
    """A plain checkpoint's config is no V14 directory's."""
    with pytest.raises(OptionError, match=r"config\.json"):
        memory_options(section, source=SOURCE)


# Environment


def test_environment_defaults() -> None:
    """Nothing set."""
    assert Environment.read({}) == Environment()
    assert Environment().memory_home == Path("/memory")


def test_environment() -> None:
    """Everything set."""
    found = Environment.read(
        {
            "SGLANG_V14_MEMORY": " Off ",
            "SGLANG_V14_MEMORY_HOME": "/data/m",
            "SGLANG_V14_MAX_BUFFER_GB": "1.5",
            "SGLANG_V14_PROFILE": "1",
            "SGLANG_V14_TRACE": "JSON",
        }
    )
    assert found == Environment(
        memory=False, memory_home=Path("/data/m"), max_buffer_gb=1.5, profile=True, trace="json"
    )


def test_environment_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a mapping the process's own variables count."""
    monkeypatch.setenv("SGLANG_V14_MEMORY_HOME", "/elsewhere")
    assert Environment.read().memory_home == Path("/elsewhere")


@pytest.mark.parametrize(
    ("text", "style"), [("0", "off"), ("false", "off"), ("", "off"), ("1", "text"), ("true", "text")]
)
def test_trace(text: str, style: str) -> None:
    """Off unless something is said."""
    assert Environment.read({"SGLANG_V14_TRACE": text}).trace == style


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SGLANG_V14_MEMORY", "2"),
        ("SGLANG_V14_PROFILE", "perhaps"),
        ("SGLANG_V14_TRACE", "xml"),
        ("SGLANG_V14_MAX_BUFFER_GB", ""),
        ("SGLANG_V14_MAX_BUFFER_GB", "24 GB"),
        ("SGLANG_V14_MAX_BUFFER_GB", "0"),
        ("SGLANG_V14_MAX_BUFFER_GB", "-1"),
        ("SGLANG_V14_MAX_BUFFER_GB", "inf"),
        ("SGLANG_V14_MAX_BUFFER_GB", "nan"),
    ],
)
def test_a_wrong_variable_is_named(name: str, value: str) -> None:
    """The error names the variable and what it holds."""
    with pytest.raises(OptionError) as error:
        Environment.read({name: value})
    assert name in str(error.value)
    assert repr(value) in str(error.value)


# Requests


def test_request_defaults() -> None:
    """No field and an empty one are the same."""
    assert request_memory(None) == request_memory({}) == RequestMemory(namespace="default", mode="on", report=False)


@pytest.mark.parametrize(
    ("mode", "reads", "writes"),
    [("on", True, True), ("read", True, False), ("write", False, True), ("off", False, False)],
)
def test_modes(mode: str, reads: bool, writes: bool) -> None:
    """What each mode does."""
    memory = request_memory({"namespace": "alice", "mode": mode})
    assert (memory.reads, memory.writes) == (reads, writes)


@pytest.mark.parametrize(
    ("field", "named"),
    [
        ({"mode": "ON"}, "mode"),
        ({"mode": True}, "mode"),
        ({"mode": None}, "mode"),
        ({"namespace": 5}, "namespace"),
        ({"namespace": None}, "namespace"),
        ({"namespace": ["alice"]}, "namespace"),
        ({"namespace": ""}, "namespace"),
        ({"namespace": "n" * 201}, "201 bytes"),
        ({"namespace": "ü" * 101}, "202 bytes"),
        ({"namespace": "\ud800"}, "Unicode"),
        ({"report": 1}, "report"),
        ({"user": "alice"}, "user"),
        ([], "`memory`"),
        ("alice", "`memory`"),
        (True, "`memory`"),
        (0, "`memory`"),
    ],
)
def test_a_wrong_request_is_named(field: object, named: str) -> None:
    """The client reads what is wrong."""
    with pytest.raises(OptionError) as error:
        request_memory(field)
    assert named in str(error.value)
    assert "memory" in str(error.value)


def test_the_longest_namespace() -> None:
    """As many bytes as the store's keys take."""
    assert request_memory({"namespace": "ü" * 100}).namespace == "ü" * 100
    assert NAMESPACE_MAX_BYTES == MAX_NAMESPACE_BYTES


@pytest.mark.parametrize("field", [{"mode": "\ud800"}, {"\ud800": 1}])
def test_surrogates_anywhere(field: dict[str, Any]) -> None:
    """JSON can spell a lone surrogate anywhere; it is the client's fault and not the server's."""
    with pytest.raises(OptionError):
        request_memory(field)
