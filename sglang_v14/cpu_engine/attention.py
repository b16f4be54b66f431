"""Faster attention for SGLang's ``torch_native`` back end.

As it is, that back end computes the queries of the whole prefix again for every new token or chunk, and gathers keys
with an indexing operation several times slower than ``index_select``. This one also leaves the log-sum-exp of what it
computed in the back end's ``softmax_lse`` (see ``hooks.attention``).
"""

from collections.abc import Callable
from typing import Any

import torch

from sglang_v14.cpu_engine.kernels.attention import attend


def run_sdpa_forward_extend(
    original: Callable[..., torch.Tensor],
    backend: Any,
    query: torch.Tensor,
    output: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    req_to_token: torch.Tensor,
    req_pool_indices: torch.Tensor,
    seq_lens: torch.Tensor,
    extend_prefix_lens: torch.Tensor,
    extend_seq_lens: torch.Tensor,
    encoder_lens: torch.Tensor | None = None,
    **options: Any,
) -> torch.Tensor:
    """Prefill of several requests; an AROUND hook, encoder-decoder models go to ``original``.

    Args:
        query, output: ``[tokens of all requests, heads, dim]``; ``output`` is written.
        k_cache, v_cache: the pools ``[slots, key heads, dim]``.
        req_to_token: pool slots of every request's positions ``[rows, positions]``.
        req_pool_indices: row of every request ``[requests]``.
        seq_lens, extend_prefix_lens, extend_seq_lens: tokens in all, cached, and new ``[requests]``.
        options: ``scaling``, ``causal``, ``sliding_window_size`` and what only encoder-decoder models need.
    """
    if encoder_lens is not None:
        lengths = (seq_lens, extend_prefix_lens, extend_seq_lens, encoder_lens)
        return original(backend, query, output, k_cache, v_cache, req_to_token, req_pool_indices, *lengths, **options)
    start = 0
    lse = []
    for row, total, new in zip(req_pool_indices.tolist(), seq_lens.tolist(), extend_seq_lens.tolist(), strict=True):
        slots = req_to_token[row, :total]
        output[start : start + new], part = attend(
            query[start : start + new],
            k_cache.index_select(0, slots),
            v_cache.index_select(0, slots),
            options["scaling"],
            causal=options["causal"],
            window=_window(options),
        )
        lse.append(part)
        start += new
    backend.softmax_lse = _joined(lse)
    return output


def run_sdpa_forward_decode(
    original: Callable[..., torch.Tensor],
    backend: Any,
    query: torch.Tensor,
    output: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    req_to_token: torch.Tensor,
    req_pool_indices: torch.Tensor,
    seq_lens: torch.Tensor,
    encoder_lens: torch.Tensor | None = None,
    **options: Any,
) -> torch.Tensor:
    """Decode: one new token per request; arguments as in ``run_sdpa_forward_extend``."""
    if encoder_lens is not None:
        lengths = (seq_lens, encoder_lens)
        return original(backend, query, output, k_cache, v_cache, req_to_token, req_pool_indices, *lengths, **options)
    window = _window(options)
    lse = []
    for index, (row, total) in enumerate(zip(req_pool_indices.tolist(), seq_lens.tolist(), strict=True)):
        first = 0 if window is None else max(0, total - 1 - window)
        slots = req_to_token[row, first:total]
        output[index : index + 1], part = attend(
            query[index : index + 1],
            k_cache.index_select(0, slots),
            v_cache.index_select(0, slots),
            options["scaling"],
            causal=False,
        )
        lse.append(part if window is None else None)
    backend.softmax_lse = _joined(lse)
    return output


def _joined(parts: list[torch.Tensor | None]) -> torch.Tensor | None:
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    return known[0] if len(known) == 1 else torch.cat(known)


def _window(options: dict[str, Any]) -> int | None:
    size = options.get("sliding_window_size")
    return None if size is None or size < 0 else int(size)
