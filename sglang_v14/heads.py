"""The voting heads: which attention heads decide what is recalled, and where their keys and queries stand in an
event."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .rope import NoRope, Rope
from .shape import LayerShape


class VotingHeads:
    """`heads` are `(layer, query head)` pairs; several may read the same keys, which are kept once.

    An event keeps keys `[tokens, key_rows, dim]` and queries `[tokens, heads, dim]`; voting head i reads key row
    `key_row[i]`.

    Raises `ValueError` when a head does not exist in the model or the heads' dims differ.
    """

    def __init__(
        self, heads: Sequence[tuple[int, int]], layers: dict[int, LayerShape], ropes: dict[int, Rope | NoRope]
    ) -> None:
        if not heads:
            raise ValueError("no voting heads are given")
        rows: dict[tuple[int, int], int] = {}
        key_row = []
        for layer_id, head in heads:
            layer = layers.get(layer_id)
            if layer is None or head >= layer.query_heads:
                raise ValueError(f"the model has no full-attention layer {layer_id} with a head {head}")
            key_row.append(rows.setdefault((layer_id, head // (layer.query_heads // layer.key_heads)), len(rows)))
        if len({layers[layer].head_dim for layer, _ in heads}) != 1:
            raise ValueError("the voting heads differ in their dims")
        self.heads = tuple(heads)
        self.key_rows = tuple(rows)
        self.key_row = key_row
        self.dim = layers[heads[0][0]].head_dim
        self.scale = layers[heads[0][0]].scale
        # Every voting head is turned by the rotation of its layer; almost always there is only one.
        self.rope = ropes[heads[0][0]]
        of_layer: dict[int, list[int]] = {}
        for i, (layer_id, _) in enumerate(heads):
            of_layer.setdefault(layer_id, []).append(i)
        self._of_layer = {
            layer_id: (torch.tensor(numbers), torch.tensor([heads[i][1] for i in numbers]))
            for layer_id, numbers in of_layer.items()
        }

    def __len__(self) -> int:
        return len(self.heads)

    def of_layer(self, layer_id: int) -> tuple[Tensor, Tensor] | None:
        """The voting heads of a layer: their numbers among the voting heads, and their query heads. None without."""
        return self._of_layer.get(layer_id)

    def keys(self, keys_of_layer: dict[int, Tensor]) -> Tensor:
        """Pick `[tokens, key_rows, dim]` out of all layers' keys `[tokens, key_heads, dim]`."""
        return torch.stack([keys_of_layer[layer][:, head] for layer, head in self.key_rows], dim=1)
