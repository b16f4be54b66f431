"""One forward as the memory sees it: queries are collected, recalled events are merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from .heads import VotingHeads
from .merge import attend, merge
from .placed import PlacedEvents
from .shape import LayerShape

# Scores of at most this many queries against all keys exist at once.
_QUERY_CHUNK = 512


class KeyPool(Protocol):
    """Where the model keeps its own keys; see `hooks.model_view.ModelView`."""

    @property
    def layers(self) -> dict[int, LayerShape]: ...
    def slots(self, row: int, start: int, end: int) -> Tensor: ...
    def keys(self, layer_id: int, slots: Tensor) -> Tensor: ...


@dataclass(slots=True)
class RequestReading:
    """One request's part of a forward.

    The forward computes its tokens `[start, end)`; `asking` `[n]` are those whose queries are wanted, ascending.
    Tokens from
    `sees_from` on attend to `placed`.
    """

    table_row: int
    start: int
    end: int
    asking: Tensor | None = None
    placed: PlacedEvents | None = None
    sees_from: int = 0
    queries: Tensor | None = field(default=None, init=False)
    lse: Tensor | None = field(default=None, init=False)
    slots: Tensor | None = field(default=None, init=False)


class Reading:
    """The requests of a forward that have a memory; `None` for those that have not."""

    def __init__(
        self, pool: KeyPool, heads: VotingHeads, requests: Sequence[tuple[int, RequestReading | None]]
    ) -> None:
        """`requests` gives, for every request of the batch in order, its number of tokens and its reading."""
        self._pool, self._heads = pool, heads
        self._requests: list[tuple[int, RequestReading]] = []
        offset = 0
        for tokens, request in requests:
            if request is not None and (request.asking is not None or request.placed is not None):
                self._requests.append((offset, request))
            offset += tokens

    def __bool__(self) -> bool:
        return bool(self._requests)

    def attended(self, layer_id: int, queries: Tensor, output: Tensor) -> None:
        """See `hooks.engine.Listener.attended`."""
        layer = self._pool.layers.get(layer_id)
        if layer is None:
            return
        numbers, query_heads = self._heads.of_layer(layer_id)
        for offset, request in self._requests:
            asks = bool(numbers) and request.asking is not None
            if not asks and request.placed is None:
                continue
            if request.slots is None:
                request.slots = self._pool.slots(request.table_row, 0, request.end)
            keys = self._pool.keys(layer_id, request.slots)
            tokens = slice(offset, offset + request.end - request.start)
            if asks:
                self._collect(request, layer, numbers, query_heads, queries[tokens], keys)
            if request.placed is not None:
                _merge_placed(request, layer_id, layer, queries[tokens], output[tokens], keys)

    def _collect(
        self,
        request: RequestReading,
        layer: LayerShape,
        numbers: list[int],
        query_heads: list[int],
        queries: Tensor,
        keys: Tensor,
    ) -> None:
        asking = request.asking
        assert asking is not None
        if request.queries is None:
            request.queries = queries.new_empty(len(asking), len(self._heads), layer.head_dim)
            request.lse = torch.empty(len(self._heads), len(asking), dtype=torch.float32, device=queries.device)
        assert request.lse is not None
        wanted = queries[asking - request.start][:, query_heads]
        request.queries[:, numbers] = wanted
        key_heads = [head // (layer.query_heads // layer.key_heads) for head in query_heads]
        lse = own_lse(wanted, keys[:, key_heads], asking, layer.scale)
        if request.placed is not None:
            placed_keys, _ = request.placed.of_layer(self._heads.heads[numbers[0]][0])
            scores = torch.einsum("thd,nhd->thn", wanted.float(), placed_keys[:, key_heads].float()) * layer.scale
            lse = torch.logaddexp(lse, torch.logsumexp(scores + request.placed.bias, dim=-1))
        request.lse[numbers] = lse.T


def _merge_placed(
    request: RequestReading, layer_id: int, layer: LayerShape, queries: Tensor, output: Tensor, keys: Tensor
) -> None:
    assert request.placed is not None
    first = max(request.sees_from, request.start)
    if first >= request.end:
        return
    seeing = slice(first - request.start, request.end - request.start)
    placed_keys, placed_values = request.placed.of_layer(layer_id)
    recalled, lse_recalled = attend(queries[seeing], placed_keys, placed_values, layer.scale, request.placed.bias)
    positions = torch.arange(first, request.end, device=keys.device)
    lse = own_lse(queries[seeing], keys, positions, layer.scale)
    merged, _ = merge(output[seeing].float(), lse, recalled, lse_recalled)
    output[seeing] = merged.to(output.dtype)


def own_lse(queries: Tensor, keys: Tensor, positions: Tensor, scale: float) -> Tensor:
    """Log-sum-exp of causal attention, `[tokens, heads]` float32.

    `queries` `[tokens, heads, dim]` of the tokens at `positions` `[tokens]`, `keys` `[keys, key_heads, dim]` of the
    tokens from 0 on.
    """
    tokens, heads, dim = queries.shape
    key_heads = keys.shape[1]
    by_head = keys.permute(1, 2, 0).float()
    out = torch.empty(tokens, heads, dtype=torch.float32, device=queries.device)
    for first in range(0, tokens, _QUERY_CHUNK):
        at = positions[first : first + _QUERY_CHUNK]
        visible = int(at.max()) + 1
        grouped = queries[first : first + _QUERY_CHUNK].float().view(len(at), key_heads, -1, dim).permute(1, 2, 0, 3)
        scores = (grouped @ by_head[:, None, :, :visible]).mul_(scale)
        if visible > 1 + int(at.min()):
            scores.masked_fill_(torch.arange(visible, device=at.device) > at[:, None], -torch.inf)
        out[first : first + len(at)] = torch.logsumexp(scores, dim=-1).permute(2, 0, 1).reshape(len(at), heads)
    return out
