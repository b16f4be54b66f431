"""The gated delta rule token by token: the reference that ``gated_delta_rule`` is compared with."""

import torch


def gated_delta_rule_naive(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    beta: torch.Tensor,
    state: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Shapes as in ``gated_delta_rule``; returns the outputs and the state after every token.

    The second result is ``[tokens + 1, value heads, value dim, key dim]``; its entry 0 is ``state`` itself, so the
    state at the start of chunk ``c`` is entry ``c * CHUNK_TOKENS``.
    """
    groups = v.shape[1] // k.shape[1]
    q = q.repeat_interleave(groups, 1)
    k = k.repeat_interleave(groups, 1)
    outputs, states = [], [state]
    for token in range(v.shape[0]):
        state = g[token].exp()[:, None, None] * state
        stored = torch.einsum("hvk,hk->hv", state, k[token])
        update = beta[token][:, None] * (v[token] - stored)
        state = state + torch.einsum("hv,hk->hvk", update, k[token])
        outputs.append(torch.einsum("hvk,hk->hv", state, q[token]))
        states.append(state)
    return torch.stack(outputs), torch.stack(states)
