"""A safetensors checkpoint directory, checked before anything is made from it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import UpgradeError

INDEX = "model.safetensors.index.json"
_TOKENIZERS = ("tokenizer.json", "tokenizer.model")
_CARRIED_SUFFIXES = {".jinja", ".json", ".model", ".py", ".tiktoken", ".txt"}
_CARRIED_NAMES = ("LICENSE", "LICENCE", "NOTICE", "USE_POLICY")


@dataclass(frozen=True)
class Checkpoint:
    """`weights` are the safetensors files that the model loads; `carried` the small files that go along unchanged."""

    path: Path
    config: dict[str, Any]
    weights: tuple[Path, ...]
    carried: tuple[Path, ...]


def open_checkpoint(path: Path) -> Checkpoint:
    """Read and check a checkpoint directory; tensors are not read.

    Raises `UpgradeError` when the configuration, the weights or the tokenizer is missing or damaged.
    """
    config = read_json(path / "config.json")
    if not any((path / name).is_file() for name in _TOKENIZERS):
        raise UpgradeError(f"{path} has no tokenizer ({' or '.join(_TOKENIZERS)}).")
    weights = tuple(weight_files(path))
    for file in weights:
        check_safetensors(file)
    names = {file.name for file in weights} | {"config.json"}
    carried = tuple(
        file for file in sorted(path.iterdir()) if file.is_file() and file.name not in names and _goes_along(file)
    )
    return Checkpoint(path, config, weights, carried)


def weight_files(path: Path) -> Iterator[Path]:
    """The safetensors files of a model directory: those its index names, or `model.safetensors`.

    Raises `UpgradeError` when there are none or one that the index names is missing.
    """
    names = {"model.safetensors"}
    if (path / INDEX).is_file():
        weight_map = read_json(path / INDEX).get("weight_map")
        if not isinstance(weight_map, dict) or not weight_map:
            raise UpgradeError(f"{path / INDEX} names no weight files.")
        names = {str(name) for name in weight_map.values()}
        if outside := [name for name in names if Path(name).name != name]:
            raise UpgradeError(f"{path / INDEX} names a file outside the directory: {outside[0]!r}.")
    for name in sorted(names):
        if not (path / name).is_file():
            raise UpgradeError(
                f"{path} has no weight file {name}; only safetensors weights and GGUF files can be upgraded."
            )
        yield path / name


def check_safetensors(file: Path) -> None:
    """Check a safetensors file's header against the file's size.

    Raises `UpgradeError` when the file is damaged or cut short.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(file), framework="np"):
            pass
    except (SafetensorError, OSError) as error:
        raise UpgradeError(f"The weight file {file} is damaged or cut short ({error}).") from None


def read_json(file: Path) -> dict[str, Any]:
    """A JSON object from a file.

    Raises `UpgradeError` when the file is missing or holds something else.
    """
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UpgradeError(f"{file.parent} has no {file.name}.") from None
    except (OSError, ValueError) as error:
        raise UpgradeError(f"{file} cannot be read ({error}).") from None
    if not isinstance(content, dict):
        raise UpgradeError(f"{file} does not hold a JSON object.")
    return content


def _goes_along(file: Path) -> bool:
    return not file.name.startswith(".") and (file.suffix in _CARRIED_SUFFIXES or file.name.startswith(_CARRIED_NAMES))
