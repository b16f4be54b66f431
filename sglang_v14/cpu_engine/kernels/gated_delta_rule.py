"""Gated delta rule over chunks of 64 tokens: matrix products inside a chunk, a short scan over the chunks.

The recurrence (Yang, Kautz, Hatamizadeh 2024, "Gated Delta Networks", arXiv:2412.06464, eq. 10), per value head, with
the state ``S`` as ``[value dim, key dim]``::

    S_t = exp(g_t) S_{t-1} + u_t k_t^T        u_t = beta_t (v_t - exp(g_t) S_{t-1} k_t)        o_t = S_t q_t

The ``u_t`` of one chunk depend on each other only through a unit lower-triangular system, which is solved once for all
chunks (the WY form of Yang et al. 2024, "Parallelizing Linear Transformers with the Delta Rule", arXiv:2406.06484,
section 3). ``gated_delta_rule_naive`` is the recurrence itself, token by token.
"""

import torch
import torch.nn.functional as F

CHUNK_TOKENS = 64


def l2_normalize(x: torch.Tensor) -> torch.Tensor:
    """Scale the last dimension to unit length; ``1e-6`` under the root, as in the models' training code."""
    return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + 1e-6)


def gated_delta_rule(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    beta: torch.Tensor,
    state: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Run one sequence from ``state``.

    Args:
        q: queries ``[tokens, key heads, key dim]``, already normalised and scaled.
        k: keys ``[tokens, key heads, key dim]``, already normalised.
        v: values ``[tokens, value heads, value dim]``; the number of value heads is a multiple of the key heads.
        g: log decay per token ``[tokens, value heads]``, at most 0.
        beta: write strength per token ``[tokens, value heads]``.
        state: state before the first token ``[value heads, value dim, key dim]``; not modified.

    Returns:
        The outputs ``[tokens, value heads, value dim]``, the state after the last token, and the state at the start of
        every chunk ``[chunks, value heads, value dim, key dim]``, all in float32 (float64 for float64 input).
    """
    dtype = torch.promote_types(v.dtype, torch.float32)
    tokens, value_heads, value_dim = v.shape
    groups = value_heads // k.shape[1]
    size = min(CHUNK_TOKENS, tokens)
    chunks = -(-tokens // size)
    padding = chunks * size - tokens

    def fold(x: torch.Tensor) -> torch.Tensor:
        """``[tokens, heads, ...]`` to ``[heads, chunks, size, ...]``; padded tokens neither decay nor write."""
        x = F.pad(x.to(dtype), (0, 0) * (x.dim() - 1) + (0, padding))
        return x.view(chunks, size, *x.shape[1:]).movedim(2, 0)

    q = fold(q).repeat_interleave(groups, 0)
    k = fold(k).repeat_interleave(groups, 0)
    v = fold(v)
    beta = fold(beta)[..., None]
    decay = fold(g).cumsum(-1)
    last = decay[..., -1:]

    # Only differences of the cumulated decay are exponentiated, and only those that are at most 0: no overflow.
    difference = decay[..., :, None] - decay[..., None, :]
    later = torch.ones(size, size, dtype=torch.bool, device=v.device).triu(1)
    within = difference.masked_fill_(later, float("-inf")).exp_()
    from_start = decay.exp()[..., None]
    to_end = (last - decay).exp()[..., None]

    system = (beta * (k @ k.mT) * within).tril_(-1)
    right_side = torch.cat((beta * v, beta * from_start * k), -1)
    solved = torch.linalg.solve_triangular(system, right_side, upper=False, unitriangular=True)
    written, erased = solved.split((value_dim, k.shape[-1]), -1)

    scores = (q @ k.mT).mul_(within)
    q = q * from_start
    k = k * to_end
    carried = last.exp()[..., None]

    state = state.to(dtype)
    states = state.new_empty(chunks, *state.shape)
    out = v.new_empty(v.shape)
    for chunk in range(chunks):
        states[chunk] = state
        update = written[:, chunk] - erased[:, chunk] @ state.mT
        out[:, chunk] = q[:, chunk] @ state.mT + scores[:, chunk] @ update
        state = carried[:, chunk] * state + update.mT @ k[:, chunk]
    return out.movedim(0, 2).reshape(chunks * size, value_heads, value_dim)[:tokens], state, states


def gated_delta_step(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    beta: torch.Tensor,
    state: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """One token of each of many sequences.

    Args:
        q, k: ``[sequences, key heads, key dim]``, normalised; ``q`` also scaled.
        v: ``[sequences, value heads, value dim]``.
        g, beta: ``[sequences, value heads]``.
        state: ``[sequences, value heads, value dim, key dim]``; not modified.

    Returns:
        Outputs ``[sequences, value heads, value dim]`` and the new states.
    """
    dtype = torch.promote_types(v.dtype, torch.float32)
    groups = v.shape[1] // k.shape[1]
    q = q.to(dtype).repeat_interleave(groups, 1)
    k = k.to(dtype).repeat_interleave(groups, 1)
    state = state.to(dtype) * g.to(dtype).exp()[..., None, None]
    update = (v.to(dtype) - (state @ k[..., None])[..., 0]) * beta.to(dtype)[..., None]
    state = state.add_(update[..., :, None] * k[..., None, :])
    return (state @ q[..., None])[..., 0], state
