"""Splitting the packed input projections of a Gated DeltaNet layer."""

import torch


def fused_qkvzba_split_reshape_cat_contiguous_cpu(
    qkvz: torch.Tensor, ba: torch.Tensor, key_heads: int, value_heads: int, key_dim: int, value_dim: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Split ``[q | k | v | z]`` and ``[b | a]``.

    Args:
        qkvz: ``[tokens, 2 * key_heads * key_dim + 2 * value_heads * value_dim]``.
        ba: ``[tokens, 2 * value_heads]``.

    Returns:
        ``q | k | v`` as ``[tokens, channels]``, ``z`` as ``[tokens, value_heads, value_dim]``, ``b`` and ``a`` as
        ``[tokens, value_heads]``.
    """
    values = value_heads * value_dim
    qkv, z = torch.split(qkvz, [2 * key_heads * key_dim + values, values], -1)
    b, a = ba.chunk(2, -1)
    return qkv.contiguous(), z.reshape(-1, value_heads, value_dim), b.contiguous(), a.contiguous()
