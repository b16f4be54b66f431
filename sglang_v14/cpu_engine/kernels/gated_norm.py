"""Normalisation followed (or preceded) by a gate, as the recurrent layers end with."""

import torch
import torch.nn.functional as F


def layernorm_fn(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    z: torch.Tensor | None = None,
    eps: float = 1e-6,
    group_size: int | None = None,
    norm_before_gate: bool = True,
    is_rms_norm: bool = False,
    activation: str = "swish",
) -> torch.Tensor:
    """``norm(x) * act(z)``, or ``norm(x * act(z))`` when the gate comes first; computed in float32.

    Args:
        x: ``[..., dim]``.
        weight, bias: ``[dim]``.
        z: gate with as many elements as ``x``, or None.
        group_size: normalise groups of so many channels instead of all ``dim``.
        is_rms_norm: do not subtract the mean.
        activation: ``"swish"``/``"silu"`` or ``"sigmoid"``.
    """
    y = x.float()
    gate = None
    if z is not None:
        z = z.reshape(x.shape).float()
        gate = torch.sigmoid(z) if activation == "sigmoid" else F.silu(z)
        if not norm_before_gate:
            y = y * gate
    groups = y if group_size is None else y.reshape(*y.shape[:-1], -1, group_size)
    if not is_rms_norm:
        groups = groups - groups.mean(-1, keepdim=True)
    groups = groups * torch.rsqrt(groups.square().mean(-1, keepdim=True) + eps)
    y = groups.reshape(x.shape) * weight.float()
    if bias is not None:
        y = y + bias.float()
    if gate is not None and norm_before_gate:
        y = y * gate
    return y.to(x.dtype)
