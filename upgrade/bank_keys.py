"""Encodes the neutral bank once, so that a server has its keys at hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from sglang_v14.bank import BANK_FILE, bank_metadata

from .attention import AttentionReader
from .calibration import Frame


def encode_bank(
    reader: AttentionReader, frame: Frame, texts: Sequence[Sequence[int]], heads: Sequence[tuple[int, int]]
) -> tuple[Tensor, Tensor]:
    """Read every text (token ids), alone behind the chat header.

    Returns the voting heads' keys before rotation, `[tokens, key_rows, dim]` float32 with one row for each different
    (layer, key head) in the order of `heads`, and the texts' lengths `[texts]`.
    """
    rows: dict[tuple[int, int], None] = {}
    for layer, head in heads:
        query_heads, key_heads = reader.heads(layer)
        rows[layer, head // (query_heads // key_heads)] = None
    keys = []
    for text in texts:
        begin = len(frame.before)
        read = reader.read(torch.tensor([[*frame.before, *text, *frame.behind]]))
        keys.append(torch.stack([read[layer].key[0, begin : begin + len(text), head] for layer, head in rows], dim=1))
    return torch.cat(keys), torch.tensor([len(text) for text in texts], dtype=torch.int32)


def write_bank(
    directory: Path,
    texts: Sequence[Sequence[int]],
    keys: Tensor,
    lengths: Tensor,
    heads: Sequence[tuple[int, int]],
) -> None:
    """Write the texts' token ids and what `encode_bank` returned for `heads` to the directory's bank file."""
    token_ids = torch.tensor([token for text in texts for token in text], dtype=torch.int32)
    (directory / BANK_FILE).parent.mkdir(exist_ok=True)
    tensors = {"token_ids": token_ids, "keys": keys.contiguous(), "lengths": lengths}
    save_file(tensors, str(directory / BANK_FILE), metadata=bank_metadata(heads))
