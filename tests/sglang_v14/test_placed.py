"""Stored events put back in front of a prompt."""

from __future__ import annotations

import pytest
import torch
from tiny_model import rotary_table

from memory_store import Block
from sglang_v14.placed import EventBody, PlacedEvents, block_of, tensor_of
from sglang_v14.rope import NoRope, Rope

CPU = torch.device("cpu")
ONE, OTHER = Rope(rotary_table(256, 16)), Rope(rotary_table(256, 8, 1.2), interleaved=True)
ROPES = {1: ONE, 4: OTHER, 6: ONE, 9: NoRope()}


def body(generator: torch.Generator, tokens: int, dtype: torch.dtype = torch.float32) -> EventBody:
    keys, values = (torch.randn(4, tokens, 2, 16, generator=generator).to(dtype) for _ in ("keys", "values"))
    return EventBody((1, 4, 6, 9), keys, values)


def placed(bodies: list[EventBody], end: int, dtype: torch.dtype = torch.float32) -> PlacedEvents:
    bias = torch.arange(sum(one.keys.shape[1] for one in bodies)).float()
    return PlacedEvents(bodies, bias, end, ROPES, dtype, CPU)


@pytest.mark.parametrize("end", [40, 3, 0], ids=["behind a header", "partly before zero", "all before zero"])
def test_keys_stand_right_before_the_end(generator: torch.Generator, end: int) -> None:
    """Events follow one another and the last token stands at `end - 1`; every layer has its own rotation."""
    bodies = [body(generator, 5), body(generator, 3)]
    found = placed(bodies, end)
    assert found.tokens == 8
    positions = torch.arange(end - 8, end)
    for row, layer in enumerate(ROPES):
        keys, values = found.of_layer(layer)
        expected = ROPES[layer].apply(torch.cat([one.keys[row] for one in bodies]), positions)
        torch.testing.assert_close(keys, expected, atol=1e-6, rtol=1e-6)
        assert torch.equal(values, torch.cat([one.values[row] for one in bodies]))
    assert torch.equal(found.bias, torch.arange(8.0))


def test_a_gap_behind_every_event(generator: torch.Generator) -> None:
    """Positions are left empty behind each event, also behind the last; values and biases know nothing of it."""
    bodies = [body(generator, 2), body(generator, 3), body(generator, 1)]
    found = PlacedEvents(bodies, torch.arange(6.0), 40, ROPES, torch.float32, CPU, gap=4)
    positions = torch.tensor([22, 23, 28, 29, 30, 35])
    for row, layer in enumerate(ROPES):
        keys, values = found.of_layer(layer)
        expected = ROPES[layer].apply(torch.cat([one.keys[row] for one in bodies]), positions)
        torch.testing.assert_close(keys, expected, atol=1e-6, rtol=1e-6)
        assert torch.equal(values, torch.cat([one.values[row] for one in bodies]))
    assert found.tokens == 6


def test_and_before(generator: torch.Generator) -> None:
    """What comes later stands in front of what is there, with its own bias; neither is moved or changed."""
    here, more = placed([body(generator, 5)], 40), placed([body(generator, 3)], 35)
    before = {layer: here.of_layer(layer)[0].clone() for layer in ROPES}
    both = here.and_before(more)
    assert both.tokens == 8
    assert torch.equal(both.bias, torch.tensor([0.0, 1, 2, 0, 1, 2, 3, 4]))
    for layer in ROPES:
        for joined, first, second in zip(both.of_layer(layer), more.of_layer(layer), here.of_layer(layer), strict=True):
            assert torch.equal(joined, torch.cat((first, second)))
        assert torch.equal(here.of_layer(layer)[0], before[layer])
    assert here.tokens == 5


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_bodies_survive_their_blocks(generator: torch.Generator, dtype: torch.dtype) -> None:
    """Bit for bit, whatever the dtype."""
    one = body(generator, 5, dtype)
    back = EventBody.from_blocks(one.blocks())
    assert back.layers == one.layers
    assert back.keys.dtype == back.values.dtype == dtype
    assert torch.equal(back.keys, one.keys)
    assert torch.equal(back.values, one.values)
    assert one.blocks()["keys"].dtype == str(dtype).removeprefix("torch.")


def test_blocks_of_a_view_hold_the_view(generator: torch.Generator) -> None:
    """A slice that is not contiguous is stored as what it shows; what comes back is writable."""
    tensor = torch.randn(6, 5, generator=generator).T[1:4]
    back = tensor_of(block_of(tensor))
    assert torch.equal(back, tensor)
    back[0] = 0


@pytest.mark.parametrize("missing", ["layers", "keys", "values"])
def test_a_missing_block(generator: torch.Generator, missing: str) -> None:
    """An incomplete event is a `KeyError`, not half an event."""
    blocks: dict[str, Block] = body(generator, 2).blocks()
    del blocks[missing]
    with pytest.raises(KeyError, match=missing):
        EventBody.from_blocks(blocks)


def test_events_of_several_dtypes(generator: torch.Generator) -> None:
    """Events that had to be stored as bfloat16 stand beside others; attention gets the dtype that it asked for."""
    bodies = [body(generator, 3, torch.float16), body(generator, 3, torch.bfloat16)]
    found = placed(bodies, 10, torch.bfloat16)
    keys, values = found.of_layer(9)
    assert keys.dtype == values.dtype == torch.bfloat16
    expected = torch.cat([one.keys[3].float() for one in bodies])
    torch.testing.assert_close(keys.float(), expected, atol=0, rtol=2**-8)
