"""Votes against loops in float64."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from sglang_v14 import vote
from sglang_v14.vote import margins, total_lse, votes


def scores_by_loop(queries: Tensor, keys: Tensor, key_head: list[int]) -> Tensor:
    """`[heads, tokens, keys]`, float64."""
    out = torch.full((queries.shape[1], queries.shape[0], keys.shape[1]), torch.nan, dtype=torch.float64)
    for h in range(queries.shape[1]):
        for t in range(queries.shape[0]):
            out[h, t] = keys[key_head[h]].double() @ queries[t, h].double() * 0.3
    return out


@pytest.mark.parametrize("at_once", [1, 1 << 24])
def test_margins(generator: torch.Generator, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    """Events in any order, one of them without keys; heads that share a row of keys, few or all of them at a time."""
    monkeypatch.setattr(vote, "_SCORES_AT_ONCE", at_once)
    queries, keys = torch.randn(4, 3, 8, generator=generator), torch.randn(2, 20, 8, generator=generator)
    rest = torch.randn(3, 4, generator=generator)
    event_of_key = torch.randint(0, 4, (20,), generator=generator)
    event_of_key[event_of_key == 2] = 4
    before = queries.clone(), keys.clone(), rest.clone()
    found = margins(queries, keys, [1, 0, 1], event_of_key, 5, rest, 0.3)
    assert found.shape == (5, 3)
    against_rest = scores_by_loop(queries, keys, [1, 0, 1]) - rest.double()[:, :, None]
    for n in (0, 1, 3, 4):
        expected = against_rest[:, :, event_of_key == n].amax(dim=(1, 2))
        torch.testing.assert_close(found[n].double(), expected, atol=1e-5, rtol=1e-5)
    assert (found[2] == -torch.inf).all()
    assert all(torch.equal(a, b) for a, b in zip(before, (queries, keys, rest), strict=True))


def test_margins_without_events() -> None:
    """A memory without any key."""
    nothing = margins(torch.zeros(2, 3, 8), torch.zeros(2, 0, 8), [0, 0, 0], torch.zeros(0).long(), 0,
                      torch.zeros(3, 2), 1.0)  # fmt: skip
    assert nothing.shape == (0, 3)


@pytest.mark.parametrize("at_once", [1, 1 << 24])
def test_total_lse(generator: torch.Generator, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    """All keys, however many heads are computed at a time."""
    monkeypatch.setattr(vote, "_SCORES_AT_ONCE", at_once)
    queries, keys = torch.randn(4, 3, 8, generator=generator), torch.randn(2, 20, 8, generator=generator)
    expected = torch.logsumexp(scores_by_loop(queries, keys, [1, 0, 1]), dim=2)
    found = total_lse(queries, keys, [1, 0, 1], 0.3)
    torch.testing.assert_close(found.double(), expected, atol=1e-5, rtol=1e-5)


def test_votes_are_geometric_means_of_the_best_heads(generator: torch.Generator) -> None:
    """The logistic function of each margin, then the mean of the logarithms over the best heads."""
    margin = 3 * torch.randn(5, 6, generator=generator)
    found = votes(margin, 3)
    for e in range(5):
        best = sorted((1 / (1 + math.exp(-m)) for m in margin[e].tolist()), reverse=True)[:3]
        assert float(found[e]) == pytest.approx(math.exp(sum(map(math.log, best)) / 3), rel=1e-5)


def test_more_top_heads_than_heads(generator: torch.Generator) -> None:
    """All heads count then."""
    margin = torch.randn(3, 2, generator=generator)
    torch.testing.assert_close(votes(margin, 8), votes(margin, 2))


def test_heads_must_agree() -> None:
    """One head that sees all of an event and seven that see nothing make no vote."""
    margin = torch.full((2, 8), -torch.inf)
    margin[0, 0] = 50.0
    margin[1] = math.log(0.3 / 0.7)
    alone, agreed = votes(margin, 8).tolist()
    assert alone < 0.01
    assert agreed == pytest.approx(0.3, rel=1e-5)
