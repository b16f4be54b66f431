"""The resident index against brute force."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny_model import Layer, rotary_table
from told import HEADS, cue, event

from sglang_v14.heads import VotingHeads
from sglang_v14.index import Bank, Cue, Entry, Index, pack, stands_in
from sglang_v14.rope import Rope

ROPE = Rope(rotary_table(512, 16))
ROTATED = VotingHeads([(0, 0), (0, 3)], {0: Layer()}, {0: ROPE})


def random_entry(generator: torch.Generator, number: int, tokens: int) -> Entry:
    ids = tuple(range(1000 * number, 1000 * number + tokens))
    keys = torch.randn(tokens, 2, 16, generator=generator).half()
    return Entry(number.to_bytes(16, "little"), "ns", ids, "user", float(number), keys)


def random_cue(generator: torch.Generator, tokens: int = 3) -> Cue:
    queries = torch.randn(tokens, 2, 16, generator=generator)
    return Cue(queries, torch.randn(2, tokens, generator=generator), 48 + torch.arange(tokens))


def votes_by_loop(
    entries: list[Entry], asked: Cue, bank: Sequence[torch.Tensor] = (), bank_bias: float = 0.0
) -> list[float]:
    """Votes with one head after the other, float64: keys stand right before position 0, queries at their positions."""

    def scores(keys: torch.Tensor, head: int, t: int) -> torch.Tensor:
        placed = ROPE.apply(keys.float(), torch.arange(-len(keys), 0))[:, head].double()
        return placed @ ROPE.apply(asked.queries, asked.positions)[t, head].double() * 0.25

    best = [[0.0, 0.0] for _ in entries]
    for head in range(2):
        for t in range(len(asked.queries)):
            neutral = math.exp(bank_bias) * sum(float(scores(keys, head, t).exp().sum()) for keys in bank)
            rest = math.exp(asked.lse_own[head, t]) + neutral
            for n, entry in enumerate(entries):
                mine = float(scores(entry.keys, head, t).max().exp())
                best[n][head] = max(best[n][head], mine / (mine + rest))
    return [math.sqrt(math.prod(max(value, 1e-4) for value in heads)) for heads in best]


def test_votes(generator: torch.Generator) -> None:
    """Of rotated keys and queries; no event changes another one's vote."""
    index = Index(ROTATED)
    entries = [random_entry(generator, n, 3 + n) for n in range(6)]
    asked = random_cue(generator)
    for n in range(6):
        index.add([entries[n]])
        assert index.votes(asked, 8).tolist() == pytest.approx(votes_by_loop(entries[: n + 1], asked), rel=1e-4)


@pytest.mark.parametrize("bias", [0.0, 1.5])
def test_the_bank_is_part_of_the_rest(generator: torch.Generator, bias: float) -> None:
    """Each of its texts stands right before the prompt; the bias weighs them all."""
    texts = [torch.randn(n, 2, 16, generator=generator) for n in (5, 9)]
    index = Index(ROTATED, Bank(ROTATED, list(range(14)), torch.cat(texts), [5, 9]))
    entries = [random_entry(generator, n, 4) for n in range(3)]
    index.add(entries)
    asked = random_cue(generator)
    found = index.votes(asked, 8, bias).tolist()
    assert found == pytest.approx(votes_by_loop(entries, asked, texts, bias), rel=1e-4)
    assert all(a < b for a, b in zip(found, votes_by_loop(entries, asked), strict=True))


def test_growth(generator: torch.Generator) -> None:
    """Events added one by one far over the first capacity vote as if they had been added at once."""
    one_by_one, at_once = Index(ROTATED), Index(ROTATED)
    entries = [random_entry(generator, n, 90) for n in range(40)]
    for entry in entries:
        one_by_one.add([entry])
    at_once.add(entries)
    asked = random_cue(generator)
    votes = one_by_one.votes(asked, 8)
    assert torch.equal(votes, at_once.votes(asked, 8))
    assert votes.tolist() == pytest.approx(votes_by_loop(entries, asked), rel=1e-4)


def test_one_event_larger_than_the_capacity(generator: torch.Generator) -> None:
    """Growth leaves room for what comes, however long it is."""
    index = Index(HEADS)
    index.add([event(0, 1), Entry(b"long", "ns", (1,) * 5000, "user", 1.0, torch.zeros(5000, 2, 16)), event(2, 2)])
    assert index.votes(cue(2), 8).argmax() == 2


def test_adding_twice() -> None:
    """An event that is there already keeps its keys and takes the newer time, never an older one."""
    index = Index(HEADS)
    index.add([event(0, 1), event(1, 2)])
    index.add([event(0, 3, created_at=50.0)])
    index.add([event(1, 3, created_at=-1.0)])
    assert len(index) == 2
    assert [entry.created_at for entry in index.entries] == [50.0, 1.0]
    votes = index.votes(cue(1, 2), 8)
    assert (votes > 0.9).all()


def test_discard(generator: torch.Generator) -> None:
    """What is forgotten does not vote; unknown names are no error; it can be told again."""
    index, other = Index(ROTATED), Index(ROTATED)
    entries = [random_entry(generator, n, 5) for n in range(5)]
    index.add(entries)
    index.discard([entries[1].id, entries[3].id, b"unknown"])
    other.add([entries[0], entries[2], entries[4]])
    asked = random_cue(generator)
    assert torch.equal(index.votes(asked, 8), other.votes(asked, 8))
    assert entries[1].id not in index
    assert index.entry(entries[1].id) is None
    assert index.entry(entries[4].id) is entries[4]
    index.add([entries[1]])
    assert [entry.id for entry in index.entries] == [entries[n].id for n in (0, 2, 4, 1)]
    assert len(index.votes(asked, 8)) == 4


def test_overlap_without_a_bank() -> None:
    """The part of the shorter event's different tokens that the other one has."""
    index = Index(HEADS)
    a, b = event(0, 1, token_ids=(1, 2, 3, 4, 4, 4)), event(1, 1, token_ids=(3, 4, 9))
    assert index.overlap(a, b) == index.overlap(b, a) == pytest.approx(2 / 3)
    assert index.overlap(a, a) == 1.0
    assert index.overlap(a, event(2, 1, token_ids=(7, 8))) == 0.0


def test_overlap_weighs_words_by_the_bank() -> None:
    """A token of every neutral text says nothing, one of none says most."""
    # Three texts: token 1 stands in all, 2 in one of them, twice.
    bank = Bank(HEADS, [1, 2, 2, 1, 5, 1], torch.zeros(6, 2, 16), [3, 2, 1])
    assert [bank.weight(token) for token in (1, 2, 99)] == pytest.approx([0.0, math.log(4 / 2), math.log(4)])
    index = Index(HEADS, bank)
    told, same_frame = event(0, 1, token_ids=(1, 2, 70)), event(1, 1, token_ids=(1, 80, 81))
    assert index.overlap(told, same_frame) == 0.0
    assert index.overlap(told, event(2, 1, token_ids=(1, 2, 71))) == pytest.approx(math.log(2) / math.log(8))
    assert index.overlap(event(3, 1, token_ids=(1,)), told) == 0.0


@given(st.lists(st.sampled_from([0, 1, 256, 65_536, 2**24, 151_643]), max_size=12), st.data())
def test_stands_in(text: list[int], data: st.DataObject) -> None:
    """A run of tokens is found exactly where a run of equal tokens is, never across their bytes."""
    if data.draw(st.booleans()):
        first = data.draw(st.integers(0, len(text)))
        part = text[first : data.draw(st.integers(first, len(text)))]
    else:
        part = data.draw(st.lists(st.sampled_from([0, 1, 256, 65_536, 2**24]), max_size=4))
    expected = any(text[i : i + len(part)] == part for i in range(len(text) - len(part) + 1))
    assert stands_in(pack(part), pack(text)) == expected
