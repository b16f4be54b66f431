"""What goes into the store comes out of it, in its own namespace, also after it was closed."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_events import IDENTITY, event_id, events, ids, make_event, namespaces

import memory_store.lmdb_store as lmdb_store
from memory_store import Block, Event, EventNotFound, EventStore, InvalidEvent, InvalidNamespace, LmdbStore, StoreClosed


def test_it_is_an_event_store(store: LmdbStore) -> None:
    as_protocol: EventStore = store
    for name in ("write", "heads", "head", "contains", "body", "touch", "refresh", "delete", "namespaces", "stats"):
        assert callable(getattr(as_protocol, name))


def test_event_survives_reopening(tmp_path: Path) -> None:
    event = make_event(1)
    store = LmdbStore.open(tmp_path, IDENTITY)
    store.write([event, make_event(2)])
    store.close()
    store = LmdbStore.open(tmp_path, IDENTITY, create=False)
    head = store.head("alice", event.id)
    assert head is not None
    for field in ("id", "namespace", "token_ids", "role", "created_at", "conversation", "start", "index"):
        assert getattr(head, field) == getattr(event, field), field
    assert (head.uses, head.last_used_at) == (0, event.created_at)
    assert store.body("alice", event.id) == event.body
    assert store.contains("alice", event.id)
    store.close()


@settings(max_examples=25, deadline=None)
@given(st.lists(events, max_size=8))
def test_any_events_come_back(tmp_path_factory: pytest.TempPathFactory, drawn: list[Event]) -> None:
    store = LmdbStore.open(tmp_path_factory.mktemp("home"), IDENTITY)
    store.write(drawn)
    expected = {(event.namespace, event.id): event for event in drawn}
    assert sorted(store.namespaces()) == sorted({namespace for namespace, _ in expected})
    for namespace in store.namespaces():
        heads = list(store.heads(namespace))
        assert [head.id for head in heads] == sorted(id for owner, id in expected if owner == namespace)
        for head in heads:
            assert head.index == expected[namespace, head.id].index
            assert store.body(namespace, head.id) == expected[namespace, head.id].body
    store.close()


PREFIXES = ["", "a", "ab", "a\0", "a\0" * 8, "ä", "a" * 16, "a" * 17, "\0", "\x01a", "\x10", "ﬀ", "\U0001f600"]


@settings(max_examples=15, deadline=None)
@given(
    st.sets(st.one_of(st.sampled_from(PREFIXES), namespaces), min_size=2, max_size=8),
    st.lists(ids, min_size=1, max_size=3),
)
def test_namespaces_never_cross(
    tmp_path_factory: pytest.TempPathFactory, names: set[str], same_ids: list[bytes]
) -> None:
    """The same ids under many names, among them names that begin with one another."""
    store = LmdbStore.open(tmp_path_factory.mktemp("home"), IDENTITY)

    def of(name: str, id: bytes) -> Event:
        body = {"owner": Block("uint8", (len(name.encode()),), name.encode())}
        return Event(id=id, namespace=name, token_ids=(1,), role="user", created_at=1.0, body=body)

    present = sorted(names)[1:]
    absent = sorted(names)[0]
    store.write([of(name, id) for name in present for id in same_ids])
    assert sorted(store.namespaces()) == present
    assert list(store.heads(absent)) == []
    assert store.stats(absent).events == 0
    store.touch(present[0], same_ids, when=9.0)
    store.refresh(present[0], same_ids, created_at=7.0)
    for name in present:
        assert {head.id for head in store.heads(name)} == set(same_ids)
        assert {head.namespace for head in store.heads(name)} == {name}
        assert {(head.uses > 0, head.created_at) for head in store.heads(name)} == {
            (name == present[0], 7.0 if name == present[0] else 1.0)
        }
        assert store.stats(name).events == len(set(same_ids))
        for id in same_ids:
            assert store.body(name, id)["owner"].data == name.encode()
            assert not store.contains(absent, id)
            assert store.head(absent, id) is None
            with pytest.raises(EventNotFound):
                store.body(absent, id)
    assert store.delete(present[0], same_ids) == len(set(same_ids))
    assert sorted(store.namespaces()) == present[1:]
    for name in present[1:]:
        assert store.stats(name).events == len(set(same_ids))
    store.close()


def test_use_is_counted_without_rewriting_the_head(store: LmdbStore, tmp_path: Path) -> None:
    event = make_event(1)
    store.write([event])
    before = store._environment.read(lambda t: bytes(t.get(b"\x05alice" + event.id, db=store._heads)))
    store.touch("alice", [event.id, event_id(99)], when=2_000_000.0)
    store.touch("alice", [event.id], when=3_000_000.0, used=False)
    store.touch("alice", [event.id], when=1.0)
    head = store.head("alice", event.id)
    assert head is not None
    assert (head.uses, head.last_used_at, head.created_at) == (2, 3_000_000.0, event.created_at)
    assert before == store._environment.read(lambda t: bytes(t.get(b"\x05alice" + event.id, db=store._heads)))
    assert not store.contains("alice", event_id(99))
    store.close()
    again = LmdbStore.open(tmp_path, IDENTITY)
    assert again.head("alice", event.id) == head
    again.close()


def test_a_fact_told_again_becomes_the_newest(store: LmdbStore) -> None:
    old, new = make_event(1), make_event(2)
    store.write([old, new])
    store.refresh("alice", [old.id], created_at=new.created_at + 1)
    newest = max(store.heads("alice"), key=lambda head: head.created_at)
    assert newest.id == old.id


def test_writing_an_id_again_replaces_it_and_keeps_its_uses(store: LmdbStore) -> None:
    store.write([make_event(1)])
    store.touch("alice", [event_id(1)], when=5_000_000.0)
    smaller = make_event(1, tokens=4)
    store.write([smaller])
    head = store.head("alice", smaller.id)
    assert head is not None
    assert (head.uses, head.last_used_at, head.token_ids) == (1, 5_000_000.0, smaller.token_ids)
    assert store.body("alice", smaller.id) == smaller.body
    assert (store.stats().events, store.stats().tokens) == (1, 4)


def test_sums(store: LmdbStore) -> None:
    store.write([make_event(number) for number in range(3)] + [make_event(9, "bob", tokens=5)])
    alice, everybody = store.stats("alice"), store.stats()
    assert (alice.events, alice.tokens) == (3, 48)
    assert (everybody.events, everybody.tokens) == (4, 53)
    assert alice.body_bytes == sum(head.body_bytes for head in store.heads("alice"))
    assert 0 < alice.index_bytes < alice.body_bytes < everybody.body_bytes < everybody.file_bytes
    assert everybody.corrupt_records == 0


def test_delete_counts_what_was_there(store: LmdbStore) -> None:
    store.write([make_event(1), make_event(2)])
    assert store.delete("alice", [event_id(1), event_id(1), event_id(77)]) == 1
    assert store.delete("alice", []) == 0
    assert [head.id for head in store.heads("alice")] == [event_id(2)]
    with pytest.raises(EventNotFound, match="'alice' holds no event"):
        store.body("alice", event_id(1))


def test_one_bad_event_stores_none(store: LmdbStore) -> None:
    bad = Event(id=b"short", namespace="alice", token_ids=(1,), role="user", created_at=0.0)
    with pytest.raises(InvalidEvent):
        store.write([make_event(1), bad])
    assert store.namespaces() == []


def test_bad_namespaces_are_refused_at_once(store: LmdbStore) -> None:
    with pytest.raises(InvalidNamespace):
        store.heads("x" * 201)
    with pytest.raises(InvalidNamespace):
        store.write([make_event(1, "x" * 201)])


def test_iterating_heads_keeps_no_transaction_open(store: LmdbStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an open read transaction, LMDB could reuse no page and every rewrite would make the file grow."""
    monkeypatch.setattr(lmdb_store, "_RECORDS_PER_TRANSACTION", 2)
    many = [make_event(number, tokens=64) for number in range(9)]
    store.write(many)
    iterator = store.heads("alice")
    seen = [next(iterator).id]
    assert store._environment._env.readers().count("\n") <= 2
    for _ in range(4):
        store.write(many)
    settled_bytes = store.stats().file_bytes
    for _ in range(6):
        store.write(many)
    assert store.stats().file_bytes == settled_bytes
    seen += [head.id for head in iterator]
    assert seen == sorted(event.id for event in many)
    assert len(list(store.heads("alice"))) == 9
    assert store.stats("alice").events == 9


def test_reads_and_writes_from_many_threads(tmp_path: Path) -> None:
    """The map grows under running readers."""
    store = LmdbStore.open(tmp_path, IDENTITY, map_bytes=1 << 16)
    errors: list[Exception] = []
    written = threading.Event()

    def read() -> None:
        try:
            while not written.is_set():
                for head in store.heads("alice"):
                    assert store.body("alice", head.id).keys() == {"key.0", "value.0", "key.1", "value.1"}
        except Exception as error:
            errors.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for number in range(60):
        store.write([make_event(number)])
    written.set()
    for reader in readers:
        reader.join()
    assert errors == []
    assert store.stats().events == 60
    store.close()


def test_a_closed_store_says_so(store: LmdbStore) -> None:
    store.close()
    store.close()
    with pytest.raises(StoreClosed):
        store.namespaces()
    with pytest.raises(StoreClosed):
        store.write([make_event(1)])
