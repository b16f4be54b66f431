"""The neutral bank's file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from told import HEADS, cue, event

from sglang_v14.bank import BANK_FILE, bank_metadata, load_bank
from sglang_v14.index import Index
from sglang_v14.options import OptionError


def write(
    folder: Path,
    *,
    tokens: int = 5,
    rows: int = 2,
    dim: int = 16,
    lengths: tuple[int, ...] = (3, 2),
    heads: tuple[tuple[int, int], ...] = HEADS.heads,
) -> None:
    keys = torch.zeros(tokens, rows, dim)
    keys[4:, :, :1] = 10.0
    tensors = {"token_ids": torch.tensor([7, 8, 8, 7, 9])[:tokens], "keys": keys, "lengths": torch.tensor(lengths)}
    (folder / BANK_FILE).parent.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / BANK_FILE, metadata=bank_metadata(heads))


def test_load(tmp_path: Path) -> None:
    """Its texts compete, and its tokens weigh less the more of its texts have them."""
    write(tmp_path)
    bank = load_bank(str(tmp_path), HEADS)
    assert bank.weight(7) < bank.weight(8) < bank.weight(1)
    index = Index(HEADS, bank)
    index.add([event(0, 0), event(1, 1)])
    contested, alone = index.votes(cue(0, 1), 8).tolist()
    assert contested == pytest.approx(0.5, abs=0.01)
    assert alone > 0.9


def test_no_file(tmp_path: Path) -> None:
    """The error says which file and how to make it."""
    with pytest.raises(OptionError, match=rf"{BANK_FILE} is missing.*sglang-v14 upgrade"):
        load_bank(str(tmp_path), HEADS)


@pytest.mark.parametrize("fault", [{"rows": 3}, {"dim": 8}, {"heads": ((0, 0), (0, 2))}])
def test_a_bank_of_other_heads(tmp_path: Path, fault: dict[str, Any]) -> None:
    """Keys that do not fit the voting heads, or that fit and are those of others."""
    write(tmp_path, **fault)
    with pytest.raises(OptionError, match="other voting heads"):
        load_bank(str(tmp_path), HEADS)


@pytest.mark.parametrize("fault", [{"lengths": (3, 3)}, {"lengths": (3,)}])
def test_a_damaged_bank(tmp_path: Path, fault: dict[str, Any]) -> None:
    """Texts that do not fit the keys."""
    write(tmp_path, **fault)
    with pytest.raises(OptionError, match="damaged"):
        load_bank(str(tmp_path), HEADS)
