"""One forward as the memory sees it: queries are collected, recalled events are merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from .heads import VotingHeads
from .merge import attend_masked
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
    def values(self, layer_id: int, slots: Tensor) -> Tensor: ...


@dataclass(slots=True)
class Heard:
    """Queries collected while a request is read.

    Those `[tokens, heads, dim]` of the voting heads at `positions`, rotated, with `lse` `[heads, tokens]`.
    """

    tokens: Tensor
    positions: Tensor
    queries: Tensor
    lse: Tensor | None

    @classmethod
    def joined(cls, parts: Sequence[Heard]) -> Heard:
        """Several parts, one after the other; without `lse` when one has none."""
        lse = [p.lse for p in parts if p.lse is not None]
        return cls(
            torch.cat([p.tokens for p in parts]),
            torch.cat([p.positions for p in parts]),
            torch.cat([p.queries for p in parts]),
            torch.cat(lse, dim=1) if len(lse) == len(parts) else None,
        )

    def of(self, tokens: Tensor) -> Heard:
        """Those of `tokens`, which must be among the heard ones; ascending."""
        at = torch.searchsorted(self.tokens, tokens)
        lse = None if self.lse is None else self.lse[:, at]
        return Heard(self.tokens[at], self.positions[at], self.queries[at], lse)


@dataclass(slots=True)
class RequestReading:
    """One request's part of a forward.

    The forward computes its tokens `[start, end)`; `asking` `[n]` are those whose queries are wanted, ascending, and
    with them their log-sum-exp unless `lse_later`. Tokens from `sees_from` on attend to `placed`.
    """

    table_row: int
    start: int
    end: int
    asking: Tensor | None = None
    lse_later: bool = False
    placed: PlacedEvents | None = None
    sees_from: int = 0
    queries: Tensor | None = field(default=None, init=False)
    lse: Tensor | None = field(default=None, init=False)
    slots: Tensor | None = field(default=None, init=False)
    visible: Tensor | None = field(default=None, init=False)


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
            tokens = slice(offset, offset + request.end - request.start)
            if asks:
                self._keep_queries(request, numbers, query_heads, queries[tokens])
            if asks and not request.lse_later:
                self._keep_lse(request, layer_id, layer, numbers, query_heads)
            if request.placed is not None:
                self._merge_placed(request, layer_id, layer, queries[tokens], output[tokens])

    def _slots(self, request: RequestReading) -> Tensor:
        if request.slots is None:
            request.slots = self._pool.slots(request.table_row, 0, request.end)
        return request.slots

    def _keep_queries(
        self, request: RequestReading, numbers: list[int], query_heads: list[int], queries: Tensor
    ) -> None:
        asking = request.asking
        assert asking is not None
        if request.queries is None:
            request.queries = queries.new_empty(len(asking), len(self._heads), queries.shape[-1])
        request.queries[:, numbers] = queries[asking - request.start][:, query_heads]

    def _keep_lse(
        self, request: RequestReading, layer_id: int, layer: LayerShape, numbers: list[int], query_heads: list[int]
    ) -> None:
        asking, queries = request.asking, request.queries
        assert asking is not None and queries is not None
        if request.lse is None:
            request.lse = torch.empty(len(self._heads), len(asking), dtype=torch.float32, device=queries.device)
        keys = self._pool.keys(layer_id, self._slots(request))
        lse = _lse(queries[:, numbers], asking, keys, layer_id, layer, query_heads, request.placed)
        request.lse[numbers] = lse.T

    def _merge_placed(
        self, request: RequestReading, layer_id: int, layer: LayerShape, queries: Tensor, output: Tensor
    ) -> None:
        assert request.placed is not None
        first = max(request.sees_from, request.start)
        if first >= request.end:
            return
        if request.visible is None:
            request.visible = visible(request.placed.bias, first, request.end)
        seeing = slice(first - request.start, request.end - request.start)
        placed_keys, placed_values = request.placed.of_layer(layer_id)
        slots = self._slots(request)
        keys = torch.cat((placed_keys, self._pool.keys(layer_id, slots).to(placed_keys.dtype)))
        values = torch.cat((placed_values, self._pool.values(layer_id, slots).to(placed_values.dtype)))
        output[seeing] = attend_masked(queries[seeing], keys, values, layer.scale, request.visible)


def lse_of(pool: KeyPool, heads: VotingHeads, table_row: int, heard: Heard, placed: PlacedEvents | None) -> Tensor:
    """The log-sum-exp `[heads, tokens]` of queries kept with `lse_later`, from their request's keys in the pool."""
    slots = pool.slots(table_row, 0, int(heard.tokens.max()) + 1)
    lse = torch.empty(len(heads), len(heard.tokens), dtype=torch.float32, device=heard.queries.device)
    for layer_id in heads.layers:
        numbers, query_heads = heads.of_layer(layer_id)
        keys = pool.keys(layer_id, slots)
        queries = heard.queries[:, numbers]
        lse[numbers] = _lse(queries, heard.tokens, keys, layer_id, pool.layers[layer_id], query_heads, placed).T
    return lse


def _lse(
    queries: Tensor,
    tokens: Tensor,
    keys: Tensor,
    layer_id: int,
    layer: LayerShape,
    query_heads: list[int],
    placed: PlacedEvents | None,
) -> Tensor:
    key_heads = [head // (layer.query_heads // layer.key_heads) for head in query_heads]
    lse = own_lse(queries, keys[:, key_heads], tokens, layer.scale)
    if placed is not None:
        placed_keys = placed.of_layer(layer_id)[0][:, key_heads].float()
        scores = torch.einsum("thd,nhd->thn", queries.float(), placed_keys) * layer.scale
        lse = torch.logaddexp(lse, torch.logsumexp(scores + placed.bias, dim=-1))
    return lse


def visible(bias: Tensor, first: int, end: int) -> Tensor:
    """What is added to the scores of the tokens `[first, end)`: `[end - first, recalled + end]` float32.

    `bias` `[recalled]` on the recalled keys, and the causal mask on the request's own.
    """
    tokens = torch.arange(first, end, device=bias.device)
    own = torch.zeros(end - first, end, device=bias.device)
    own.masked_fill_(torch.arange(end, device=bias.device) > tokens[:, None], -torch.inf)
    return torch.cat((bias.float().expand(end - first, -1), own), dim=1)


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
