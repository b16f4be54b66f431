"""`--set NAME=VALUE`: options of the memory that a directory is made with."""

import json
from collections.abc import Sequence
from typing import Any

from sglang_v14.options import MemoryOptions, OptionError, memory_options

from .errors import UpgradeError

FOUND = ("version", "voting_heads", "neutral_bank", "markers", "begin", "question_ends", "sentence_ends")
"""What an upgrade finds itself."""


def parse(assignments: Sequence[str]) -> dict[str, Any]:
    """The options of assignments such as `recall_floor=0.2`.

    Raises `UpgradeError` that names the assignment and what is wrong with it.
    """
    options: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals:
            raise UpgradeError(f"--set takes NAME=VALUE, not {assignment!r}.")
        if name in FOUND:
            raise UpgradeError(f"--set {assignment}: the upgrade itself finds `{name}`.")
        if name not in MemoryOptions.__struct_fields__:
            raise UpgradeError(f"--set {assignment}: there is no option {name!r}; docs/options.md lists them.")
        if name in options:
            raise UpgradeError(f"--set {assignment}: `{name}` is set twice.")
        options[name] = _value(text)
    try:
        memory_options(options, source="--set")
    except OptionError as error:
        raise UpgradeError(str(error)) from error
    return options


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
