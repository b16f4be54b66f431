"""One forward as the memory sees it: queries are collected, recalled events are merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from .heads import VotingHeads
from .hooks.recurrent_layers import RecurrentInputs
from .merge import attend, merge
from .placed import PlacedEvents
from .shape import LayerShape


@dataclass(slots=True)
class Heard:
    """Queries collected while a request is read.

    Those `[tokens, heads, dim]` of the voting heads at `positions`, rotated, with `lse` `[heads, tokens]` of what they
    attended to.
    """

    tokens: Tensor
    positions: Tensor
    queries: Tensor
    lse: Tensor

    @classmethod
    def joined(cls, parts: Sequence[Heard]) -> Heard:
        """Several parts, one after the other."""
        return cls(
            torch.cat([p.tokens for p in parts]),
            torch.cat([p.positions for p in parts]),
            torch.cat([p.queries for p in parts]),
            torch.cat([p.lse for p in parts], dim=1),
        )

    def of(self, tokens: Tensor) -> Heard:
        """Those of `tokens`, which must be among the heard ones; ascending."""
        at = torch.searchsorted(self.tokens, tokens)
        return Heard(self.tokens[at], self.positions[at], self.queries[at], self.lse[:, at])


@dataclass(slots=True)
class RequestReading:
    """One request's part of a forward.

    The forward computes its tokens `[start, end)`; `asking` `[n]` are those whose queries and log-sum-exp are wanted,
    ascending. Tokens from `sees_from` on attend to `placed`. `recurrent` collects what recurrent layers do with the
    tokens, per layer.
    """

    start: int
    end: int
    asking: Tensor | None = None
    placed: PlacedEvents | None = None
    sees_from: int = 0
    recurrent: dict[int, list[RecurrentInputs]] | None = None
    queries: Tensor | None = field(default=None, init=False)
    lse: Tensor | None = field(default=None, init=False)

    @property
    def listens(self) -> bool:
        """Whether anything is wanted of the forward, or done to it."""
        return self.asking is not None or self.placed is not None or self.recurrent is not None


class Reading:
    """The requests of a forward that have a memory; `None` for those that have not."""

    def __init__(
        self,
        layers: Mapping[int, LayerShape],
        heads: VotingHeads,
        requests: Sequence[tuple[int, RequestReading | None]],
    ) -> None:
        """`requests` gives, for every request of the batch in order, its number of tokens and its reading."""
        self._layers, self._heads = layers, heads
        self._requests: list[tuple[slice, RequestReading]] = []
        offset = 0
        for tokens, request in requests:
            if request is not None and request.listens:
                self._requests.append((slice(offset, offset + tokens), request))
            offset += tokens

    def __bool__(self) -> bool:
        return bool(self._requests)

    def attended(self, layer_id: int, queries: Tensor, output: Tensor, lse: Tensor | None) -> None:
        """See `hooks.engine.Listener.attended`. Raises `RuntimeError` when a layer with a memory has no `lse`."""
        layer = self._layers.get(layer_id)
        if layer is None:
            return
        voting = self._heads.of_layer(layer_id)
        for tokens, request in self._requests:
            asks = voting is not None and request.asking is not None
            if not asks and request.placed is None:
                continue
            if lse is None:
                raise RuntimeError(f"the attention back end gives no log-sum-exp of layer {layer_id}")
            own_lse = lse[tokens]
            if request.placed is not None:
                own_lse = _merge_placed(request, layer_id, layer, queries[tokens], output[tokens], own_lse)
            if voting is not None and request.asking is not None:
                self._keep(request, request.asking - request.start, voting, queries[tokens], own_lse)

    def recurred(self, layer_id: int, inputs: RecurrentInputs) -> None:
        """See `hooks.engine.Listener.recurred`."""
        for tokens, request in self._requests:
            if request.recurrent is not None:
                request.recurrent.setdefault(layer_id, []).append(inputs.of(tokens))

    def _keep(
        self, request: RequestReading, at: Tensor, voting: tuple[Tensor, Tensor], queries: Tensor, lse: Tensor
    ) -> None:
        numbers, query_heads = voting
        if request.queries is None or request.lse is None:
            request.queries = queries.new_empty(len(at), len(self._heads), queries.shape[-1])
            request.lse = torch.empty(len(self._heads), len(at), dtype=torch.float32, device=queries.device)
        rows = at[:, None]
        request.queries[:, numbers] = queries[rows, query_heads]
        request.lse[numbers] = lse[rows, query_heads].T.float()


def _merge_placed(
    request: RequestReading, layer_id: int, layer: LayerShape, queries: Tensor, output: Tensor, lse: Tensor
) -> Tensor:
    """Merge the recalled events into `output` in place; returns the log-sum-exp with them."""
    assert request.placed is not None
    first = max(request.sees_from, request.start) - request.start
    if first >= request.end - request.start:
        return lse
    keys, values = request.placed.of_layer(layer_id)
    recalled = attend(queries[first:], keys, values, layer.scale, request.placed.bias)
    output[first:], with_recall = merge(output[first:], lse[first:], *recalled)
    return torch.cat((lse[:first], with_recall)) if first else with_recall
