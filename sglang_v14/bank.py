"""The neutral bank's keys, made with the model directory and loaded with the model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from .heads import VotingHeads
from .index import Bank
from .options import OptionError

BANK_FILE = "memory/bank.safetensors"


def bank_metadata(heads: Sequence[Sequence[int]]) -> dict[str, str]:
    """What the file says of itself: the voting heads that its keys are for."""
    return {"voting_heads": json.dumps([list(head) for head in heads])}


def load_bank(model_path: str, heads: VotingHeads) -> Bank:
    """Load `memory/bank.safetensors`: `token_ids` `[tokens]`, `keys` `[tokens, key_rows, dim]` (not rotated) and
    `lengths` `[texts]`.

    Raises `OptionError` when the file is missing, damaged or was made for other voting heads.
    """
    from safetensors import SafetensorError, safe_open

    file = Path(model_path) / BANK_FILE
    if not file.is_file():
        raise OptionError(f"{file} is missing: make the directory again with `sglang-v14 upgrade`.")
    damaged = OptionError(f"{file} is damaged: make the directory again with `sglang-v14 upgrade`.")
    try:
        with safe_open(str(file), framework="pt") as bank:
            token_ids, keys, lengths = (bank.get_tensor(name) for name in ("token_ids", "keys", "lengths"))
            made_for = bank.metadata() or {}
    except (SafetensorError, OSError) as error:
        raise damaged from error
    expected = (len(heads.key_rows), heads.dim)
    if not bank_metadata(heads.heads).items() <= made_for.items() or tuple(keys.shape[1:]) != expected:
        raise OptionError(
            f"{file} was made for other voting heads than those of config.json: make the directory again with "
            "`sglang-v14 upgrade`."
        )
    whole = int(lengths.sum()) == keys.shape[0] == token_ids.shape[0] and bool((lengths > 0).all())
    if not whole or not len(lengths) or not bool(keys.isfinite().all()):
        raise damaged
    return Bank(heads, token_ids.tolist(), keys, lengths.tolist())
