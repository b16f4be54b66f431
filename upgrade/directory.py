"""Makes a V14 model directory in a temporary directory beside the target that is renamed at the end."""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sglang_v14.architectures import native

from .card import model_card
from .checkpoint import Checkpoint, open_checkpoint
from .errors import UpgradeError
from .families import family_of, v14_architecture
from .gguf_checkpoint import DTYPE_BYTES, GgufHeader, write_checkpoint
from .linking import Link, place, require_space, total_bytes
from .neutral_bank import NEUTRAL_BANK
from .sentences import sentence_tokens
from .template import find_markers
from .voting import Calibration, calibrate

CARD = "README.md"


@dataclass(frozen=True)
class Settings:
    """How a directory is made. `dtype` None keeps the checkpoint's own (float32 for a GGUF file); `options` are those
    of the memory that differ from the family's."""

    link: Link = Link.HARDLINK
    dtype: str | None = None
    calibration: bool = True
    heads: int = 32
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """What an upgrade found. `calibration` is None when there was none, and `skipped` then says why."""

    architecture: str
    roles: tuple[str, ...]
    calibration: Calibration | None
    skipped: str = ""


def make_directory(
    source: Path,
    target: Path,
    settings: Settings,
    say: Callable[[str], None] = lambda text: None,
    advance: Callable[[int, int], None] = lambda done, total: None,
) -> Report:
    """Upgrade the checkpoint `source` (a directory or a GGUF file) to the V14 directory `target`.

    `say` is told what is being done, `advance` how far the calibration is. Raises `UpgradeError`; whatever is raised,
    the target is then as it was and nothing is left beside it. The source is only read.
    """
    gguf = _gguf_file(source)
    _check_places(gguf or source, target)
    if gguf is not None:
        header = GgufHeader(gguf)
        needed = header.parameters * DTYPE_BYTES[settings.dtype or "float32"]
        name = gguf.stem
    else:
        checkpoint = open_checkpoint(source)
        v14_architecture(checkpoint.config)
        needed = total_bytes(checkpoint.weights) if settings.link is Link.COPY else 0
        name = source.resolve().name
    target.parent.mkdir(parents=True, exist_ok=True)
    require_space(target.parent, needed + total_bytes(checkpoint.carried if gguf is None else ()))
    with _staging(target) as staging:
        if gguf is not None:
            write_checkpoint(gguf, staging, header, settings.dtype or "float32", say)
            weights = f"dequantised to {settings.dtype or 'float32'} from `{gguf.name}`"
        else:
            _carry_over(checkpoint, staging, settings, say)
            weights = f"the checkpoint's own ({settings.link.value})"
        return _upgrade(staging, name, weights, settings, say, advance)


def _upgrade(
    staging: Path,
    name: str,
    weights: str,
    settings: Settings,
    say: Callable[[str], None],
    advance: Callable[[int, int], None],
) -> Report:
    """Turn the plain checkpoint in `staging` into a V14 directory."""
    checkpoint = open_checkpoint(staging)
    say("finding the chat template's markers")
    tokenizer = load_tokenizer(staging)
    markers, begin = find_markers(tokenizer)
    calibration, skipped = None, "it was switched off"
    if settings.calibration:
        say("calibrating the voting heads")
        calibration, skipped = calibrate(
            checkpoint, tokenizer, begin, settings.heads, settings.seed, NEUTRAL_BANK, advance
        )
    if calibration is not None:
        calibration.write_bank(staging)
    question_ends, sentence_ends = sentence_tokens(tokenizer)
    memory: dict[str, Any] = {
        "version": 1,
        "voting_heads": [[head.layer, head.head] for head in calibration.heads] if calibration else [],
        "neutral_bank": list(NEUTRAL_BANK),
        "markers": markers,
        "begin": begin,
        "question_ends": question_ends,
        "sentence_ends": sentence_ends,
        **family_of(checkpoint.config).memory,
        **settings.options,
    }
    architecture = v14_architecture(checkpoint.config)
    config = {**checkpoint.config, "architectures": [architecture], "memory": memory}
    _write(staging / "config.json", json.dumps(config, indent=2, ensure_ascii=False) + "\n")
    _write(staging / CARD, model_card(name, native(architecture), config, weights))
    return Report(architecture, tuple(markers), calibration, skipped if calibration is None else "")


def load_tokenizer(directory: Path) -> Any:
    """The directory's tokenizer.

    Raises `UpgradeError` when Transformers cannot load it.
    """
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(directory, local_files_only=True)
    # Every tokenizer class raises errors of its own kind for a file it cannot read.
    except Exception as error:
        raise UpgradeError(f"The tokenizer cannot be loaded ({_first_line(error)}).") from error


def _carry_over(checkpoint: Checkpoint, staging: Path, settings: Settings, say: Callable[[str], None]) -> None:
    say(f"placing {len(checkpoint.weights)} weight file(s) ({settings.link.value})")
    for file in checkpoint.weights:
        place(file, staging, settings.link)
    # Small files are copied: editing one here must not change the checkpoint.
    for file in checkpoint.carried:
        place(file, staging, Link.COPY)
    config = dict(checkpoint.config)
    if settings.dtype is not None:
        config["torch_dtype" if "torch_dtype" in config else "dtype"] = settings.dtype
    _write(staging / "config.json", json.dumps(config))


def _gguf_file(source: Path) -> Path | None:
    """The GGUF file that `source` is, or that is alone in the directory `source`; None for another checkpoint.

    Raises `UpgradeError` when there is nothing to upgrade at `source`, or more than one GGUF file.
    """
    if source.is_file():
        if source.suffix != ".gguf":
            raise UpgradeError(f"{source} is neither a GGUF file nor a checkpoint directory.")
        return source
    if not source.is_dir():
        raise UpgradeError(f"{source} does not exist.")
    files = sorted(source.glob("*.gguf")) if not (source / "config.json").exists() else []
    if len(files) > 1:
        raise UpgradeError(f"{source} holds {len(files)} GGUF files; name the one to upgrade.")
    return files[0] if files else None


def _check_places(source: Path, target: Path) -> None:
    folder = source.resolve() if source.is_dir() else None
    place_of_target = target.resolve()
    if folder is not None and (place_of_target == folder or folder in place_of_target.parents):
        raise UpgradeError(f"The target {target} lies inside the checkpoint {source}; choose another place.")
    if target.is_dir():
        if any(target.iterdir()):
            raise UpgradeError(f"The target {target} exists and is not empty.")
    elif target.exists() or target.is_symlink():
        raise UpgradeError(f"The target {target} exists and is not a directory.")
    if not os.access(next(folder for folder in target.absolute().parents if folder.exists()), os.W_OK):
        raise UpgradeError(f"The target {target} cannot be made: its folder is not writable.")


@contextmanager
def _staging(target: Path) -> Iterator[Path]:
    """A new directory beside `target` that becomes `target`, or is removed whatever goes wrong."""
    staging = target.parent / f".{target.name}.upgrade-{os.getpid()}"
    try:
        staging.mkdir()
        yield staging
        staging.rename(target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
