"""Rotary position embeddings, undone and redone.

Events are stored before rotation, so that they can be placed at any distance from a prompt. A rotation is orthogonal
up to the scale that YaRN puts into the cosine table, hence exactly undone by the opposite angle (Su et al. 2021,
RoFormer, eq. 34).
"""

from __future__ import annotations

import torch
from torch import Tensor


class Rope:
    """The rotation of one attention layer.

    `cos_sin` is the table `[positions, rotary_dim]`, cosines in the first half of a row and sines in the second;
    `interleaved` says that neighbouring dimensions are paired (GPT-J) instead of the two halves (GPT-NeoX). Dimensions
    from `rotary_dim` on are not rotated.
    """

    def __init__(self, cos_sin: Tensor, *, interleaved: bool = False) -> None:
        table = cos_sin.float()
        self.rotary_dim = table.shape[-1]
        cos, sin = table.chunk(2, dim=-1)
        # cos² + sin² is the square of YaRN's attention scale; 1 without YaRN.
        self.scale = float((cos[0].square() + sin[0].square()).mean().sqrt())
        self.cos, self.sin = cos / self.scale, sin / self.scale
        self.interleaved = interleaved

    @property
    def positions(self) -> int:
        """How many positions the table holds."""
        return self.cos.shape[0]

    def turn(self, x: Tensor, delta: Tensor) -> Tensor:
        """Rotate `x` `[tokens, heads, dim]` by `delta` `[tokens]` positions, which may be negative. Keeps the dtype.

        Raises `IndexError` when `|delta|` is beyond the table.
        """
        steps = delta.abs()
        if steps.numel() and int(steps.max()) >= self.positions:
            raise IndexError(f"a rotation by {int(steps.max())} positions is beyond the table of {self.positions}")
        cos = self.cos[steps].unsqueeze(-2)
        sin = (self.sin[steps] * delta.sign().unsqueeze(-1)).unsqueeze(-2)
        turned, rest = x[..., : self.rotary_dim].float(), x[..., self.rotary_dim :]
        if self.interleaved:
            a, b = turned[..., 0::2], turned[..., 1::2]
            out = torch.stack((a * cos - b * sin, b * cos + a * sin), dim=-1).flatten(-2)
        else:
            a, b = turned.chunk(2, dim=-1)
            out = torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)
        return torch.cat((out.to(x.dtype), rest), dim=-1)

    def undo(self, x: Tensor, positions: Tensor) -> Tensor:
        """What `x` was before the model rotated it to `positions` `[tokens]`."""
        plain = self.turn(x, -positions)
        if self.scale == 1.0:
            return plain
        return torch.cat((plain[..., : self.rotary_dim] / self.scale, plain[..., self.rotary_dim :]), dim=-1)

    def apply(self, x: Tensor, positions: Tensor) -> Tensor:
        """Rotate as the model does, including its scale; positions may be negative."""
        turned = self.turn(x, positions)
        if self.scale == 1.0:
            return turned
        return torch.cat((turned[..., : self.rotary_dim] * self.scale, turned[..., self.rotary_dim :]), dim=-1)


class NoRope:
    """The rotation of an attention layer that has none."""

    positions = 1 << 62
    scale = 1.0

    def turn(self, x: Tensor, delta: Tensor) -> Tensor:
        return x

    undo = apply = turn
