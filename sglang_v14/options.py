"""What can be set: the `memory` section of a model directory, the environment, and the `memory` field of a request."""

from __future__ import annotations

import math
import os
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

NonNegative = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]

Mode = Literal["on", "off", "read", "write"]
NAMESPACE_MAX_BYTES = 200
DEFAULT_NAMESPACE = "default"


class OptionError(ValueError):
    """An option is wrong. The message names the field, the value's fault and where the field is set."""


class Marker(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Token ids that stand directly before and after a message's content in the chat template."""

    start: tuple[int, ...]
    end: tuple[int, ...] = ()


class MemoryOptions(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The `memory` section of a V14 directory's config.json."""

    version: Literal[1] = 1

    # The chat template: see `content.find_messages`.
    markers: dict[str, Marker] = {}
    begin: tuple[int, ...] = ()
    remember_assistant: bool = False
    question_ends: frozenset[int] = frozenset()
    sentence_ends: frozenset[int] = frozenset()

    # Events.
    event_tokens: Annotated[int, Meta(ge=8, le=1024)] = 128
    boundaries: Literal["fixed"] = "fixed"

    # The vote.
    voting_heads: tuple[tuple[NonNegative, NonNegative], ...] = ()
    vote_top_heads: Positive = 8
    vote_gap_tokens: NonNegative = 48
    vote_tokens: Positive = 256
    neutral_bank: tuple[str, ...] = ()
    bank_bias: Annotated[float, Meta(ge=-20.0, le=20.0)] = 1.0

    # The recall.
    recall_floor: Share = 0.08
    recall_ratio: Share = 0.6
    recall_gap_tokens: NonNegative = 1
    recall_bias: Annotated[float, Meta(ge=-20.0, le=20.0)] = 0.3
    max_events: Annotated[int, Meta(ge=1, le=64)] = 3
    max_recalled_tokens: Annotated[int, Meta(ge=8)] = 512
    cue_floor: Share = 0.17
    cue_tokens: Positive = 24
    cue_bias: Annotated[float, Meta(ge=0.0, le=20.0)] = 0.0
    correction_overlap: Share = 0.5
    correction_bias: Annotated[float, Meta(ge=0.0, le=20.0)] = 1.5
    reread_tokens: Annotated[int, Meta(ge=16)] = 512

    # What recurrent layers keep of an event.
    engram_rank: NonNegative = 2
    engram_components: Annotated[float, Meta(gt=0.0, le=256.0)] = 0.4
    engram_dtype: Literal["float32", "float16", "int8", "int4"] = "int8"
    engram_carry_rank: NonNegative = 0
    engram_convolution: bool = False
    engram_place: Literal["content", "prompt"] = "content"
    recall_into: Literal["both", "attention", "states"] = "both"
    max_readings: Annotated[int, Meta(ge=2, le=3)] = 2
    recall_while_decoding: bool = True

    def __post_init__(self) -> None:
        if self.max_recalled_tokens < self.event_tokens:
            raise ValueError(
                f"`max_recalled_tokens` is {self.max_recalled_tokens}, less than one event (`event_tokens` is "
                f"{self.event_tokens})"
            )
        if len(set(self.voting_heads)) != len(self.voting_heads):
            raise ValueError("`voting_heads` names a head twice")
        for role, marker in self.markers.items():
            if not marker.start:
                raise ValueError(f"`markers.{role}.start` is empty")
        for name in (
            "bank_bias",
            "recall_floor",
            "recall_ratio",
            "recall_bias",
            "cue_floor",
            "cue_bias",
            "correction_bias",
            "engram_components",
        ):
            if not math.isfinite(getattr(self, name)):
                raise ValueError(f"`{name}` is not a finite number")


def memory_options(section: object, *, source: str) -> MemoryOptions:
    """Validate a `memory` section.

    Raises `OptionError` naming the field and `source`, the file that the section is from.
    """
    if section is None:
        raise OptionError(f"{source} has no `memory` section: make the directory with `sglang-v14 upgrade`.")
    try:
        return msgspec.convert(section, MemoryOptions, strict=False)
    except msgspec.ValidationError as error:
        raise OptionError(f"The `memory` section of {source} is not valid: {error}.") from error


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """The `SGLANG_V14_*` environment variables."""

    memory: bool = True
    memory_home: Path = Path("/memory")
    max_buffer_gb: float = 24.0
    profile: bool = False
    trace: Literal["off", "text", "json"] = "off"

    @classmethod
    def read(cls, environ: Mapping[str, str] | None = None) -> Environment:
        """Read the variables from `environ` (default: the process's own).

        Raises `OptionError` naming the variable.
        """
        env = os.environ if environ is None else environ
        trace = env.get("SGLANG_V14_TRACE", "0").strip().lower()
        traces: dict[str, Literal["off", "text", "json"]] = {
            "": "off", "0": "off", "false": "off", "1": "text", "true": "text", "text": "text", "json": "json",
        }  # fmt: skip
        if trace not in traces:
            raise OptionError(f"SGLANG_V14_TRACE is {trace!r}; it may be 0, 1 or json.")
        try:
            max_buffer_gb = float(env.get("SGLANG_V14_MAX_BUFFER_GB", "24"))
        except ValueError:
            max_buffer_gb = math.nan
        if not 0 < max_buffer_gb < math.inf:
            raise OptionError(
                f"SGLANG_V14_MAX_BUFFER_GB is {env['SGLANG_V14_MAX_BUFFER_GB']!r}; it must be a number above 0."
            )
        return cls(
            memory=_switch(env, "SGLANG_V14_MEMORY", default=True),
            memory_home=Path(env.get("SGLANG_V14_MEMORY_HOME") or "/memory"),
            max_buffer_gb=max_buffer_gb,
            profile=_switch(env, "SGLANG_V14_PROFILE", default=False),
            trace=traces[trace],
        )


def _switch(env: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = env.get(name, "").strip().lower()
    if text in ("1", "true", "on", "yes"):
        return True
    if text in ("0", "false", "off", "no"):
        return False
    if not text:
        return default
    raise OptionError(f"{name} is {text!r}; it must be 0 or 1.")


class RequestMemory(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The `memory` field of one request.

    `mode`: `on` reads and writes, `read` recalls without storing, `write` stores without recalling, `off` does neither.
    `report` asks for what was recalled in the response.
    """

    namespace: str = DEFAULT_NAMESPACE
    mode: Mode = "on"
    report: bool = False

    @property
    def reads(self) -> bool:
        return self.mode in ("on", "read")

    @property
    def writes(self) -> bool:
        return self.mode in ("on", "write")


def request_memory(field: object) -> RequestMemory:
    """Validate a request's `memory` field (a mapping, or None for the defaults).

    Raises `OptionError` with a message for the client.
    """
    if field is None:
        return RequestMemory()
    if not isinstance(field, Mapping):
        raise OptionError('`memory` must be an object such as {"namespace": "alice", "mode": "on"}.')
    try:
        memory = msgspec.convert(dict(field), RequestMemory)
    except msgspec.ValidationError as error:
        raise OptionError(f"`memory` is not valid: {error}.") from error
    except UnicodeEncodeError:
        raise OptionError("`memory` is not valid Unicode text.") from None
    if not memory.namespace:
        raise OptionError("`memory.namespace` is empty.")
    if any(unicodedata.category(character) == "Cc" for character in memory.namespace):
        raise OptionError("`memory.namespace` holds control characters.")
    try:
        size_bytes = len(memory.namespace.encode())
    except UnicodeEncodeError:
        raise OptionError("`memory.namespace` is not valid Unicode text.") from None
    if size_bytes > NAMESPACE_MAX_BYTES:
        raise OptionError(f"`memory.namespace` has {size_bytes} bytes; at most {NAMESPACE_MAX_BYTES} are allowed.")
    return memory


def as_json(options: MemoryOptions) -> Any:
    """The section as plain JSON values."""
    return msgspec.to_builtins(options)
