"""Engrams: what is kept of a transition, in which bytes, and what it does to a state."""

from __future__ import annotations

import pytest
import torch

from sglang_v14.engrams.engram import EngramForm, StateEngram
from sglang_v14.engrams.low_rank import LowRank
from sglang_v14.engrams.transition import Transition

LAYERS, HEADS, ROWS, COLUMNS = 2, 3, 8, 6


def transitions(seed: int = 0) -> list[Transition]:
    draw = torch.Generator().manual_seed(seed)
    left = torch.randn(LAYERS, HEADS, ROWS, COLUMNS, generator=draw)
    carry = 0.7 * torch.eye(COLUMNS) + 0.05 * torch.randn(LAYERS, HEADS, COLUMNS, COLUMNS, generator=draw)
    return [Transition(left[i], carry[i]) for i in range(LAYERS)]


def form(**settings: object) -> EngramForm:
    return EngramForm(
        **{"rank": COLUMNS, "components": float(COLUMNS), "dtype": "float16", "convolution": True, **settings}
    )  # type: ignore[arg-type]


def test_whole() -> None:
    """At full rank the state behind is the transition's own."""
    made = transitions()
    engram = StateEngram.of(made, None, form(carry_rank=COLUMNS))
    before = torch.randn(LAYERS, HEADS, ROWS, COLUMNS)
    expected = torch.stack([one.after(state) for one, state in zip(made, before, strict=True)])
    torch.testing.assert_close(engram.after(before), expected, atol=5e-3, rtol=5e-3)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 2e-3), ("int8", 0.03), ("int4", 0.4)])
def test_dtypes(dtype: str, tolerance: float) -> None:
    """Coarser vectors, the same state within their steps."""
    made = transitions()
    left = torch.stack([one.left for one in made])
    got = StateEngram.of(made, None, form(dtype=dtype)).after(torch.zeros_like(left))
    assert float((got - left).norm() / left.norm()) < tolerance


def test_the_best_components_are_kept() -> None:
    """A budget for all matrices together goes where most is, up to the rank."""
    u, v = torch.randn(2, 8), torch.randn(2, 6)
    matrices = torch.stack([100 * torch.outer(u[0], v[0]), torch.outer(u[1], v[1])])
    one = LowRank.of(matrices, 2, 1, "float16")
    assert one.matrix.tolist() == [0]
    torch.testing.assert_close(one.matrices(2)[0], matrices[0], rtol=1e-2, atol=1.0)
    assert torch.equal(one.matrices(2)[1], torch.zeros(8, 6))
    assert LowRank.of(torch.randn(2, 8, 6), 2, 99, "int8").matrix.tolist() == [0, 0, 1, 1]
    assert len(LowRank.of(torch.zeros(2, 8, 6), 2, 99, "int8").matrix) == 0


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"dtype": "int8", "rank": 2, "components": 0.4},
        {"dtype": "float32", "carry_rank": 2},
        {"convolution": False},
    ],
)
def test_size(settings: dict[str, object]) -> None:
    """The stated size is that of what is stored."""
    one = form(**settings)
    blocks = StateEngram.of(transitions(), torch.randn(LAYERS, 5, 3), one).blocks()
    stored = sum(block.array().nbytes for block in blocks.values())
    assert one.size_bytes(LAYERS, HEADS, ROWS, COLUMNS, 5 * 3) == stored


def test_rank_is_error() -> None:
    """Each further component brings the state nearer."""
    made = transitions()
    left = torch.stack([one.left for one in made])
    errors = [
        float((StateEngram.of(made, None, form(rank=rank)).after(torch.zeros_like(left)) - left).norm())
        for rank in range(1, COLUMNS + 1)
    ]
    assert errors == sorted(errors, reverse=True) and errors[-1] < 0.02 * float(left.norm())


def test_two_integers_a_byte() -> None:
    """Also where a dimension is odd, and the smallest and largest ones."""
    even, odd = torch.randn(2, 8, 6), torch.randn(2, 7, 6)
    for matrices in (even, odd):
        kept = LowRank.of(matrices, 6, 12, "int4")
        assert kept.right.shape == (len(kept.matrix), 3)
        assert kept.left.shape[1] == (4 if matrices is even else 7)
        assert (kept.matrices(2) - matrices).norm() / matrices.norm() < 0.4
        assert kept.matrices(2).abs().max() > 0


@pytest.mark.parametrize("settings", [{}, {"carry_rank": 2}, {"dtype": "int8"}, {"dtype": "int4"}])
def test_stored_and_read(settings: dict[str, object]) -> None:
    """The same engram comes back from its blocks."""
    windows = torch.randn(LAYERS, 5, 3)
    engram = StateEngram.of(transitions(), windows, form(**settings))
    again = StateEngram.from_blocks(engram.blocks())
    assert again is not None and again.window is not None
    torch.testing.assert_close(again.window.float(), windows, atol=1e-2, rtol=1e-2)
    before = torch.randn(LAYERS, HEADS, ROWS, COLUMNS)
    assert torch.equal(again.after(before), engram.after(before))
    assert StateEngram.from_blocks({}) is None
