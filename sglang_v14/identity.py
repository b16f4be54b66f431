"""Whose memory it is: everything that must be the same for stored keys and values to mean the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import xxhash

from .hooks.model_view import ModelView
from .remember import storage_dtype

_WEIGHT_SUFFIXES = (".safetensors", ".gguf", ".bin", ".pt")
_SAMPLE_BYTES = 1 << 16
_SAMPLES_PER_FILE = 64


def identity(view: ModelView, memory_schema: int = 1) -> dict[str, Any]:
    """The identity of the model in `view` as served now.

    Weights are told apart by the size of every file and 64 samples of 64 KiB spread over it: reading all of a large
    model would take minutes at every start.
    """
    root = Path(view.model_path)
    layers = view.layers.values()
    first = next(iter(layers))
    return {
        "memory_schema": memory_schema,
        "weights": weights_digest(view.model_path),
        "tokenizer": _digest(_whole(root, ("tokenizer.json", "tokenizer.model", "tokenizer_config.json"))),
        "chat_template": _digest(_whole(root, ("chat_template.jinja", "chat_template.json"))),
        "kv_dtype": str(storage_dtype(view.kv_dtype)).removeprefix("torch."),
        "attention_layers": [layer.layer_id for layer in layers],
        "key_heads": first.key_heads,
        "head_dim": first.head_dim,
        "rope": _digest(_rotations(view)),
        "shard": "0/1",
    }


def weights_digest(model_path: str) -> str:
    """A name for the weights in a model directory."""
    return _digest(_samples(Path(model_path)))


def _digest(parts: Iterator[bytes]) -> str:
    digest = xxhash.xxh3_128()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def _samples(root: Path) -> Iterator[bytes]:
    files = [file for file in sorted(root.iterdir()) if file.suffix in _WEIGHT_SUFFIXES] if root.is_dir() else [root]
    for file in files:
        size = file.stat().st_size
        yield file.name.encode()
        yield size.to_bytes(8, "little")
        with file.open("rb") as stream:
            for i in range(_SAMPLES_PER_FILE):
                stream.seek(max(0, (size - _SAMPLE_BYTES) * i // (_SAMPLES_PER_FILE - 1)))
                yield stream.read(_SAMPLE_BYTES)


def _whole(root: Path, names: tuple[str, ...]) -> Iterator[bytes]:
    for name in names:
        if (root / name).is_file():
            yield name.encode()
            yield (root / name).read_bytes()


def _rotations(view: ModelView) -> Iterator[bytes]:
    for layer in view.layers.values():
        if layer.cos_sin is not None:
            yield str(tuple(layer.cos_sin.shape[1:])).encode()
            yield layer.cos_sin[:64].float().cpu().numpy().tobytes()
