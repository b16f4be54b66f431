"""A forward with recalled events against whole attention over recalled and own keys."""

from __future__ import annotations

import pytest
import torch
from tiny_model import Layer, Pool, rotary_table
from torch import Tensor
from whole_attention import causal, whole_attention

from sglang_v14.heads import VotingHeads
from sglang_v14.placed import EventBody, PlacedEvents
from sglang_v14.reading import Heard, Reading, RequestReading
from sglang_v14.rope import Rope

LAYERS = {0: Layer(), 3: Layer(query_heads=6, key_heads=2)}
ROPE = Rope(rotary_table(256, 16))
ROPES = {0: ROPE, 3: ROPE}
HEADS = VotingHeads([(3, 5), (0, 0), (3, 1), (0, 3), (3, 0)], dict(LAYERS), dict(ROPES))


def placed_events(generator: torch.Generator, lengths: tuple[int, ...], end: int) -> PlacedEvents:
    bodies = [
        EventBody((0, 3), *(torch.randn(2, length, 2, 16, generator=generator) for _ in ("keys", "values")))
        for length in lengths
    ]
    bias = torch.randn(sum(lengths), generator=generator)
    return PlacedEvents(bodies, bias, end, ROPES, torch.float32, torch.device("cpu"))


def with_recall(
    layer_id: int, queries: Tensor, positions: Tensor, keys: Tensor, values: Tensor, placed: PlacedEvents | None
) -> tuple[Tensor, Tensor]:
    """Attention over the recalled keys, if any, and the own keys up to each token's position."""
    bias, visible = torch.zeros(len(keys)), causal(positions, len(keys))
    if placed is not None:
        recalled_keys, recalled_values = placed.of_layer(layer_id)
        keys, values = torch.cat((recalled_keys, keys)), torch.cat((recalled_values, values))
        bias = torch.cat((placed.bias, bias))
        visible = torch.cat((torch.ones(len(positions), placed.tokens, dtype=torch.bool), visible), dim=1)
    return whole_attention(queries, keys, values, LAYERS[layer_id].scale, bias, visible)


class Batch:
    """A forward of several requests: the queries and plain outputs of every layer."""

    def __init__(self, generator: torch.Generator, readings: list[RequestReading | None], spans: list[tuple[int, int]]):
        self.readings, self.spans = readings, spans
        self.pool = Pool(LAYERS, [end for _, end in spans], generator)
        tokens = sum(end - start for start, end in spans)
        self.queries = {n: torch.randn(tokens, la.query_heads, 16, generator=generator) for n, la in LAYERS.items()}
        plain = {n: [self.expected(n, row, None) for row in range(len(spans))] for n in LAYERS}
        self.outputs, self.lse = (
            {n: torch.cat([part[which] for part in parts]).float() for n, parts in plain.items()} for which in (0, 1)
        )

    def rows(self, row: int) -> slice:
        first = sum(end - start for start, end in self.spans[:row])
        return slice(first, first + self.spans[row][1] - self.spans[row][0])

    def expected(self, layer_id: int, row: int, placed: PlacedEvents | None) -> tuple[Tensor, Tensor]:
        slots = self.pool.slots(row, 0, self.spans[row][1])
        queries, positions = self.queries[layer_id][self.rows(row)], torch.arange(*self.spans[row])
        keys, values = self.pool.keys(layer_id, slots), self.pool.values(layer_id, slots)
        return with_recall(layer_id, queries, positions, keys, values, placed)

    def attend(self) -> Reading:
        lengths = [end - start for start, end in self.spans]
        reading = Reading(LAYERS, HEADS, list(zip(lengths, self.readings, strict=True)))
        for layer_id in LAYERS:
            reading.attended(layer_id, self.queries[layer_id], self.outputs[layer_id], self.lse[layer_id])
        return reading


@pytest.fixture
def batch(generator: torch.Generator) -> Batch:
    """A request without memory, one that asks, one that recalls from its 5th token on, and one that does both."""
    recalling = RequestReading(3, 11, placed=placed_events(generator, (4, 6), 30), sees_from=5)
    both = RequestReading(0, 9, asking=torch.tensor([2, 3, 8]), placed=placed_events(generator, (5,), 20))
    readings = [None, RequestReading(4, 12, asking=torch.tensor([5, 9, 11])), recalling, both]
    return Batch(generator, readings, [(0, 6), (4, 12), (3, 11), (0, 9)])


@pytest.mark.parametrize("layer_id", LAYERS)
def test_tokens_that_see_the_recall(batch: Batch, layer_id: int) -> None:
    """From `sees_from` on a token attends to recalled and own keys as if they were one context."""
    batch.attend()
    for row, first in ((2, 2), (3, 0)):
        reading = batch.readings[row]
        assert reading is not None
        assert reading.placed is not None
        expected, _ = batch.expected(layer_id, row, reading.placed)
        found = batch.outputs[layer_id][batch.rows(row)]
        torch.testing.assert_close(found[first:].double(), expected[first:], atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("layer_id", LAYERS)
def test_tokens_that_do_not_see_the_recall(batch: Batch, layer_id: int) -> None:
    """Requests without memory or without a recall, and tokens before `sees_from`, keep their output bit for bit."""
    before = batch.outputs[layer_id].clone()
    batch.attend()
    after = batch.outputs[layer_id]
    unseeing = [*range(*batch.rows(0).indices(99)), *range(*batch.rows(1).indices(99)), 14, 15]
    assert torch.equal(after[unseeing], before[unseeing])
    assert not torch.isclose(after[16], before[16]).all()


@pytest.mark.parametrize("row", [1, 3])
def test_queries_and_their_lse_are_collected(batch: Batch, row: int) -> None:
    """Every voting head's query and log-sum-exp, in the order of the voting heads, with what the token attends to."""
    batch.attend()
    reading = batch.readings[row]
    assert reading is not None
    assert reading.asking is not None
    assert reading.queries is not None
    assert reading.lse is not None
    at = reading.asking - batch.spans[row][0]
    for number, (layer_id, head) in enumerate(HEADS.heads):
        own = batch.queries[layer_id][batch.rows(row)][at, head]
        assert torch.equal(reading.queries[:, number], own)
        _, lse = batch.expected(layer_id, row, reading.placed)
        torch.testing.assert_close(reading.lse[number].double(), lse[at, head], atol=2e-6, rtol=1e-5)


def test_requests_that_do_not_ask_collect_nothing(batch: Batch) -> None:
    """Queries are kept only where they are wanted."""
    assert batch.attend()
    recalling = batch.readings[2]
    assert recalling is not None
    assert recalling.queries is None
    assert not Reading(LAYERS, HEADS, [(6, None), (2, RequestReading(0, 2))])


def test_recall_behind_the_part_that_is_read(generator: torch.Generator) -> None:
    """A chunk that ends before `sees_from` is left alone."""
    reading = RequestReading(0, 5, placed=placed_events(generator, (4,), 30), sees_from=5)
    batch = Batch(generator, [reading], [(0, 5)])
    before = batch.outputs[0].clone()
    batch.attend()
    assert torch.equal(batch.outputs[0], before)


def test_output_of_half_precision(generator: torch.Generator) -> None:
    """What is merged is written back in the model's dtype."""
    reading = RequestReading(4, 5, placed=placed_events(generator, (8,), 30))
    batch = Batch(generator, [reading], [(4, 5)])
    batch.outputs = {n: output.to(torch.bfloat16) for n, output in batch.outputs.items()}
    batch.attend()
    expected, _ = batch.expected(0, 0, reading.placed)
    assert batch.outputs[0].dtype == torch.bfloat16
    torch.testing.assert_close(batch.outputs[0].double(), expected, atol=2e-2, rtol=2e-2)


def test_other_layers_are_left_alone(batch: Batch) -> None:
    """Layers with a sliding window have neither a memory nor a log-sum-exp."""
    reading = Reading(LAYERS, HEADS, [(6, None), (8, batch.readings[1])])
    queries = output = torch.full((14, 4, 16), torch.nan)
    reading.attended(1, queries, output, None)
    assert batch.readings[1] is not None
    assert batch.readings[1].queries is None


def test_a_back_end_without_lse(batch: Batch) -> None:
    """Nothing is merged by guess."""
    reading = Reading(LAYERS, HEADS, [(6, None), (8, batch.readings[1])])
    with pytest.raises(RuntimeError, match="no log-sum-exp of layer 3"):
        reading.attended(3, batch.queries[3], batch.outputs[3], None)


def heard(generator: torch.Generator, *tokens: int) -> Heard:
    queries, lse = (torch.randn(*shape, generator=generator) for shape in ((len(tokens), 5, 16), (5, len(tokens))))
    return Heard(torch.tensor(tokens), torch.tensor(tokens) + 100, queries, lse)


def test_heard_parts_are_joined(generator: torch.Generator) -> None:
    """What several chunks left is one, from which tokens can be taken."""
    a, b = heard(generator, 3, 4, 8), heard(generator, 10, 15)
    some = Heard.joined([a, b]).of(torch.tensor([4, 10, 15]))
    assert some.tokens.tolist() == [4, 10, 15]
    assert some.positions.tolist() == [104, 110, 115]
    assert torch.equal(some.queries, torch.cat((a.queries[1:2], b.queries)))
    assert torch.equal(some.lse, torch.cat((a.lse[:, 1:2], b.lse), dim=1))
