"""A model of a few heads: rotary tables, layers, and a pool that holds keys as an engine does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Layer:
    """An attention layer; query head h reads key head h // (query_heads / key_heads)."""

    query_heads: int = 4
    key_heads: int = 2
    head_dim: int = 16
    scale: float = 0.25


def frequencies(rotary_dim: int, base: float = 10_000.0) -> Tensor:
    """Radians per position of every pair, float64 (Su et al. 2021, section 3.2.2)."""
    return base ** (-torch.arange(0, rotary_dim, 2, dtype=torch.float64) / rotary_dim)


def rotary_table(positions: int, rotary_dim: int, scale: float = 1.0) -> Tensor:
    """`[positions, rotary_dim]` float32: cosines, then sines; `scale` is YaRN's."""
    angles = torch.arange(positions, dtype=torch.float64)[:, None] * frequencies(rotary_dim)
    return (scale * torch.cat((angles.cos(), angles.sin()), dim=-1)).float()


class Pool:
    """Keys and values of several requests in slots that are not in their tokens' order."""

    def __init__(self, layers: dict[int, Layer], lengths: Sequence[int], generator: torch.Generator) -> None:
        self.layers = layers
        slots = torch.randperm(sum(lengths), generator=generator)
        self.table = torch.zeros(len(lengths), max(lengths), dtype=torch.int32)
        for row, part in enumerate(slots.split(list(lengths))):
            self.table[row, : len(part)] = part
        self._keys, self._values = (
            {
                number: torch.randn(len(slots), layer.key_heads, layer.head_dim, generator=generator)
                for number, layer in layers.items()
            }
            for _ in ("keys", "values")
        )

    def slots(self, row: int, start: int, end: int) -> Tensor:
        return self.table[row, start:end].long()

    def keys(self, layer_id: int, slots: Tensor) -> Tensor:
        return self._keys[layer_id][slots]

    def values(self, layer_id: int, slots: Tensor) -> Tensor:
        return self._values[layer_id][slots]
