"""A context split in parts and merged again is the whole context."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor
from whole_attention import causal, whole_attention

from sglang_v14.merge import attend, merge

TOKENS, KEYS, DIM, SCALE = 7, 60, 16, 0.25


class Case:
    """Queries, keys, values and a bias, with grouped heads."""

    def __init__(self, generator: torch.Generator, heads: int = 6, key_heads: int = 2) -> None:
        self.queries = 3 * torch.randn(TOKENS, heads, DIM, generator=generator)
        self.keys = torch.randn(KEYS, key_heads, DIM, generator=generator)
        self.values = torch.randn(KEYS, key_heads, DIM, generator=generator)
        self.bias = torch.randn(KEYS, generator=generator)

    def part(self, first: int, last: int) -> tuple[Tensor, Tensor]:
        keys = slice(first, last)
        return attend(self.queries, self.keys[keys], self.values[keys], SCALE, self.bias[keys])

    def whole(self) -> tuple[Tensor, Tensor]:
        everything = torch.ones(TOKENS, KEYS, dtype=torch.bool)
        return whole_attention(self.queries, self.keys, self.values, SCALE, self.bias, everything)


def assert_same(found: tuple[Tensor, Tensor], expected: tuple[Tensor, Tensor]) -> None:
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.double(), other, atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize(("heads", "key_heads"), [(4, 4), (6, 2), (3, 1)])
def test_attend_is_softmax_attention(generator: torch.Generator, heads: int, key_heads: int) -> None:
    """With as many key heads as query heads, with groups, and with one for all; with a bias."""
    case = Case(generator, heads, key_heads)
    assert_same(case.part(0, KEYS), case.whole())


def test_attend_without_bias(generator: torch.Generator) -> None:
    """No bias is a bias of nothing, and the inputs stay as they were."""
    case = Case(generator)
    before = [t.clone() for t in (case.queries, case.keys, case.values)]
    output, lse = attend(case.queries, case.keys, case.values, SCALE)
    case.bias.zero_()
    assert_same((output, lse), case.whole())
    assert all(torch.equal(a, b) for a, b in zip(before, (case.queries, case.keys, case.values), strict=True))


@pytest.mark.parametrize("cuts", [(1,), (30,), (59,), (20, 40), (1, 2)])
def test_parts_merge_to_the_whole(generator: torch.Generator, cuts: tuple[int, ...]) -> None:
    """Two or three parts, of very different sizes."""
    case = Case(generator)
    bounds = [0, *cuts, KEYS]
    merged = case.part(bounds[0], bounds[1])
    for first, last in itertools.pairwise(bounds[1:]):
        merged = merge(*merged, *case.part(first, last))
    assert_same(merged, case.whole())


def test_order_does_not_matter(generator: torch.Generator) -> None:
    """Merging is symmetric."""
    case = Case(generator)
    a, b = case.part(0, 13), case.part(13, KEYS)
    for one, other in zip(merge(*a, *b), merge(*b, *a), strict=True):
        torch.testing.assert_close(one, other, atol=5e-6, rtol=1e-5)


def test_parts_of_very_different_weight(generator: torch.Generator) -> None:
    """A part that weighs e^200 times the other is the whole; nothing overflows."""
    case = Case(generator)
    output_a, lse_a = case.part(0, 30)
    output_b, lse_b = case.part(30, KEYS)
    output, lse = merge(output_a, lse_a + 200, output_b, lse_b)
    torch.testing.assert_close(output, output_a)
    torch.testing.assert_close(lse, lse_a + 200)
    output, _ = merge(output_a, lse_a, output_b, lse_b + 200)
    torch.testing.assert_close(output, output_b)


def test_a_context_and_new_tokens(generator: torch.Generator) -> None:
    """Causal among the new tokens, behind keys that all of them see."""
    case = Case(generator)
    before = KEYS - TOKENS
    case.bias[before:] = 0
    own = attend(case.queries, case.keys[before:], case.values[before:], SCALE, causal=True)
    expected = whole_attention(
        case.queries, case.keys, case.values, SCALE, case.bias, causal(torch.arange(before, KEYS), KEYS)
    )
    assert_same(merge(*case.part(0, before), *own), expected)


def test_attend_keeps_the_dtype_of_the_queries(generator: torch.Generator) -> None:
    """Whatever the keys are kept in; the log-sum-exp is float32."""
    case = Case(generator)
    queries, keys, values = case.queries.bfloat16() / 3, case.keys.half(), case.values.half()
    output, lse = attend(queries, keys, values, SCALE, case.bias)
    assert (output.dtype, lse.dtype) == (torch.bfloat16, torch.float32)
    everything = torch.ones(TOKENS, KEYS, dtype=torch.bool)
    expected = whole_attention(queries.float(), keys.float(), values.float(), SCALE, case.bias, everything)
    for one, other in zip((output, lse), expected, strict=True):
        torch.testing.assert_close(one.double(), other, atol=3e-2, rtol=2e-2)
