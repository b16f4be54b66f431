"""What a run of tokens does to a state, against the recurrence token by token in float64."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from sglang_v14.engrams import gated_delta, kda, mamba2
from sglang_v14.engrams.transition import Transition

Inputs = tuple[Tensor, ...]
KINDS = ("gated_delta", "kda", "mamba2")
MODULES = {"gated_delta": gated_delta, "kda": kda, "mamba2": mamba2}


def inputs(kind: str, tokens: int, seed: int = 0) -> Inputs:
    draw = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=draw, dtype=torch.float64)

    if kind == "mamba2":
        return normal(tokens, 4, 16), normal(tokens, 2, 24), normal(tokens, 4).exp() * 0.05, -normal(4).exp()
    heads, gates = (2, 4) if kind == "gated_delta" else (4, 4), (4,) if kind == "gated_delta" else (4, 24)
    keys, values = normal(tokens, heads[0], 24), normal(tokens, heads[1], 16)
    return keys, values, -normal(tokens, *gates).exp() * 0.05, normal(tokens, 4).sigmoid()


def part(kind: str, given: Inputs, tokens: slice) -> Inputs:
    return (*(t[tokens] for t in given[:3]), given[3] if kind == "mamba2" else given[3][tokens])


def close(one: Transition, other: Transition, tolerance: float) -> None:
    torch.testing.assert_close(one.left.double(), other.left, atol=tolerance, rtol=tolerance)
    torch.testing.assert_close(one.carry.double(), other.carry, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tokens", [1, 5, 64, 150])
def test_against_the_recurrence(kind: str, tokens: int) -> None:
    """In float32 and in float64, with lengths on both sides of a chunk."""
    given = inputs(kind, tokens)
    naive = MODULES[kind].naive_transition(*given)
    close(MODULES[kind].transition(*given), naive, 1e-9)
    close(MODULES[kind].transition(*(t.float() for t in given)), naive, 1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_two_runs_are_one(kind: str) -> None:
    """Read in two parts, or in one; and the state behind does not depend on where the parts meet."""
    given = inputs(kind, 100)
    make: Callable[..., Transition] = MODULES[kind].transition
    first, second = make(*part(kind, given, slice(0, 37))), make(*part(kind, given, slice(37, 100)))
    whole = make(*given)
    close(first.then(second), whole, 1e-9)
    before = torch.randn(whole.left.shape, dtype=torch.float64)
    torch.testing.assert_close(second.after(first.after(before)), whole.after(before))


def test_behind_what_was_before() -> None:
    """A run that goes on from another one's transition."""
    given = inputs("gated_delta", 90)
    first = gated_delta.transition(*part("gated_delta", given, slice(0, 41)))
    on = gated_delta.transition(*part("gated_delta", given, slice(41, 90)), first)
    close(on, gated_delta.naive_transition(*given), 1e-9)


def test_no_tokens() -> None:
    """Nothing is left and all is carried."""
    nothing = Transition.nothing(2, 3, 4)
    before = torch.randn(2, 3, 4)
    assert torch.equal(nothing.after(before), before)
