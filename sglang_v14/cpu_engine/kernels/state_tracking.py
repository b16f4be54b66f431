"""Copying recurrent states to the slots from which the prefix cache restores them."""

import torch


def track_mamba_states_all_layers(
    conv_states_pool: torch.Tensor,
    ssm_states_pool: torch.Tensor,
    cache_indices: torch.Tensor,
    mamba_track_mask: torch.Tensor,
    mamba_track_indices: torch.Tensor,
    batch_size: int,
    check_freed_slots: bool = False,
) -> None:
    """Copy the states of the marked sequences, in every layer, to their tracking slots.

    Args:
        conv_states_pool, ssm_states_pool: ``[layers, slots, ...]``, written in place.
        cache_indices: working slot of every sequence ``[>= batch_size]``.
        mamba_track_mask: which sequences are due ``[>= batch_size]``.
        mamba_track_indices: where to ``[>= batch_size]``.
        batch_size: sequences in this batch; what lies behind them is padding.
        check_freed_slots: leave out pairs with a negative slot.
    """
    due = mamba_track_mask[:batch_size].bool()
    source = cache_indices[:batch_size][due].long()
    target = mamba_track_indices[:batch_size][due].long()
    if check_freed_slots:
        kept = (source >= 0) & (target >= 0)
        source, target = source[kept], target[kept]
    if source.numel():
        conv_states_pool[:, target] = conv_states_pool[:, source]
        ssm_states_pool[:, target] = ssm_states_pool[:, source]


def track_mamba_states_if_needed(
    conv_states: torch.Tensor,
    ssm_states: torch.Tensor,
    cache_indices: torch.Tensor,
    mamba_track_mask: torch.Tensor,
    mamba_track_indices: torch.Tensor,
    batch_size: int,
    check_freed_slots: bool = False,
) -> None:
    """The same for one layer's states ``[slots, ...]``."""
    track_mamba_states_all_layers(
        conv_states[None],
        ssm_states[None],
        cache_indices,
        mamba_track_mask,
        mamba_track_indices,
        batch_size,
        check_freed_slots,
    )
