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
