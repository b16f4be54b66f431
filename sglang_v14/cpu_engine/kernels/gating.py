"""Element-wise gates of Qwen3.5-type layers."""

import torch
import torch.nn.functional as F


def fused_sigmoid_mul_cpu(x: torch.Tensor, gate: torch.Tensor, inplace: bool = True) -> torch.Tensor:
    """``x * sigmoid(gate)``, the output gate of full attention.

    Args:
        x, gate: the same number of elements; ``gate`` may be a strided view such as ``[tokens, heads, dim]``.
        inplace: overwrite ``x`` and return it.
    """
    scale = torch.sigmoid(gate.float()).to(x.dtype).reshape(x.shape)
    return x.mul_(scale) if inplace else x * scale


def fused_gdn_gating_cpu(
    A_log: torch.Tensor, a: torch.Tensor, b: torch.Tensor, dt_bias: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Log decay ``g = -exp(A_log) softplus(a + dt_bias)`` and write strength ``beta = sigmoid(b)``.

    The formulas are those of arXiv:2412.06464, section 3.4, taken over from Mamba2.

    Args:
        A_log, dt_bias: ``[value heads]``.
        a, b: ``[tokens, value heads]``.

    Returns:
        ``g`` and ``beta``, each ``[1, tokens, value heads]`` in float32.
    """
    g = -A_log.float().exp() * F.softplus(a.float() + dt_bias.float())
    return g[None], torch.sigmoid(b.float())[None]
