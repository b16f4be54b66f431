"""Bookkeeping of the table that maps a request's positions to slots of the key/value pool."""

import torch


def assign_req_to_token_pool_cpu(
    req_pool_indices: torch.Tensor,
    req_to_token: torch.Tensor,
    start_offset: torch.Tensor,
    end_offset: torch.Tensor,
    out_cache_loc: torch.Tensor,
    row_length: int,
) -> None:
    """Write the slots of newly allocated tokens into the requests' rows.

    Args:
        req_pool_indices: row of every request ``[requests]``.
        req_to_token: the table ``[rows, positions]``, written in place.
        start_offset, end_offset: positions written per request ``[requests]``, end exclusive.
        out_cache_loc: the slots of all requests, one behind the other.
        row_length: ``positions``; only the compiled kernel needs it.
    """
    used = 0
    for row, start, end in zip(req_pool_indices.tolist(), start_offset.tolist(), end_offset.tolist(), strict=True):
        req_to_token[row, start:end] = out_cache_loc[used : used + end - start]
        used += end - start
