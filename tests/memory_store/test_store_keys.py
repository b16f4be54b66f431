"""Namespaces never meet in the key space."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sample_events import ids, namespaces

from memory_store import InvalidEvent, InvalidNamespace
from memory_store.keys import event_key, namespace_prefix, past_namespace, split_key

related = st.one_of(
    st.tuples(namespaces, namespaces),
    # One a prefix of the other, which a plain concatenation would confuse.
    st.tuples(namespaces, st.text(st.characters(codec="utf-8"), max_size=17)).map(lambda t: (t[0], t[0][:150] + t[1])),
)


@given(related, ids, ids)
def test_no_key_of_one_namespace_lies_under_another(pair: tuple[str, str], one: bytes, other: bytes) -> None:
    first, second = pair
    assume(first != second and len(second.encode()) <= 200)
    assert event_key(first, one) != event_key(second, other)
    assert not event_key(first, one).startswith(namespace_prefix(second))
    low, high = sorted((first, second), key=namespace_prefix)
    assert event_key(low, one) < past_namespace(namespace_prefix(low)) <= event_key(high, other)


@given(namespaces, ids)
def test_key_can_be_split(namespace: str, id: bytes) -> None:
    key = event_key(namespace, id)
    assert split_key(key) == (namespace, id)
    assert len(key) <= 511


def test_longest_namespace_is_200_bytes_of_utf8() -> None:
    assert len(event_key("é" * 100, bytes(16))) == 217
    with pytest.raises(InvalidNamespace, match="202 UTF-8 bytes and 200 are allowed"):
        namespace_prefix("é" * 101)


@pytest.mark.parametrize("namespace", ["\ud800", 5, None, b"alice"])
def test_what_is_not_text_is_refused(namespace: object) -> None:
    with pytest.raises(InvalidNamespace):
        namespace_prefix(namespace)  # type: ignore[arg-type]


@pytest.mark.parametrize("id", [b"", bytes(15), bytes(17), "0123456789abcdef"])
def test_ids_are_16_bytes(id: object) -> None:
    with pytest.raises(InvalidEvent):
        event_key("alice", id)  # type: ignore[arg-type]


@pytest.mark.parametrize("key", [b"", b"\x05alice", b"\x05alice" + bytes(17)])
def test_other_keys_cannot_be_split(key: bytes) -> None:
    with pytest.raises(ValueError, match="not an event key"):
        split_key(key)
