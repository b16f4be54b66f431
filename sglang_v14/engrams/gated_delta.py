"""Transitions of Gated DeltaNet layers (Yang, Kautz, Hatamizadeh 2024, arXiv:2412.06464, eq. 10)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from ..cpu_engine.kernels.gated_delta_rule import gated_delta_rule, l2_normalize
from .transition import Transition


def transition(
    keys: Tensor, values: Tensor, log_decay: Tensor, write: Tensor, before: Transition | None = None
) -> Transition:
    """What tokens do to a layer's state, behind what `before` did.

    `keys` `[tokens, key_heads, key_dim]` need not be normalised; `values` `[tokens, value_heads, value_dim]`;
    `log_decay` (at most 0) and `write` strength `[tokens, value_heads]`.
    """
    _, heads, value_dim = values.shape
    key_dim = keys.shape[2]
    before = before or Transition.nothing(heads, value_dim, key_dim, torch.promote_types(values.dtype, torch.float32))
    # What is carried obeys the same recurrence as the state, with nothing written: rows below the state's own.
    state = torch.cat((before.left, before.carry), dim=1)
    keys = l2_normalize(keys.to(state.dtype))
    _, state, _ = gated_delta_rule(torch.zeros_like(keys), keys, pad(values, (0, key_dim)), log_decay, write, state)
    left, carry = state.split((value_dim, key_dim), dim=1)
    return Transition(left, carry)


def naive_transition(keys: Tensor, values: Tensor, log_decay: Tensor, write: Tensor) -> Transition:
    """The recurrence token by token, in float64."""
    keys, values, log_decay, write = (x.double() for x in (keys, values, log_decay, write))
    keys = l2_normalize(keys).repeat_interleave(values.shape[1] // keys.shape[1], dim=1)
    out = Transition.nothing(values.shape[1], values.shape[2], keys.shape[2], torch.float64)
    unit = torch.eye(keys.shape[2], dtype=torch.float64)
    for k, v, g, b in zip(keys, values, log_decay, write, strict=True):
        erase = unit - b[:, None, None] * k[:, :, None] * k[:, None, :]
        step = Transition(b[:, None, None] * v[:, :, None] * k[:, None, :], g.exp()[:, None, None] * erase)
        out = out.then(step)
    return out
