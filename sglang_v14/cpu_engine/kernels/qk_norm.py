"""RMS normalisation of queries and keys per head, with the weight stored as an offset from 1 (Gemma's convention)."""

import torch


def rms_norm_offset(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    """``x / sqrt(mean(x^2) + eps) * (1 + weight)`` over the last dimension, computed in float32."""
    wide = x.float()
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps) * (1.0 + weight.float())).to(x.dtype)


def fused_qk_gemma_rmsnorm_cpu(
    q: torch.Tensor, k: torch.Tensor, q_weight: torch.Tensor, k_weight: torch.Tensor, eps: float, head_dim: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Normalise ``q`` and ``k``, each ``[tokens, heads * head_dim]``, to ``[tokens * heads, head_dim]``."""
    return (
        rms_norm_offset(q.reshape(-1, head_dim), q_weight, eps),
        rms_norm_offset(k.reshape(-1, head_dim), k_weight, eps),
    )


def fused_qk_gemma_rmsnorm_with_gate_cpu(
    q_gate: torch.Tensor,
    k: torch.Tensor,
    q_weight: torch.Tensor,
    k_weight: torch.Tensor,
    eps: float,
    head_dim: int,
    num_heads: int,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The same for a projection that holds, head by head, a query and its output gate.

    Args:
        q_gate: ``[tokens, num_heads * 2 * head_dim]``.
        k: ``[tokens, key heads * head_dim]``.

    Returns:
        Normalised queries and keys and the unchanged gate, each ``[tokens * heads, head_dim]``.
    """
    q, gate = q_gate.reshape(-1, num_heads, 2, head_dim).unbind(2)
    q, k = fused_qk_gemma_rmsnorm_cpu(q, k, q_weight, k_weight, eps, head_dim)
    return q, k, gate.contiguous().view(-1, head_dim)
