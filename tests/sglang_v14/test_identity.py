"""A store is one model's: everything that changes what its bytes mean changes the identity."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tiny_model import rotary_table

from sglang_v14.identity import identity

WEIGHTS = "model-00001.safetensors"


@pytest.fixture
def model(tmp_path: Path) -> Any:
    """A served model of two attention layers and its directory."""
    (tmp_path / WEIGHTS).write_bytes(os.urandom(300_000))
    (tmp_path / "model-00002.safetensors").write_bytes(os.urandom(1000))
    (tmp_path / "zeros.gguf").write_bytes(bytes(100_000))
    (tmp_path / "tokenizer.json").write_text("{}")
    (tmp_path / "chat_template.jinja").write_text("{{ messages }}")
    (tmp_path / "README.md").write_text("A model.")
    layers = {
        number: SimpleNamespace(layer_id=number, key_heads=2, head_dim=16, cos_sin=rotary_table(128, 16))
        for number in (1, 3)
    }
    return SimpleNamespace(model_path=str(tmp_path), kv_dtype=torch.bfloat16, layers=layers)


def test_it_is_the_same_again(model: Any) -> None:
    """The same files and the same serving have the same identity, which is plain JSON."""
    first = identity(model)
    assert identity(model) == first
    assert json.loads(json.dumps(first)) == first
    assert first["attention_layers"] == [1, 3]
    assert (first["kv_dtype"], first["key_heads"], first["head_dim"]) == ("bfloat16", 2, 16)


def _flip(name: str, at: int) -> Callable[[Any], None]:
    def change(model: Any) -> None:
        path = Path(model.model_path) / name
        data = bytearray(path.read_bytes())
        data[at] ^= 1
        path.write_bytes(data)

    return change


def _write(name: str, text: str) -> Callable[[Any], None]:
    return lambda model: (Path(model.model_path) / name).write_text(text) and None


def _rename(model: Any) -> None:
    (Path(model.model_path) / WEIGHTS).rename(Path(model.model_path) / "model-00000.safetensors")


def _append(model: Any) -> None:
    # Whatever is looked at in this file, it is zero.
    with (Path(model.model_path) / "zeros.gguf").open("ab") as stream:
        stream.write(b"\0")


def _rope(model: Any) -> None:
    model.layers[3].cos_sin = rotary_table(128, 16, 1.1)


def _no_rope(model: Any) -> None:
    model.layers[3].cos_sin = None


def _layer(model: Any) -> None:
    model.layers[5] = SimpleNamespace(**{**vars(model.layers.pop(3)), "layer_id": 5})


def _dtype(model: Any) -> None:
    model.kv_dtype = torch.float16


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("weights", _flip(WEIGHTS, 0)),
        ("weights", _flip(WEIGHTS, 150_000)),
        ("weights", _flip(WEIGHTS, -1)),
        ("weights", _flip("model-00002.safetensors", 500)),
        ("weights", _append),
        ("weights", _rename),
        ("weights", _write("adapter.bin", "x")),
        ("tokenizer", _write("tokenizer.json", "{ }")),
        ("tokenizer", _write("tokenizer_config.json", "{}")),
        ("chat_template", _write("chat_template.jinja", "{{ messages | tojson }}")),
        ("rope", _rope),
        ("rope", _no_rope),
        ("attention_layers", _layer),
        ("kv_dtype", _dtype),
    ],
)
def test_what_changes_it(model: Any, field: str, change: Callable[[Any], None]) -> None:
    """A change is seen in its own field and in no other."""
    before = identity(model)
    change(model)
    after = identity(model)
    assert [name for name in before if before[name] != after[name]] == [field]


def test_what_does_not_change_it(model: Any) -> None:
    """Other files, and a float32 pool instead of a float16 one: both are stored as float16."""
    model.kv_dtype = torch.float32
    before = identity(model)
    (Path(model.model_path) / "README.md").write_text("The same model.")
    model.kv_dtype = torch.float16
    assert identity(model) == before
    assert identity(model, memory_schema=2) != before
