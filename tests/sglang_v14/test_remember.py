"""From what the pool holds after a clean reading to stored events, and back."""

from __future__ import annotations

import pytest
import torch
from tiny_model import Layer, rotary_table

from memory_store import Event
from sglang_v14.engrams.engram import EngramForm
from sglang_v14.events import Span
from sglang_v14.heads import VotingHeads
from sglang_v14.placed import EventBody, PlacedEvents
from sglang_v14.remember import Snapshot, entry_of, events_of, storage_dtype
from sglang_v14.rope import Rope

LAYERS = {0: Layer(), 2: Layer()}
ROPE, SCALED = Rope(rotary_table(256, 16)), Rope(rotary_table(256, 16, 1.25))
ROPES = {0: ROPE, 2: SCALED}
HEADS = VotingHeads([(0, 3), (0, 0)], dict(LAYERS), dict(ROPES))
SPANS = (Span(b"first event id..", "user", 2, 6), Span(b"second event id.", "tool", 9, 12))
POSITIONS = torch.tensor([2, 3, 4, 5, 9, 10, 11])


class Prompt:
    """A prompt's keys, values and queries before rotation, and the snapshot of its pool."""

    def __init__(self, generator: torch.Generator, size: float = 1.0) -> None:
        self.keys = size * torch.randn(2, 7, 2, 16, generator=generator)
        self.values = torch.randn(2, 7, 2, 16, generator=generator)
        self.queries = torch.randn(7, 2, 16, generator=generator)
        self.lse = torch.randn(2, 7, generator=generator)

    def snapshot(self, dtype: torch.dtype = torch.float32) -> Snapshot:
        rotated = torch.stack([ROPES[layer].apply(self.keys[i], POSITIONS) for i, layer in enumerate((0, 2))])
        return Snapshot(
            namespace="alice",
            conversation=b"a conversation..",
            created_at=123.5,
            token_ids=range(700, 720),
            spans=SPANS,
            layers=(0, 2),
            positions=POSITIONS,
            keys=rotated.to(dtype),
            values=self.values.to(dtype),
            queries=ROPE.apply(self.queries, POSITIONS),
            lse=self.lse,
        )

    def events(self, dtype: torch.dtype) -> list[Event]:
        return events_of(self.snapshot(), HEADS, ROPES, dtype, EngramForm())


def test_events_say_where_they_are_from(generator: torch.Generator) -> None:
    """Names, tokens, roles and places come from the spans, the rest from the prompt."""
    first, second = Prompt(generator).events(torch.float32)
    assert [first.id, second.id] == [span.id for span in SPANS]
    assert (first.token_ids, second.token_ids) == ((702, 703, 704, 705), (709, 710, 711))
    assert (first.role, second.role) == ("user", "tool")
    assert (first.start, second.start) == (2, 9)
    assert 123.5 == first.created_at < second.created_at < 123.6
    for event in (first, second):
        assert (event.namespace, event.conversation) == ("alice", b"a conversation..")


@pytest.mark.parametrize(("dtype", "error"), [(torch.float32, 1e-6), (torch.float16, 2**-10), (torch.bfloat16, 2**-7)])
def test_bodies_hold_keys_before_rotation(generator: torch.Generator, dtype: torch.dtype, error: float) -> None:
    """Every layer's keys are turned back by its own rotation; values stay."""
    prompt = Prompt(generator)
    for event, tokens in zip(prompt.events(dtype), (slice(0, 4), slice(4, 7)), strict=True):
        body = EventBody.from_blocks(event.body)
        assert body.layers == (0, 2)
        assert body.keys.dtype == body.values.dtype == dtype
        torch.testing.assert_close(body.keys.float(), prompt.keys[:, tokens], atol=3 * error, rtol=error)
        torch.testing.assert_close(body.values.float(), prompt.values[:, tokens], atol=error, rtol=error)


def test_from_the_pool_to_the_next_prompt(generator: torch.Generator) -> None:
    """A stored event that is placed stands where a model would have read it."""
    prompt = Prompt(generator)
    bodies = [EventBody.from_blocks(event.body) for event in prompt.events(torch.float32)]
    placed = PlacedEvents(bodies, torch.zeros(7), 50, ROPES, torch.float32, torch.device("cpu"))
    for i, layer in enumerate((0, 2)):
        expected = ROPES[layer].apply(prompt.keys[i], torch.arange(43, 50))
        torch.testing.assert_close(placed.of_layer(layer)[0], expected, atol=1e-5, rtol=1e-5)


def test_entries_of_the_same_voting_heads(generator: torch.Generator) -> None:
    """The index part is enough: keys, queries and log-sum-exps of the event's own tokens."""
    prompt = Prompt(generator)
    second = entry_of(prompt.events(torch.bfloat16)[1], HEADS)
    assert second is not None
    assert (second.id, second.namespace, second.token_ids) == (SPANS[1].id, "alice", (709, 710, 711))
    assert (second.role, second.created_at) == ("tool", pytest.approx(123.5, abs=1e-3))
    assert second.queries is not None
    expected = torch.stack((prompt.keys[0, 4:, 1], prompt.keys[0, 4:, 0]), dim=1)
    torch.testing.assert_close(second.keys.float(), expected, atol=3e-3, rtol=2**-10)
    torch.testing.assert_close(second.queries.float(), prompt.queries[4:], atol=3e-3, rtol=2**-10)
    assert second.lse_own is not None
    assert torch.equal(second.lse_own, prompt.lse[:, 4:])


def test_entries_of_other_voting_heads(generator: torch.Generator) -> None:
    """They are made from the body, without a cue; without the body there is none."""
    prompt = Prompt(generator)
    (event, _) = prompt.events(torch.float32)
    others = VotingHeads([(2, 0), (0, 3), (2, 2)], dict(LAYERS), dict(ROPES))
    assert entry_of(event, others) is None
    entry = entry_of(event, others, event.body)
    assert entry is not None
    assert entry.queries is None
    assert entry.lse_own is None
    expected = torch.stack((prompt.keys[1, :4, 0], prompt.keys[0, :4, 1], prompt.keys[1, :4, 1]), dim=1)
    torch.testing.assert_close(entry.keys.float(), expected, atol=1e-5, rtol=1e-5)
    # The same heads in another order are others: their keys lie in other rows.
    assert entry_of(event, VotingHeads([(0, 0), (0, 3)], dict(LAYERS), dict(ROPES))) is None


def test_keys_beyond_float16(generator: torch.Generator) -> None:
    """What would overflow float16 is stored as bfloat16, never as infinity; the others stay float16."""
    prompt = Prompt(generator)
    prompt.keys[:, 1] *= 1e5
    first, second = prompt.events(torch.float16)
    assert first.body["keys"].dtype == first.index["keys"].dtype == "bfloat16"
    assert first.body["values"].dtype == second.body["keys"].dtype == second.index["keys"].dtype == "float16"
    assert EventBody.from_blocks(first.body).keys.isfinite().all()
    entry = entry_of(first, HEADS)
    assert entry is not None
    torch.testing.assert_close(entry.keys[1, 0].float(), prompt.keys[0, 1, 1], rtol=2**-7, atol=1e3)


def test_storage_dtype() -> None:
    """The pool's own, but float32 in half its size."""
    assert storage_dtype(torch.float32) == torch.float16
    assert storage_dtype(torch.bfloat16) == torch.bfloat16


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_float8_pools(generator: torch.Generator, dtype: torch.dtype) -> None:
    """Events of a float8 pool hold float8; they come back as they are, and can be placed."""
    (first, _) = Prompt(generator).events(dtype)
    assert first.body["keys"].dtype == str(dtype).removeprefix("torch.")
    body = EventBody.from_blocks(first.body)
    assert body.keys.dtype == body.values.dtype == dtype
    torch.testing.assert_close(body.keys.float(), Prompt(generator.manual_seed(14)).keys[:, :4], atol=0.3, rtol=0.15)
    placed = PlacedEvents([body], torch.zeros(4), 50, ROPES, torch.float32, torch.device("cpu"))
    assert placed.of_layer(2)[0].isfinite().all()


def test_size_bytes(generator: torch.Generator) -> None:
    """What a snapshot holds while it waits: 2 x 448 keys and values, 224 queries, 14 log-sum-exps."""
    assert Prompt(generator).snapshot(torch.bfloat16).size_bytes == 2 * 2 * 448 + 4 * 224 + 4 * 14
