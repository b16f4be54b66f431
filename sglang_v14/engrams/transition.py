"""What a run of tokens does to a recurrent state, whatever the layer's kind.

Gated DeltaNet, Mamba2 and KDA all update their state linearly, so that a run of tokens acts on the state before it as

    after = before @ carry + left

`left` is the state that the tokens leave from zero; `carry` is what they keep of what was there.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Transition:
    """`left` `[heads, value_dim, key_dim]` and `carry` `[heads, key_dim, key_dim]`."""

    left: Tensor
    carry: Tensor

    @classmethod
    def nothing(cls, heads: int, value_dim: int, key_dim: int, dtype: torch.dtype = torch.float32) -> Transition:
        """That of no tokens."""
        return cls(
            torch.zeros(heads, value_dim, key_dim, dtype=dtype),
            torch.eye(key_dim, dtype=dtype).expand(heads, key_dim, key_dim).clone(),
        )

    def after(self, before: Tensor) -> Tensor:
        """The state behind these tokens, `[heads, value_dim, key_dim]`, when `before` was the one in front of them."""
        return before @ self.carry + self.left

    def then(self, later: Transition) -> Transition:
        """This run and a later one, read one behind the other."""
        return Transition(later.after(self.left), self.carry @ later.carry)
