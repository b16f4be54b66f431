"""A forward with recalled events against whole attention over recalled and own keys."""

from __future__ import annotations

import pytest
import torch
from tiny_model import Layer, Pool, rotary_table
from torch import Tensor
from whole_attention import causal, whole_attention

from sglang_v14 import reading as reading_module
from sglang_v14.heads import VotingHeads
from sglang_v14.placed import EventBody, PlacedEvents
from sglang_v14.reading import Heard, Reading, RequestReading, lse_of, own_lse, visible
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
        self.plain = {n: torch.cat([self.expected(n, row, None)[0] for row in range(len(spans))]) for n in LAYERS}
        self.outputs = {n: output.float() for n, output in self.plain.items()}

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
        reading = Reading(self.pool, HEADS, list(zip(lengths, self.readings, strict=True)))
        for layer_id in (0, 1, 3):
            queries, output = self.queries.get(layer_id), self.outputs.get(layer_id)
            if queries is None or output is None:
                queries = output = torch.full((sum(lengths), 4, 16), torch.nan)
            reading.attended(layer_id, queries, output)
        return reading


@pytest.fixture
def batch(generator: torch.Generator) -> Batch:
    """A request without memory, one that asks, one that recalls from its 5th token on, and one that does both."""
    recalling = RequestReading(2, 3, 11, placed=placed_events(generator, (4, 6), 30), sees_from=5)
    both = RequestReading(3, 0, 9, asking=torch.tensor([2, 3, 8]), placed=placed_events(generator, (5,), 20))
    readings = [None, RequestReading(1, 4, 12, asking=torch.tensor([5, 9, 11])), recalling, both]
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
    assert not Reading(batch.pool, HEADS, [(6, None), (2, RequestReading(0, 0, 2))])


def test_recall_behind_the_part_that_is_read(generator: torch.Generator) -> None:
    """A chunk that ends before `sees_from` is left alone."""
    reading = RequestReading(0, 0, 5, placed=placed_events(generator, (4,), 30), sees_from=5)
    batch = Batch(generator, [reading], [(0, 5)])
    before = batch.outputs[0].clone()
    batch.attend()
    assert torch.equal(batch.outputs[0], before)


def test_output_of_half_precision(generator: torch.Generator) -> None:
    """What is merged is written back in the model's dtype."""
    reading = RequestReading(0, 4, 5, placed=placed_events(generator, (8,), 30))
    batch = Batch(generator, [reading], [(4, 5)])
    batch.outputs = {n: output.to(torch.bfloat16) for n, output in batch.outputs.items()}
    batch.attend()
    expected, _ = batch.expected(0, 0, reading.placed)
    assert batch.outputs[0].dtype == torch.bfloat16
    torch.testing.assert_close(batch.outputs[0].double(), expected, atol=2e-2, rtol=2e-2)


@pytest.mark.parametrize("row", [1, 3])
def test_the_lse_can_be_had_later(batch: Batch, row: int) -> None:
    """From the queries that were kept and the pool, with a recall in place and without: the same to rounding."""
    batch.attend()
    at_once = batch.readings[row]
    assert at_once is not None
    assert at_once.lse is not None
    later = RequestReading(row, *batch.spans[row], asking=at_once.asking, placed=at_once.placed, lse_later=True)
    batch.readings[row] = later
    batch.attend()
    assert later.lse is None
    assert later.queries is not None
    assert later.asking is not None
    heard = Heard(later.asking, later.asking, later.queries, None)
    torch.testing.assert_close(lse_of(batch.pool, HEADS, row, heard, later.placed), at_once.lse, atol=1e-5, rtol=1e-5)


def test_visible() -> None:
    """The bias on the recalled keys for every token, and of the own keys those up to the token's."""
    inf = torch.inf
    found = visible(torch.tensor([0.0, -1.5]), 2, 4)
    assert found.tolist() == [[0.0, -1.5, 0.0, 0.0, 0.0, -inf], [0.0, -1.5, 0.0, 0.0, 0.0, 0.0]]


def heard(generator: torch.Generator, *tokens: int, with_lse: bool = True) -> Heard:
    queries, lse = (
        torch.randn(len(tokens), 5, 16, generator=generator),
        torch.randn(5, len(tokens), generator=generator),
    )
    return Heard(torch.tensor(tokens), torch.tensor(tokens) + 100, queries, lse if with_lse else None)


def test_heard_parts_are_joined(generator: torch.Generator) -> None:
    """What several chunks left is one, from which tokens can be taken."""
    a, b = heard(generator, 3, 4, 8), heard(generator, 10, 15)
    some = Heard.joined([a, b]).of(torch.tensor([4, 10, 15]))
    assert some.tokens.tolist() == [4, 10, 15]
    assert some.positions.tolist() == [104, 110, 115]
    assert torch.equal(some.queries, torch.cat((a.queries[1:2], b.queries)))
    assert a.lse is not None
    assert b.lse is not None
    assert some.lse is not None
    assert torch.equal(some.lse, torch.cat((a.lse[:, 1:2], b.lse), dim=1))


def test_heard_parts_without_their_lse(generator: torch.Generator) -> None:
    """One part without it leaves the whole without it: none is made up."""
    joined = Heard.joined([heard(generator, 3), heard(generator, 4, with_lse=False)])
    assert joined.lse is None
    assert joined.of(torch.tensor([4])).lse is None


@pytest.mark.parametrize("first", [0, 9], ids=["from the start", "behind a prefix"])
@pytest.mark.parametrize("chunk", [512, 7, 1])
def test_own_lse(generator: torch.Generator, monkeypatch: pytest.MonkeyPatch, first: int, chunk: int) -> None:
    """Causal, with grouped heads, in chunks that do and do not divide the tokens."""
    monkeypatch.setattr(reading_module, "_QUERY_CHUNK", chunk)
    positions = torch.arange(first, 30)
    queries, keys = torch.randn(len(positions), 6, 16, generator=generator), torch.randn(30, 2, 16, generator=generator)
    _, expected = whole_attention(queries, keys, keys, 0.3, torch.zeros(30), causal(positions, 30))
    torch.testing.assert_close(own_lse(queries, keys, positions, 0.3).double(), expected, atol=2e-6, rtol=1e-5)


def test_own_lse_of_some_tokens_and_many(generator: torch.Generator) -> None:
    """More tokens than are scored at once, not all of them in a row, with one key head for two."""
    positions = torch.arange(2, 1300, 2)
    assert len(positions) > reading_module._QUERY_CHUNK
    queries, keys = torch.randn(len(positions), 2, 8, generator=generator), torch.randn(1300, 1, 8, generator=generator)
    scores = torch.einsum("thd,nd->thn", queries.double(), keys[:, 0].double()) * 0.3
    scores[~causal(positions, 1300)[:, None].expand_as(scores)] = -torch.inf
    expected = torch.logsumexp(scores, dim=-1)
    torch.testing.assert_close(own_lse(queries, keys, positions, 0.3).double(), expected, atol=2e-6, rtol=1e-5)
