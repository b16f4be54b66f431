"""Rotation against complex numbers in float64."""

from __future__ import annotations

import pytest
import torch
from tiny_model import frequencies, rotary_table
from torch import Tensor

from sglang_v14.rope import NoRope, Rope

DIM, POSITIONS = 16, 512
LAYOUTS = pytest.mark.parametrize("interleaved", [False, True], ids=["halves", "interleaved"])
DIMS = pytest.mark.parametrize("rotary_dim", [DIM, 8], ids=["whole", "partial"])
SCALES = pytest.mark.parametrize("scale", [1.0, 1.2079], ids=["plain", "yarn"])


def rotated(x: Tensor, positions: Tensor, rotary_dim: int, interleaved: bool, scale: float) -> Tensor:
    """A pair (a, b) is the number a + bi, turned by its angle."""
    turned, rest = x.double()[..., :rotary_dim], x.double()[..., rotary_dim:]
    if interleaved:
        pairs = torch.complex(turned[..., 0::2].contiguous(), turned[..., 1::2].contiguous())
    else:
        pairs = torch.complex(*(half.contiguous() for half in turned.chunk(2, dim=-1)))
    angles = positions.double()[:, None, None] * frequencies(rotary_dim)
    pairs = scale * pairs * torch.polar(torch.ones_like(angles), angles)
    if interleaved:
        turned = torch.stack((pairs.real, pairs.imag), dim=-1).flatten(-2)
    else:
        turned = torch.cat((pairs.real, pairs.imag), dim=-1)
    return torch.cat((turned, rest), dim=-1)


def some_positions(generator: torch.Generator, tokens: int = 40) -> Tensor:
    return torch.randint(-POSITIONS + 1, POSITIONS, (tokens,), generator=generator)


@LAYOUTS
@DIMS
@SCALES
def test_apply_is_a_turn_of_complex_numbers(
    generator: torch.Generator, interleaved: bool, rotary_dim: int, scale: float
) -> None:
    """At positions before and behind zero, with both layouts, whole and partial dims, with and without a scale."""
    rope = Rope(rotary_table(POSITIONS, rotary_dim, scale), interleaved=interleaved)
    x, positions = torch.randn(40, 3, DIM, generator=generator), some_positions(generator)
    expected = rotated(x, positions, rotary_dim, interleaved, scale)
    torch.testing.assert_close(rope.apply(x, positions).double(), expected, atol=1e-5, rtol=1e-5)


@LAYOUTS
@DIMS
@SCALES
def test_undo_gives_back_what_was_applied(
    generator: torch.Generator, interleaved: bool, rotary_dim: int, scale: float
) -> None:
    """`undo` is the inverse of `apply`, also of its scale; what is not rotated comes back bit for bit."""
    rope = Rope(rotary_table(POSITIONS, rotary_dim, scale), interleaved=interleaved)
    x, positions = torch.randn(40, 3, DIM, generator=generator), some_positions(generator)
    applied = rope.apply(x, positions)
    assert not torch.allclose(applied[..., :rotary_dim], x[..., :rotary_dim], atol=1e-2)
    torch.testing.assert_close(rope.undo(applied, positions), x, atol=1e-5, rtol=1e-5)
    assert torch.equal(applied[..., rotary_dim:], x[..., rotary_dim:])


@LAYOUTS
@DIMS
def test_scores_depend_on_distance_only(generator: torch.Generator, interleaved: bool, rotary_dim: int) -> None:
    """Query and key moved by the same amount have the same product; moved apart they have another."""
    rope = Rope(rotary_table(POSITIONS, rotary_dim), interleaved=interleaved)
    query, key = torch.randn(2, 1, 1, DIM, generator=generator)

    def score(at_query: int, at_key: int) -> float:
        return float((rope.apply(query, torch.tensor([at_query])) * rope.apply(key, torch.tensor([at_key]))).sum())

    expected = score(17, 5)
    for shift in (-300, -17, -5, 3, 400):
        assert score(17 + shift, 5 + shift) == pytest.approx(expected, abs=1e-4)
    assert score(18, 5) != pytest.approx(expected, abs=1e-3)


def test_turn_adds_up(generator: torch.Generator) -> None:
    """A key that was placed once can be moved on by the difference."""
    rope = Rope(rotary_table(POSITIONS, DIM, 1.3))
    x = torch.randn(5, 2, DIM, generator=generator)
    here, there = torch.full((5,), 40), torch.full((5,), -60)
    moved = rope.turn(rope.apply(x, here), there - here)
    torch.testing.assert_close(moved, rope.apply(x, there), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("position", [POSITIONS, -POSITIONS, 10 * POSITIONS])
def test_beyond_the_table(position: int) -> None:
    """One row too many is an `IndexError`, not another row."""
    rope = Rope(rotary_table(POSITIONS, DIM))
    x = torch.ones(2, 1, DIM)
    assert rope.positions == POSITIONS
    rope.apply(x, torch.tensor([POSITIONS - 1, 1 - POSITIONS]))
    with pytest.raises(IndexError, match=f"beyond the table of {POSITIONS}"):
        rope.apply(x, torch.tensor([0, position]))
    with pytest.raises(IndexError, match="beyond the table"):
        rope.undo(x, torch.tensor([0, position]))


def test_dtype_and_no_tokens() -> None:
    """The dtype is kept, and no tokens are no error."""
    rope = Rope(rotary_table(POSITIONS, 8))
    x = torch.randn(3, 2, DIM).to(torch.bfloat16)
    assert rope.apply(x, torch.arange(3)).dtype == torch.bfloat16
    assert rope.apply(x[:0], torch.arange(0)).shape == (0, 2, DIM)


def test_no_rope_changes_nothing(generator: torch.Generator) -> None:
    """A layer without rotation has no last position."""
    x, far = torch.randn(2, 1, DIM, generator=generator), torch.tensor([-(1 << 40), 1 << 40])
    assert NoRope().apply(x, far) is x
    assert NoRope().undo(x, far) is x
