"""Votes against loops in float64."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from sglang_v14 import vote
from sglang_v14.vote import event_lse, segment_lse, shares, total_lse, votes


def test_segment_lse(generator: torch.Generator) -> None:
    """Segments in any order; one without keys has a log-sum-exp of -inf."""
    scores = 5 * torch.randn(50, 6, generator=generator)
    segment_of_key = torch.randint(0, 5, (50,), generator=generator)
    segment_of_key[segment_of_key == 2] = 4
    found = segment_lse(scores.clone(), segment_of_key, 6)
    assert found.shape == (6, 6)
    for segment in range(6):
        own = scores.double()[segment_of_key == segment]
        expected = [math.log(sum(map(math.exp, column))) if len(column) else -math.inf for column in own.T.tolist()]
        assert found[segment].tolist() == pytest.approx(expected, abs=1e-5)
    assert (found[[2, 5]] == -torch.inf).all()


def test_segment_lse_does_not_overflow() -> None:
    """Scores whose exponential is beyond float32, per row."""
    scores = torch.tensor([[500.0, -500.0], [499.0, -501.0], [450.0, -500.0]])
    found = segment_lse(scores, torch.tensor([0, 0, 1]), 2)
    log_sum = math.log1p(math.exp(-1))
    torch.testing.assert_close(found, torch.tensor([[500 + log_sum, -500 + log_sum], [450.0, -500.0]]))


def test_segment_lse_without_keys() -> None:
    """A memory without any key."""
    assert torch.equal(segment_lse(torch.empty(0, 4), torch.empty(0).long(), 3), torch.full((3, 4), -torch.inf))


def lse_by_loop(queries: Tensor, keys: Tensor, key_head: list[int], event_of_key: Tensor, events: int) -> Tensor:
    out = torch.full((events, queries.shape[1], queries.shape[0]), -torch.inf, dtype=torch.float64)
    for e in range(events):
        for h in range(queries.shape[1]):
            for t in range(queries.shape[0]):
                own = keys[event_of_key == e, key_head[h]].double()
                if len(own):
                    out[e, h, t] = torch.logsumexp(own @ queries[t, h].double() * 0.3, dim=0)
    return out


@pytest.mark.parametrize("at_once", [1, 1 << 24])
def test_event_lse(generator: torch.Generator, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    """Heads that share a row of keys, few or all of them at a time, and the arguments unchanged."""
    monkeypatch.setattr(vote, "_SCORES_AT_ONCE", at_once)
    queries, keys = torch.randn(4, 3, 8, generator=generator), torch.randn(20, 2, 8, generator=generator)
    event_of_key = torch.arange(20) // 7
    before = queries.clone(), keys.clone()
    found = event_lse(queries, keys, torch.tensor([1, 0, 1]), event_of_key, 4, 0.3)
    torch.testing.assert_close(
        found.double(), lse_by_loop(queries, keys, [1, 0, 1], event_of_key, 4), atol=1e-5, rtol=1e-5
    )
    assert torch.equal(queries, before[0])
    assert torch.equal(keys, before[1])


@pytest.mark.parametrize("at_once", [1, 1 << 24])
def test_total_lse(generator: torch.Generator, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    """All keys as one event, however many heads are computed at a time."""
    monkeypatch.setattr(vote, "_SCORES_AT_ONCE", at_once)
    queries, keys = torch.randn(4, 3, 8, generator=generator), torch.randn(20, 2, 8, generator=generator)
    expected = lse_by_loop(queries, keys, [1, 0, 1], torch.zeros(20), 1)[0]
    found = total_lse(queries, keys, torch.tensor([1, 0, 1]), 0.3)
    torch.testing.assert_close(found.double(), expected, atol=1e-5, rtol=1e-5)


def test_shares_and_the_rest_sum_to_one(generator: torch.Generator) -> None:
    """What no event gets goes to the rest."""
    events, rest = torch.randn(4, 3, 5, generator=generator), torch.randn(3, 5, generator=generator)
    share = shares(events, rest)
    total = events.double().exp().sum(0) + rest.double().exp()
    torch.testing.assert_close(share.double(), events.double().exp() / total, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(
        share.double().sum(0) + rest.double().exp() / total, torch.ones(3, 5).double(), atol=1e-6, rtol=1e-5
    )


def test_an_event_without_keys_has_no_share() -> None:
    """-inf takes nothing from the others."""
    lse = torch.tensor([0.0, -torch.inf]).view(2, 1, 1)
    assert shares(lse, torch.zeros(1, 1)).flatten().tolist() == pytest.approx([0.5, 0.0])


def test_votes_are_geometric_means_of_the_best_heads(generator: torch.Generator) -> None:
    """The largest share over the tokens, then the mean of the logarithms over the best heads."""
    share = torch.rand(5, 6, 9, generator=generator)
    found = votes(share, 3)
    for e in range(5):
        best = sorted((max(head) for head in share[e].tolist()), reverse=True)[:3]
        assert float(found[e]) == pytest.approx(math.exp(sum(map(math.log, best)) / 3), rel=1e-5)


def test_more_top_heads_than_heads(generator: torch.Generator) -> None:
    """All heads count then."""
    share = torch.rand(3, 2, 4, generator=generator)
    torch.testing.assert_close(votes(share, 8), votes(share, 2))


def test_heads_must_agree() -> None:
    """One head that sees all of an event and seven that see nothing make no vote."""
    share = torch.zeros(2, 8, 1)
    share[0, 0] = 1.0
    share[1] = 0.3
    alone, agreed = votes(share, 8).tolist()
    assert alone < 0.01
    assert agreed == pytest.approx(0.3, rel=1e-5)
