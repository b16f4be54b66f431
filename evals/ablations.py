"""``python -m sglang_v14.evals.ablations MODEL``: what each part of a hybrid's recall is worth, and costs.

Each variant is the V14 directory with some options changed, served with an empty memory and examined with the
functional suite. The texts are those of the tiny hybrid.
"""

import json
import socket
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console

from ..engrams.engram import EngramForm
from ..options import MemoryOptions
from .functional.client import ChatClient
from .functional.plan import FULL
from .functional.preflight import examine
from .functional.result import Result, Score
from .functional.run import Run
from .functional.suite import run_checks
from .functional.texts import Texts
from .server import Server, serve_command
from .tiny_hybrid.suite_texts import suite

CHECKS = ("facts", "paraphrases", "corrections", "two-steps")
_REPLY_TOKENS = 40
# 48 Gated DeltaNet layers with 48 heads of 128 x 128, convolutions of width 4 over 10,240 channels.
_LARGE = {"layers": 48, "heads": 48, "value_dim": 128, "key_dim": 128, "window": 3 * 10_240}


def _engram(rank: int, dtype: str = "int8") -> dict[str, Any]:
    return {"engram_rank": rank, "engram_components": float(rank), "engram_dtype": dtype}


VARIANTS: dict[str, dict[str, Any]] = {
    "as served": {},
    "attention only": {"recall_into": "attention"},
    "states only": {"recall_into": "states", **_engram(16)},
    "both, rank 1": _engram(1),
    "both, rank 2": _engram(2),
    "both, rank 4": _engram(4),
    "both, rank 8": _engram(8),
    "both, rank 16": _engram(16),
    "both, rank 4, int4": _engram(4, "int4"),
    "both, rank 4, window kept": {**_engram(4), "engram_convolution": True},
    "both, rank 4, carry of rank 4": {**_engram(4), "engram_carry_rank": 4},
    "both, rank 4, in front of the header": {**_engram(4), "engram_place": "prompt"},
}

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    model: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="A V14 directory of the tiny hybrid.")],
    markdown: Annotated[Path | None, typer.Option(help="Write the table.")] = None,
    texts_seed: Annotated[int, typer.Option(help="Of the texts.")] = 1,
    variants: Annotated[str, typer.Option(help="Separated by semicolons; default: all.")] = "",
) -> None:
    """Serve every variant on the CPU, run the suite, print the table (about two minutes a variant)."""
    console, texts = Console(stderr=True), suite(texts_seed)
    names = [name.strip() for name in variants.split(";") if name.strip()] or list(VARIANTS)
    if unknown := [name for name in names if name not in VARIANTS]:
        raise typer.BadParameter(f"no variant is called {', '.join(unknown)}; there are {'; '.join(VARIANTS)}")
    lines = _head(model, texts_seed)
    with tempfile.TemporaryDirectory(prefix="sglang-v14-ablations-") as scratch:
        for number, name in enumerate(names):
            console.print(f"{name} …", highlight=False)
            result, event_bytes = _examine(model, VARIANTS[name], texts, Path(scratch) / str(number))
            lines.append(_line(name, model, VARIANTS[name], result, event_bytes))
            console.print(lines[-1], highlight=False)
    table = "\n".join(lines) + "\n"
    print(table)
    if markdown:
        markdown.write_text(table)


def _examine(model: Path, changes: Mapping[str, Any], texts: Texts, scratch: Path) -> tuple[Result, float]:
    """The suite's result for a variant, and how many bytes an event took in its store."""
    directory = _variant(model, changes, scratch / "model")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    environment = {"SGLANG_V14_MEMORY_HOME": str(scratch / "memory"), "SGLANG_V14_MEMORY": "1"}
    with Server(serve_command(directory, port), port=port, log=scratch / "log", environment=environment) as server:
        client = ChatClient(server.base_url)
        abilities = examine(client)
        run = Run(client, FULL.changed(reply_tokens=_REPLY_TOKENS), texts=texts, abilities=abilities)
        result = run_checks(run, CHECKS)
        run.close()
        stats = client.store_stats()
        client.close()
    if result.stopped or stats is None:
        raise SystemExit(f"The suite stopped: {result.stopped}; the server's log is {scratch / 'log'}.")
    return result, stats.bytes / stats.events


def _variant(model: Path, changes: Mapping[str, Any], target: Path) -> Path:
    target.mkdir(parents=True)
    for file in model.iterdir():
        (target / file.name).symlink_to(file.resolve())
    config = json.loads((model / "config.json").read_text())
    config["memory"] |= changes
    (target / "config.json").unlink()
    (target / "config.json").write_text(json.dumps(config))
    return target


def _head(model: Path, texts_seed: int) -> list[str]:
    command = f"python -m sglang_v14.evals.ablations {model.name} --texts-seed {texts_seed}"
    return [
        f"`{command}`, {datetime.now(UTC).date().isoformat()}. In brackets: the fact in the same prompt.",
        "",
        "| Variant | Facts | Paraphrases | Corrections | Two steps | Bytes an event here | Engram of a 27B shape |",
        "|---|---|---|---|---|---|---|",
    ]


def _line(name: str, model: Path, changes: Mapping[str, Any], result: Result, event_bytes: float) -> str:
    cells = []
    for check in CHECKS:
        row = next(row for row in result.rows if row.check == check)
        assert isinstance(row.memory, Score) and isinstance(row.same_prompt, Score)
        cells.append(f"{row.memory} ({row.same_prompt.count})")
    section = json.loads((model / "config.json").read_text())["memory"] | changes
    options = msgspec.convert(section, MemoryOptions, strict=False)
    engram = "-" if options.recall_into == "attention" else f"{_large_engram(options) / 1000:,.0f} KB"
    return f"| {name} | {' | '.join(cells)} | {event_bytes / 1000:.1f} KB | {engram} |"


def _large_engram(options: MemoryOptions) -> int:
    form = EngramForm(
        options.engram_rank,
        options.engram_components,
        options.engram_dtype,
        options.engram_carry_rank,
        options.engram_convolution,
    )
    return form.size_bytes(**_LARGE)


if __name__ == "__main__":
    app()
