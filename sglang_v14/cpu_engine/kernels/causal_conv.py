"""Depthwise causal convolution with a per-sequence window of past inputs kept in a pool.

``y[t, c] = bias[c] + sum_w weight[c, w] * x[t - width + 1 + w, c]``, followed by SiLU where the model asks for it. The
pool holds the last ``width - 1`` inputs of every sequence as ``[slots, channels, width - 1]``, oldest first.
"""

import itertools
from collections.abc import Sequence

import torch
import torch.nn.functional as F


def causal_conv1d_fn_cpu(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    activation: str | None,
    conv_states: torch.Tensor,
    has_initial_state: torch.Tensor,
    cache_indices: torch.Tensor,
    query_start_loc: torch.Tensor,
    seq_lens_cpu: Sequence[int] | None = None,
) -> torch.Tensor:
    """Prefill: convolve several sequences lying one behind the other.

    Args:
        x: ``[channels, tokens]``, all sequences.
        weight: ``[channels, width]``.
        bias: ``[channels]`` or None.
        activation: ``"silu"``, ``"swish"`` or None.
        conv_states: the pool; the sequences' windows are written back into it.
        has_initial_state: bool ``[sequences]``; where false the window starts empty whatever the pool holds.
        cache_indices: pool slot of every sequence ``[sequences]``; a negative slot is neither read nor written.
        query_start_loc: first token of every sequence and the end ``[sequences + 1]``.
        seq_lens_cpu: not needed, the lengths follow from ``query_start_loc``.

    Returns:
        ``[channels, tokens]`` in the dtype of ``x``; zero behind the last sequence.
    """
    past = weight.shape[1] - 1
    taps = weight.float().t()
    # Time-major: the rows that are shifted against each other are contiguous.
    rows = x.t()
    out = torch.zeros_like(rows, memory_format=torch.contiguous_format)
    starts = query_start_loc.tolist()
    slots = cache_indices.tolist()
    continued = has_initial_state.tolist()
    for index, (start, end) in enumerate(itertools.pairwise(starts)):
        if start == end:
            continue
        slot = slots[index]
        if continued[index] and slot >= 0:
            before = conv_states[slot].t().to(rows.dtype)
        else:
            before = rows.new_zeros(past, rows.shape[1])
        window = torch.cat((before, rows[start:end]))
        out[start:end] = _activate(_convolve(window.float(), taps, bias), activation)
        if slot >= 0:
            conv_states[slot] = window[-past:].t()
    return out.t()


def causal_conv1d_update_cpu(
    x: torch.Tensor,
    conv_states: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    activation: str | None,
    conv_state_indices: torch.Tensor,
) -> torch.Tensor:
    """Decode: one token of every sequence.

    Args:
        x: ``[sequences, channels]``.
        conv_states: the pool, updated in place.
        weight, bias, activation: as in ``causal_conv1d_fn_cpu``.
        conv_state_indices: pool slot of every sequence ``[sequences]``; rows with a negative slot are zero.

    Raises:
        NotImplementedError: for three-dimensional ``x`` (speculative verification).
    """
    if x.dim() != 2:
        raise NotImplementedError("causal_conv1d_update_cpu: several tokens per sequence (speculative verification)")
    valid = conv_state_indices >= 0
    slots = conv_state_indices.clamp(min=0).long()
    window = torch.cat((conv_states[slots].to(x.dtype), x[:, :, None]), 2)
    y = (window.float() * weight.float()).sum(-1)
    if bias is not None:
        y = y + bias.float()
    conv_states[slots[valid]] = window[valid, :, 1:].to(conv_states.dtype)
    return _activate(y, activation).to(x.dtype) * valid[:, None]


def _convolve(window: torch.Tensor, taps: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """``window`` ``[past + tokens, channels]``, ``taps`` ``[width, channels]`` to ``[tokens, channels]``."""
    tokens = window.shape[0] - taps.shape[0] + 1
    y = window[:tokens] * taps[0]
    for shift in range(1, taps.shape[0]):
        y.addcmul_(window[shift : shift + tokens], taps[shift])
    return y if bias is None else y.add_(bias.float())


def _activate(y: torch.Tensor, activation: str | None) -> torch.Tensor:
    if activation is None:
        return y
    if activation in ("silu", "swish"):
        return F.silu(y)
    raise ValueError(f"causal convolution: unknown activation {activation!r}")
