"""Transitions of Kimi Delta Attention layers (Kimi Linear, arXiv:2510.26692, eq. 1): every key channel forgets at a
rate of its own."""

from __future__ import annotations

import torch
from torch import Tensor

from ..cpu_engine.kernels.gated_delta_rule import l2_normalize
from .transition import Transition


def transition(keys: Tensor, values: Tensor, log_decay: Tensor, write: Tensor) -> Transition:
    """What tokens do to a layer's state.

    `keys` `[tokens, heads, key_dim]` need not be normalised; `values` `[tokens, heads, value_dim]`; `log_decay`
    `[tokens, heads, key_dim]` (at most 0); `write` strength `[tokens, heads]`.
    """
    _, heads, value_dim = values.shape
    dtype = torch.promote_types(values.dtype, torch.float32)
    start = Transition.nothing(heads, value_dim, keys.shape[2], dtype)
    state = torch.cat((start.left, start.carry), dim=1)
    keys, values, decay = l2_normalize(keys.to(dtype)), values.to(dtype), log_decay.to(dtype).exp()
    for k, v, g, b in zip(keys, values, decay, write, strict=True):
        state = state * g[:, None, :]
        target = torch.cat((v, torch.zeros_like(k)), dim=1)
        update = (target - (state @ k[:, :, None]).squeeze(2)) * b[:, None]
        state = state + update[:, :, None] * k[:, None, :]
    left, carry = state.split((value_dim, keys.shape[2]), dim=1)
    return Transition(left, carry)


def naive_transition(keys: Tensor, values: Tensor, log_decay: Tensor, write: Tensor) -> Transition:
    """The recurrence as products of whole matrices, in float64."""
    keys, values, log_decay, write = (x.double() for x in (keys, values, log_decay, write))
    keys = l2_normalize(keys)
    out = Transition.nothing(values.shape[1], values.shape[2], keys.shape[2], torch.float64)
    unit = torch.eye(keys.shape[2], dtype=torch.float64)
    for k, v, g, b in zip(keys, values, log_decay, write, strict=True):
        erase = unit - b[:, None, None] * k[:, :, None] * k[:, None, :]
        step = Transition(b[:, None, None] * v[:, :, None] * k[:, None, :], torch.diag_embed(g.exp()) @ erase)
        out = out.then(step)
    return out
