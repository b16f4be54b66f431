"""Transitions of Mamba2 layers (Dao, Gu 2024, arXiv:2405.21060, section 6): a head forgets at one rate and erases
nothing."""

from __future__ import annotations

import torch
from torch import Tensor

from .transition import Transition


def transition(x: Tensor, b: Tensor, step: Tensor, a: Tensor) -> Transition:
    """What tokens do to a layer's state `[heads, head_dim, state_dim]`.

    `x` `[tokens, heads, head_dim]`; `b` `[tokens, groups, state_dim]`, each group serving heads that lie together;
    `step` `[tokens, heads]`, after its softplus; `a` `[heads]`, negative.
    """
    dtype = torch.promote_types(x.dtype, torch.float32)
    x, b, step, a = (t.to(dtype) for t in (x, b, step, a))
    b = b.repeat_interleave(x.shape[1] // b.shape[1], dim=1)
    decay = step * a
    behind = decay.sum(0) - decay.cumsum(0)
    left = torch.einsum("thd,ths,th->hds", x, b, step * behind.exp())
    carry = torch.diag_embed(decay.sum(0).exp()[:, None].expand(-1, b.shape[2]))
    return Transition(left, carry)


def naive_transition(x: Tensor, b: Tensor, step: Tensor, a: Tensor) -> Transition:
    """The recurrence token by token, in float64."""
    x, b, step, a = (t.double() for t in (x, b, step, a))
    b = b.repeat_interleave(x.shape[1] // b.shape[1], dim=1)
    out = Transition.nothing(x.shape[1], x.shape[2], b.shape[2], torch.float64)
    unit = torch.eye(b.shape[2], dtype=torch.float64)
    for x_t, b_t, step_t in zip(x, b, step, strict=True):
        left = step_t[:, None, None] * x_t[:, :, None] * b_t[:, None, :]
        out = out.then(Transition(left, (step_t * a).exp()[:, None, None] * unit))
    return out
