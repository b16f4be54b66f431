"""The `sglang-v14 upgrade` command."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from .check import check_directory
from .directory import Report, Settings, make_directory
from .errors import UpgradeError
from .gguf_checkpoint import DTYPE_BYTES
from .linking import Link
from .set_options import parse

_USER_ERROR = 2


def upgrade(
    checkpoint: Annotated[Path | None, typer.Argument(help="Checkpoint directory (safetensors) or GGUF file.")] = None,
    out: Annotated[Path | None, typer.Argument(help="The V14 directory to make; must not exist or be empty.")] = None,
    link: Annotated[Link, typer.Option(help="How safetensors weights get into the new directory.")] = Link.HARDLINK,
    dtype: Annotated[
        str | None,
        typer.Option(help="float32, float16 or bfloat16. Default: the checkpoint's own; float32 for a GGUF file."),
    ] = None,
    heads: Annotated[int, typer.Option(min=1, max=1024, help="How many voting heads are kept at the most.")] = 32,
    calibration: Annotated[bool, typer.Option(help="Find the voting heads now (loads the model).")] = True,
    seed: Annotated[int, typer.Option(help="Seed of the calibration's random tokens.")] = 0,
    options: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="An option of the memory, as recall_floor=0.2; repeatable."),
    ] = None,
    check: Annotated[Path | None, typer.Option(help="Check this V14 directory instead of making one.")] = None,
) -> None:
    """Turn a checkpoint into a V14 model directory: weights, tokenizer, and the options of the memory."""
    console = Console(stderr=True)
    _settle_libraries()
    try:
        if check is not None:
            if checkpoint is not None:
                raise UpgradeError("--check takes the V14 directory alone.")
            notes = check_directory(check)
            console.print(f"{check} is in order: {notes}.", highlight=False, soft_wrap=True)
            return
        if checkpoint is None or out is None:
            raise UpgradeError("Give the checkpoint and the directory to make.")
        if dtype is not None and dtype not in DTYPE_BYTES:
            raise UpgradeError(f"--dtype is {dtype!r}; it may be {', '.join(DTYPE_BYTES)}.")
        settings = Settings(link, dtype, calibration, heads, seed, parse(options or ()))
        report = _run(checkpoint, out, settings, console)
    except UpgradeError as error:
        console.print(str(error), style="red", highlight=False, markup=False, soft_wrap=True)
        raise typer.Exit(_USER_ERROR) from None
    except OSError as error:
        # A full disk or a permission that changed meanwhile: the system's own sentence names the file.
        console.print(f"The upgrade failed: {error}.", style="red", highlight=False, markup=False, soft_wrap=True)
        raise typer.Exit(_USER_ERROR) from None
    _print_report(report, out, console)


def _settle_libraries() -> None:
    """Settings that torch, tqdm and Transformers read when they are first imported; what the user has set is kept."""
    # Threads that spin at OpenMP's barriers make a calibration ten times slower where cores are shared.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # There is one progress bar, ours.
    os.environ.setdefault("TQDM_DISABLE", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")


def _run(checkpoint: Path, out: Path, settings: Settings, console: Console) -> Report:
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with _terminable(), Progress(*columns, console=console) as progress:
        task = progress.add_task("checking the checkpoint", total=None)

        def say(text: str) -> None:
            progress.update(task, description=text, total=None, completed=0)

        def advance(done: int, total: int) -> None:
            progress.update(task, total=total, completed=done)

        return make_directory(checkpoint, out, settings, say, advance)


def _print_report(report: Report, out: Path, console: Console) -> None:
    console.print(f"{out} is ready: {report.architecture}", highlight=False, soft_wrap=True)
    console.print(f"  markers: {', '.join(report.roles) or 'none (no chat template)'}", highlight=False)
    if report.calibration is None:
        console.print(f"  voting heads: not calibrated, since {report.skipped}", style="yellow", highlight=False)
    else:
        best = ", ".join(f"{head.layer}.{head.head} ({head.margin:+.2f})" for head in report.calibration.heads[:8])
        seconds = report.calibration.seconds
        console.print(
            f"  voting heads: {len(report.calibration.heads)} in {seconds:.0f} s, best {best}", highlight=False
        )
    console.print(f"  serve it: sglang-v14 serve --model-path {out}", highlight=False, soft_wrap=True)


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM end the upgrade as an exception, so that what was begun is removed."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
