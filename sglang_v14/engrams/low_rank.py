"""Matrices as sums of a few products, in few bytes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

_LEVELS = {"int8": 127, "int4": 7}


@dataclass(frozen=True, slots=True)
class LowRank:
    """Matrices `[matrices, rows, columns]`: of each the sum over its components of `scale * left * right`.

    `matrix` `[components]` says to which matrix a component belongs; `left` `[components, rows]` and `right`
    `[components, columns]` hold integers (or floats; bytes with two integers each), `scale` `[components]`.
    """

    matrix: Tensor
    left: Tensor
    right: Tensor
    scale: Tensor

    @classmethod
    def of(cls, matrices: Tensor, rank: int, components: int, dtype: str) -> LowRank:
        """The best `components` of all matrices together, at most `rank` of one.

        `dtype` is `float32`, `float16`, `int8` or `int4`. What is left out has the least squares.
        """
        u, s, v = torch.linalg.svd(matrices.float(), full_matrices=False)
        rank = min(rank, s.shape[1])
        strength = s[:, :rank].flatten()
        best = strength.argsort(descending=True)[: min(components, int((strength > 0).sum()))]
        best = best.sort().values
        matrix, number = best // rank, best % rank
        left, right, scale = u[matrix, :, number], v[matrix, number], strength[best]
        if dtype not in _LEVELS:
            plain = getattr(torch, dtype)
            return cls(matrix.to(torch.int32), left.to(plain), right.to(plain), scale.float())
        levels = _LEVELS[dtype]
        left, left_step = _rounded(left, levels)
        right, right_step = _rounded(right, levels)
        if dtype == "int4":
            left, right = _packed(left), _packed(right)
        return cls(matrix.to(torch.int32), left, right, (scale * left_step * right_step).float())

    def matrices(self, number: int) -> Tensor:
        """All of them again, `[number, rows, columns]` float32."""
        left, right = _plain(self.left), _plain(self.right)
        out = torch.zeros(number, left.shape[1], right.shape[1])
        left = left * self.scale[:, None]
        for rank in range(int(self._order().max()) + 1 if len(self.matrix) else 0):
            some = self._order() == rank
            out[self.matrix[some].long()] += left[some].unsqueeze(2) * right[some].unsqueeze(1)
        return out

    def _order(self) -> Tensor:
        """Each component's number within its matrix; those of one matrix lie together."""
        first = torch.searchsorted(self.matrix, self.matrix)
        return torch.arange(len(self.matrix)) - first


def _rounded(vectors: Tensor, levels: int) -> tuple[Tensor, Tensor]:
    step = vectors.abs().amax(dim=1).clamp_min(1e-12) / levels
    return (vectors / step[:, None]).round().to(torch.int8), step


def _packed(numbers: Tensor) -> Tensor:
    """Integers of -8 to 7, two a byte; an odd row is left as it is."""
    if numbers.shape[1] % 2:
        return numbers
    low, high = numbers.view(torch.uint8)[:, ::2], numbers.view(torch.uint8)[:, 1::2]
    return (low & 0xF) | (high << 4)


def _plain(numbers: Tensor) -> Tensor:
    """As floats, whatever they were kept as."""
    if numbers.dtype is not torch.uint8:
        return numbers.float()
    halves = torch.stack((numbers & 0xF, numbers >> 4), dim=2).flatten(1)
    return halves.float() - 16 * (halves > 7)
