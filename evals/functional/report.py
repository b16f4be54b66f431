"""The result as a Markdown table and as JSON."""

import msgspec

from .result import Cell, Result, Row

_HEAD = "| Check | Memory | Fact in the same prompt | Memory off | Goal | Met | Note |"
_RULE = "|---|---|---|---|---|---|---|"
_MET = {True: "yes", False: "**no**", None: "-"}


def markdown(result: Result, *, quick: bool = False) -> str:
    """The table, below a line that says what was measured where and when."""
    kind = "quick slice" if quick else "full suite"
    lines = [
        f"Model `{result.model}`, {result.date}, {kind}, {result.seconds:.0f} s.",
        "",
        _HEAD,
        _RULE,
        *(_line(row) for row in result.rows),
    ]
    if result.stopped:
        lines += ["", f"**Stopped early:** {result.stopped}"]
    return "\n".join(lines) + "\n"


def to_json(result: Result) -> bytes:
    """The whole result with every question and reply, indented."""
    return msgspec.json.format(msgspec.json.encode(result), indent=2)


def from_json(data: bytes) -> Result:
    """The inverse of `to_json`. Raises msgspec.DecodeError or ValidationError."""
    return msgspec.json.decode(data, type=Result)


def _line(row: Row) -> str:
    cells = [row.title, *(_cell(cell) for cell in (row.memory, row.same_prompt, row.off))]
    cells += [row.goal or "-", _MET[row.met], row.note]
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _cell(cell: Cell | None) -> str:
    return "-" if cell is None else str(cell)
