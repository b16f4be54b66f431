"""Recalled events in their places: rotated keys and values that a request's attention is merged with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from memory_store import Block

from .engrams.engram import StateEngram
from .rope import NoRope, Rope

# Dtypes that numpy has not, with those that hold their bits.
_BITS = {torch.bfloat16: torch.uint16, torch.float8_e4m3fn: torch.uint8, torch.float8_e5m2: torch.uint8}


@dataclass(frozen=True, slots=True)
class EventBody:
    """What an event keeps of every attention layer: keys (not rotated) and values `[layers, tokens, key_heads,
    dim]`; and of a hybrid's recurrent layers."""

    layers: tuple[int, ...]
    keys: Tensor
    values: Tensor
    engram: StateEngram | None = None

    def blocks(self) -> dict[str, Block]:
        return {
            "layers": Block.from_array(np.asarray(self.layers, dtype=np.int32)),
            "keys": block_of(self.keys),
            "values": block_of(self.values),
            **(self.engram.blocks() if self.engram is not None else {}),
        }

    @classmethod
    def from_blocks(cls, blocks: Mapping[str, Block]) -> EventBody:
        """Raises `KeyError` when a block is missing."""
        layers = tuple(int(layer) for layer in blocks["layers"].array())
        return cls(layers, tensor_of(blocks["keys"]), tensor_of(blocks["values"]), StateEngram.from_blocks(blocks))


def block_of(tensor: Tensor) -> Block:
    """A tensor as a block of the same dtype."""
    tensor = tensor.detach().contiguous()
    if (bits := _BITS.get(tensor.dtype)) is not None:
        return Block.from_array(tensor.view(bits).numpy(), str(tensor.dtype).removeprefix("torch."))
    return Block.from_array(tensor.numpy())


def tensor_of(block: Block) -> Tensor:
    """The block's items in the block's dtype."""
    tensor = torch.from_numpy(block.array().copy())
    dtype = getattr(torch, block.dtype)
    return tensor.view(dtype) if dtype in _BITS else tensor


class PlacedEvents:
    """Keys `[tokens, key_heads, dim]` and values of every layer, in front of position `end`, with a `bias` `[tokens]`
    in nats."""

    def __init__(
        self,
        bodies: Sequence[EventBody],
        bias: Tensor,
        end: int,
        ropes: Mapping[int, Rope | NoRope],
        dtype: torch.dtype,
        device: torch.device,
        gap: int = 0,
    ) -> None:
        """`gap` positions are left empty behind every event: what was said apart does not run on."""
        keys = torch.cat([body.keys for body in bodies], dim=1).to(device, torch.float32)
        values = torch.cat([body.values for body in bodies], dim=1).to(device, dtype)
        self.tokens = keys.shape[1]
        self.engrams = tuple(body.engram for body in bodies if body.engram is not None)
        self.bias = bias.to(device)
        lengths = torch.tensor([body.keys.shape[1] for body in bodies], device=device)
        later_gaps = torch.arange(len(bodies), 0, -1, device=device).repeat_interleave(lengths) * gap
        positions = torch.arange(end - self.tokens, end, device=device) - later_gaps
        self._layers: dict[int, tuple[Tensor, Tensor]] = {}
        for rope, members in _by_rope(bodies[0].layers, ropes):
            rows = [row for row, _ in members]
            turned = rope.apply(keys[rows].flatten(0, 1), positions.repeat(len(rows))).view(len(rows), *keys.shape[1:])
            for (row, layer), layer_keys in zip(members, turned, strict=True):
                self._layers[layer] = (layer_keys.to(dtype), values[row])

    def of_layer(self, layer_id: int) -> tuple[Tensor, Tensor]:
        return self._layers[layer_id]

    def and_before(self, other: PlacedEvents) -> PlacedEvents:
        """These events with `other` in front of them."""
        both = object.__new__(PlacedEvents)
        both.tokens = self.tokens + other.tokens
        both.engrams = (*other.engrams, *self.engrams)
        both.bias = torch.cat((other.bias, self.bias))
        both._layers = {
            layer: (torch.cat((other._layers[layer][0], keys)), torch.cat((other._layers[layer][1], values)))
            for layer, (keys, values) in self._layers.items()
        }
        return both


def _by_rope(
    layers: Iterable[int], ropes: Mapping[int, Rope | NoRope]
) -> Iterable[tuple[Rope | NoRope, list[tuple[int, int]]]]:
    groups: dict[int, tuple[Rope | NoRope, list[tuple[int, int]]]] = {}
    for row, layer in enumerate(layers):
        groups.setdefault(id(ropes[layer]), (ropes[layer], []))[1].append((row, layer))
    return groups.values()
