"""Events are pieces of one message, named by all that stands before them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sglang_v14.events import Span, cut

TOKENS = list(range(1000, 1060))


@st.composite
def prompts(draw: st.DrawFn) -> tuple[list[int], list[tuple[str, int, int]]]:
    """Token ids, and messages in order with gaps between some of them."""
    bounds = sorted(draw(st.lists(st.integers(0, 120), max_size=8, unique=True)))
    length = max(bounds, default=0) + draw(st.integers(0, 5))
    tokens = draw(st.lists(st.integers(0, 200_000), min_size=length, max_size=length))
    content = [(f"role {i}", a, b) for i, (a, b) in enumerate(zip(bounds[::2], bounds[1::2], strict=False))]
    return tokens, content


@settings(max_examples=80, deadline=None)
@given(prompts(), st.integers(1, 40), st.frozensets(st.integers(0, 200_000), max_size=5), st.integers(0, 9))
def test_events_give_back_the_content(
    prompt: tuple[list[int], list[tuple[str, int, int]]],
    event_tokens: int,
    sentence_ends: frozenset[int],
    frequent: int,
) -> None:
    """Nothing is lost, doubled or moved; no event is empty, too long or in two messages; no name is given twice."""
    tokens, content = prompt
    # Sentence ends are drawn from the tokens themselves, or they would never be met.
    spans = cut(tokens, content, event_tokens, sentence_ends | set(tokens[: 3 * frequent : 3]))
    for role, start, end in content:
        own = [span for span in spans if span.role == role]
        assert [t for span in own for t in range(span.start, span.end)] == list(range(start, end))
    assert sum(span.end - span.start for span in spans) == sum(end - start for _, start, end in content)
    assert all(0 < span.end - span.start <= event_tokens for span in spans)
    assert len({span.id for span in spans}) == len(spans)
    assert all(len(span.id) == 16 for span in spans)


def places(spans: list[Span]) -> list[tuple[int, int]]:
    return [(span.start, span.end) for span in spans]


def test_fixed_length() -> None:
    """A message longer than an event becomes several; what is left over is the last."""
    assert places(cut(TOKENS, [("user", 3, 25)], 8)) == [(3, 11), (11, 19), (19, 25)]


def test_events_do_not_span_messages() -> None:
    """Two short messages are two events, also when they touch."""
    assert places(cut(TOKENS, [("user", 0, 5), ("tool", 5, 9)], 8)) == [(0, 5), (5, 9)]


def test_events_end_with_a_sentence() -> None:
    """The last sentence end in the second half of an event closes it; one in the first half does not."""
    ends = {TOKENS[i - 1] for i in (6, 7, 10)}
    assert places(cut(TOKENS, [("user", 0, 20)], 8, ends)) == [(0, 7), (7, 15), (15, 20)]
    assert places(cut(TOKENS, [("user", 0, 8)], 8, ends)) == [(0, 8)]
    assert places(cut(TOKENS, [("user", 0, 20)], 8, {TOKENS[7]})) == [(0, 8), (8, 16), (16, 20)]


def test_a_name_depends_on_what_stands_before() -> None:
    """Every token of the conversation before an event is part of its name; a system prompt, and what stands behind it,
    is not."""
    content = [("user", 4, 12), ("user", 20, 30)]
    before = [span.id for span in cut(TOKENS, content, 16)]
    for changed, same in ((0, [True, True]), (5, [False, False]), (15, [True, False]), (29, [True, False])):
        tokens = [*TOKENS]
        tokens[changed] += 1
        after = [span.id for span in cut(tokens, content, 16)]
        assert [a == b for a, b in zip(before, after, strict=True)] == same
    assert [span.id for span in cut([*TOKENS[:30], 1, 2], content, 16)] == before


def test_a_longer_conversation_keeps_its_events() -> None:
    """The next turn finds the earlier turns' events under the same names."""
    first = cut(TOKENS[:20], [("user", 3, 18)], 8)
    second = cut(TOKENS, [("user", 3, 18), ("user", 40, 55)], 8)
    assert second[: len(first)] == first


def test_a_name_depends_on_where_the_event_begins() -> None:
    """Events that end at the same token are told apart."""
    _, whole = cut(TOKENS, [("user", 0, 1), ("user", 2, 10)], 8)
    _, part = cut(TOKENS, [("user", 0, 1), ("user", 4, 10)], 8)
    assert whole.id != part.id
    (later,) = cut([9, 9, 9, *TOKENS], [("user", 5, 13)], 8)
    (here,) = cut(TOKENS, [("user", 2, 10)], 8)
    assert later.id == here.id


def test_names_last() -> None:
    """A name is the same in every process and on every machine: stores are full of them."""
    (span,) = cut([1, 2, 3, 151_643, 5, 6], [("user", 2, 6)], 8)
    assert span.id.hex() == "b27f554a8464b21fd3dba6d97658f792"
