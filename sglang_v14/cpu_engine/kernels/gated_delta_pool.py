"""The gated delta rule over a batch of sequences whose states lie in a pool, as SGLang's layers call it."""

import itertools

import torch

from sglang_v14.cpu_engine.kernels.gated_delta_rule import gated_delta_rule, gated_delta_step, l2_normalize
from sglang_v14.cpu_engine.kernels.gating import fused_gdn_gating_cpu


def chunk_gated_delta_rule_cpu(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    beta: torch.Tensor,
    initial_state: torch.Tensor,
    cu_seqlens: torch.Tensor,
    head_first: bool = False,
    use_qk_l2norm_in_kernel: bool = True,
    *,
    initial_state_indices: torch.Tensor,
) -> tuple[torch.Tensor, None, torch.Tensor]:
    """Prefill.

    Args:
        q, k: ``[1, tokens, key heads, key dim]``.
        v: ``[1, tokens, value heads, value dim]``.
        g, beta: ``[1, tokens, value heads]``.
        initial_state: the pool ``[slots, value heads, value dim, key dim]``, updated in place.
        cu_seqlens: first token of every sequence and the end ``[sequences + 1]``.
        head_first: only False is supported.
        use_qk_l2norm_in_kernel: normalise ``q`` and ``k`` per head.
        initial_state_indices: slot of every sequence; a negative slot starts from zero and is not written back.

    Returns:
        Outputs like ``v`` (zero behind the last sequence), None, and the float32 states at the start of every chunk of
        every sequence ``[1, chunks of all sequences, value heads, value dim, key dim]``.
    """
    if head_first:
        raise NotImplementedError("chunk_gated_delta_rule_cpu: head_first")
    out = torch.zeros_like(v)
    starts = cu_seqlens.tolist()
    slots = initial_state_indices.tolist()
    chunk_states = []
    for slot, (start, end) in zip(slots, itertools.pairwise(starts), strict=False):
        if start == end:
            continue
        queries, keys = q[0, start:end].float(), k[0, start:end].float()
        if use_qk_l2norm_in_kernel:
            queries, keys = l2_normalize(queries), l2_normalize(keys)
        state = initial_state[slot] if slot >= 0 else torch.zeros_like(initial_state[0])
        outputs, state, states = gated_delta_rule(
            queries * q.shape[-1] ** -0.5, keys, v[0, start:end], g[0, start:end], beta[0, start:end], state
        )
        out[0, start:end] = outputs
        if slot >= 0:
            initial_state[slot] = state
        chunk_states.append(states)
    return out, None, torch.cat(chunk_states)[None]


def fused_sigmoid_gating_delta_rule_update_cpu(
    A_log: torch.Tensor,
    dt_bias: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    initial_state_source: torch.Tensor,
    initial_state_indices: torch.Tensor,
    cu_seqlens: torch.Tensor | None = None,
    use_qk_l2norm_in_kernel: bool = True,
    softplus_beta: float = 1.0,
    softplus_threshold: float = 20.0,
    **unsupported: object,
) -> torch.Tensor:
    """Decode: one token of every sequence, gates included.

    Args:
        A_log, dt_bias: ``[value heads]``.
        q, k: ``[1, sequences, key heads, key dim]``.
        v: ``[1, sequences, value heads, value dim]``.
        a, b: ``[sequences, value heads]``.
        initial_state_source: the pool ``[slots, value heads, value dim, key dim]``, updated in place.
        initial_state_indices: slot of every sequence; the output of a negative slot is zero.
        cu_seqlens, softplus_beta, softplus_threshold: one token per sequence and PyTorch's defaults are assumed.

    Returns:
        ``[1, sequences, value heads, value dim]`` in the dtype of ``v``.

    Raises:
        NotImplementedError: for the arguments of speculative verification.
    """
    if unsupported:
        names = ", ".join(sorted(unsupported))
        raise NotImplementedError(f"fused_sigmoid_gating_delta_rule_update_cpu: {names}")
    sequences, value_heads = v.shape[1:3]
    g, beta = fused_gdn_gating_cpu(A_log, a.reshape(sequences, value_heads), b.reshape(sequences, value_heads), dt_bias)
    queries, keys = q[0].float(), k[0].float()
    if use_qk_l2norm_in_kernel:
        queries, keys = l2_normalize(queries), l2_normalize(keys)
    valid = initial_state_indices >= 0
    slots = initial_state_indices.clamp(min=0).long()
    outputs, states = gated_delta_step(
        queries * q.shape[-1] ** -0.5, keys, v[0], g[0], beta[0], initial_state_source[slots]
    )
    initial_state_source[slots[valid]] = states[valid].to(initial_state_source.dtype)
    return (outputs * valid[:, None, None]).to(v.dtype)[None]
