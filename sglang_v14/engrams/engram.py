"""An event's engram: what it does to every recurrent layer's state, in a few hundred bytes a head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from memory_store import Block

from .low_rank import LowRank
from .transition import Transition


@dataclass(frozen=True, slots=True)
class EngramForm:
    """How engrams are kept: at most `rank` components a head and `components` a head on average, as `dtype`.

    `carry_rank` more describe what a head keeps of the state before, beyond its decay. `convolution` says whether the
    convolution's last inputs are kept.
    """

    rank: int = 2
    components: float = 0.4
    dtype: str = "int8"
    carry_rank: int = 0
    convolution: bool = False

    def size_bytes(self, layers: int, heads: int, value_dim: int, key_dim: int, window: int) -> int:
        """Bytes of an event before compression; `window` is how many inputs a layer's convolution holds."""

        def vector(dim: int) -> int:
            if self.dtype == "int4":
                return dim if dim % 2 else dim // 2
            return dim * {"float32": 4, "float16": 2, "int8": 1}[self.dtype]

        matrices, numbers = layers * heads, 8  # a component's matrix and scale
        left = min(round(self.components * matrices), self.rank * matrices)
        size = 4 * matrices + left * (vector(value_dim) + vector(key_dim) + numbers)
        size += self.carry_rank * matrices * (2 * vector(key_dim) + numbers)
        return size + (layers * window * (4 if self.dtype == "float32" else 2) if self.convolution else 0)


@dataclass(frozen=True, slots=True)
class StateEngram:
    """`decay` `[layers, heads]` is the factor that the event leaves of the state before it; `left` holds the state that
    it leaves from zero, `carry` what it keeps of the state before beyond the decay, each `[layers * heads, ...]`.
    `window` `[layers, channels, width]` holds the convolutions' last inputs."""

    decay: Tensor
    left: LowRank
    carry: LowRank | None
    window: Tensor | None

    @classmethod
    def of(cls, layers: Sequence[Transition], windows: Tensor | None, form: EngramForm) -> StateEngram:
        """Of a transition per recurrent layer, and the convolutions' last inputs `[layers, channels, width]`."""
        left = torch.cat([layer.left for layer in layers]).float()
        carry = torch.cat([layer.carry for layer in layers]).float()
        matrices = len(left)
        # The decay that leaves the least squares: the carry of these layers is a decay less what keys erase.
        decay = carry.diagonal(dim1=1, dim2=2).mean(1)
        rest = carry - torch.diag_embed(decay[:, None].expand(-1, carry.shape[2]))
        kept = torch.float32 if form.dtype == "float32" else torch.float16
        return cls(
            decay.view(len(layers), -1),
            LowRank.of(left, form.rank, round(form.components * matrices), form.dtype),
            LowRank.of(rest, form.carry_rank, form.carry_rank * matrices, form.dtype) if form.carry_rank else None,
            windows.to(kept) if windows is not None and form.convolution else None,
        )

    def after(self, before: Tensor) -> Tensor:
        """The states behind the event, `[layers, heads, value_dim, key_dim]`, where `before` was in front of it."""
        flat = before.float().flatten(0, 1)
        out = flat * self.decay.flatten()[:, None, None] + self.left.matrices(len(flat))
        if self.carry is not None:
            out = out + flat @ self.carry.matrices(len(flat))
        return out.view(before.shape)

    def blocks(self) -> dict[str, Block]:
        """As it is stored, in an event's body."""
        blocks = {"state_decay": Block.from_array(self.decay.numpy())}
        for name, part in (("state_left", self.left), ("state_carry", self.carry)):
            if part is not None:
                blocks |= {
                    f"{name}_{field}": Block.from_array(getattr(part, field).numpy())
                    for field in ("matrix", "left", "right", "scale")
                }
        if self.window is not None:
            blocks["state_window"] = Block.from_array(self.window.numpy())
        return blocks

    @classmethod
    def from_blocks(cls, blocks: Mapping[str, Block]) -> StateEngram | None:
        """None for an event without one."""
        if "state_decay" not in blocks:
            return None

        def tensor(name: str) -> Tensor:
            return torch.from_numpy(np.array(blocks[name].array()))

        def low_rank(name: str) -> LowRank:
            return LowRank(*(tensor(f"{name}_{field}") for field in ("matrix", "left", "right", "scale")))

        return cls(
            tensor("state_decay"),
            low_rank("state_left"),
            low_rank("state_carry") if "state_carry_matrix" in blocks else None,
            tensor("state_window") if "state_window" in blocks else None,
        )
