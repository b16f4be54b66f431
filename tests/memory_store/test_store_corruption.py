"""A damaged record costs its own event and nothing else."""

from __future__ import annotations

import logging
from pathlib import Path

import lmdb
import pytest
from sample_events import IDENTITY, event_id, make_event

from memory_store import CorruptRecord, LmdbStore
from memory_store.identity import directory_name
from memory_store.keys import event_key

VICTIM = 2
FRAME_FIELDS = {"magic": 0, "schema": 4, "kind": 6, "reserved": 7, "length": 8, "checksum": 16, "first": 24}


def alter(home: Path, database: str, change: object, key: bytes = event_key("alice", event_id(VICTIM))) -> None:
    """Replace a stored value by `change(value)` behind the store's back."""
    env = lmdb.open(str(home / directory_name(IDENTITY)), max_dbs=8)
    handle = env.open_db(database.encode(), create=False)
    with env.begin(write=True) as transaction:
        value = bytearray(transaction.get(key, db=handle))
        transaction.put(key, bytes(change(value)), db=handle)  # type: ignore[operator]
    env.close()


def flipped(position: float) -> object:
    def flip(value: bytearray) -> bytearray:
        at = int(position) if position >= 1 or position == 0 else int(position * len(value))
        value[at] ^= 0x40
        return value

    return flip


DAMAGES = [pytest.param(flipped(at), id=name) for name, at in FRAME_FIELDS.items()]
DAMAGES += [pytest.param(flipped(at), id=f"at {at}") for at in (0.1, 0.3, 0.5, 0.7, 0.9, 0.999)]
DAMAGES += [
    pytest.param(lambda value: value[:-1], id="one byte short"),
    pytest.param(lambda value: value[:10], id="frame cut"),
    pytest.param(lambda value: b"", id="empty"),
    pytest.param(lambda value: value + b"\0", id="one byte long"),
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    store = LmdbStore.open(tmp_path, IDENTITY)
    store.write([make_event(number) for number in range(5)])
    store.touch("alice", [event_id(number) for number in range(5)], when=9_000_000.0)
    store.close()
    return tmp_path


@pytest.mark.parametrize("damage", DAMAGES)
def test_corrupt_head_is_skipped_counted_and_logged_once(
    home: Path, damage: object, caplog: pytest.LogCaptureFixture
) -> None:
    alter(home, "head", damage)
    store = LmdbStore.open(home, IDENTITY)
    with caplog.at_level(logging.WARNING, "memory_store"):
        for _ in range(3):
            assert {head.id for head in store.heads("alice")} == {event_id(number) for number in (0, 1, 3, 4)}
        with pytest.raises(CorruptRecord, match="head record"):
            store.head("alice", event_id(VICTIM))
    assert store.stats().corrupt_records == store.stats("alice").corrupt_records == 1
    assert store.stats("bob").corrupt_records == 0
    assert len(caplog.records) == 1
    assert event_key("alice", event_id(VICTIM)).hex() in caplog.text
    store.close()


@pytest.mark.parametrize("damage", DAMAGES)
def test_corrupt_body_is_refused_counted_and_logged_once(
    home: Path, damage: object, caplog: pytest.LogCaptureFixture
) -> None:
    alter(home, "body", damage)
    store = LmdbStore.open(home, IDENTITY)
    with caplog.at_level(logging.WARNING, "memory_store"):
        for _ in range(3):
            with pytest.raises(CorruptRecord, match="body record"):
                store.body("alice", event_id(VICTIM))
    assert len(list(store.heads("alice"))) == 5
    assert store.body("alice", event_id(1)) == make_event(1).body
    assert store.stats().corrupt_records == 1
    assert len(caplog.records) == 1
    store.close()


@pytest.mark.parametrize("damage", DAMAGES)
def test_corrupt_usage_loses_the_counters_only(home: Path, damage: object, caplog: pytest.LogCaptureFixture) -> None:
    alter(home, "usage", damage)
    store = LmdbStore.open(home, IDENTITY)
    with caplog.at_level(logging.WARNING, "memory_store"):
        uses = {head.id: head.uses for head in store.heads("alice")}
        assert uses == {event_id(number): int(number != VICTIM) for number in range(5)}
        sums = store.stats("alice")
    assert (sums.events, sums.tokens, sums.corrupt_records) == (5, 80, 1)
    assert sums.body_bytes == sum(head.body_bytes for head in store.heads("alice"))
    assert len(caplog.records) == 1
    store.touch("alice", [event_id(VICTIM)], when=9_500_000.0)
    head = store.head("alice", event_id(VICTIM))
    assert head is not None
    assert (head.uses, head.last_used_at) == (1, 9_500_000.0)
    store.close()


def test_writing_the_event_again_heals_it(home: Path) -> None:
    alter(home, "head", flipped(0.5))
    alter(home, "usage", flipped(0.5))
    store = LmdbStore.open(home, IDENTITY)
    assert len(list(store.heads("alice"))) == 4
    store.write([make_event(VICTIM)])
    assert len(list(store.heads("alice"))) == 5
    assert store.stats().corrupt_records == 0
    store.close()


def test_a_corrupt_event_can_be_deleted(home: Path) -> None:
    alter(home, "head", flipped(0.5))
    store = LmdbStore.open(home, IDENTITY)
    assert len(list(store.heads("alice"))) == 4
    assert store.delete("alice", [event_id(VICTIM)]) == 1
    assert (store.stats().corrupt_records, store.stats().events) == (0, 4)
    store.close()


def test_a_value_swapped_with_another_events_is_noticed(home: Path) -> None:
    store = LmdbStore.open(home, IDENTITY)
    other = store._environment.read(lambda t: bytes(t.get(event_key("alice", event_id(1)), db=store._bodies)))
    store.close()
    alter(home, "body", lambda value: other)
    store = LmdbStore.open(home, IDENTITY)
    with pytest.raises(CorruptRecord, match="checksum"):
        store.body("alice", event_id(VICTIM))
    store.close()


def test_a_foreign_key_does_not_stop_the_listing(home: Path) -> None:
    env = lmdb.open(str(home / directory_name(IDENTITY)), max_dbs=8)
    with env.begin(write=True) as transaction:
        for key in (b"\x02", b"\x05", b"\x05alice", b"\x02\xff\xff" + bytes(16), b"\xff" * 30):
            transaction.put(key, b"?", db=env.open_db(b"head", txn=transaction))
    env.close()
    store = LmdbStore.open(home, IDENTITY)
    assert store.namespaces() == ["alice"]
    assert len(list(store.heads("alice"))) == 5
    store.close()
