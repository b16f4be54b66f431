"""Jobs run in order, behind the caller's back, and fail alone."""

from __future__ import annotations

import gc
import logging
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from sample_events import IDENTITY, event_id, make_event

from memory_store import (
    BackgroundWriter,
    Event,
    InvalidEvent,
    LmdbStore,
    QueueFull,
    StoreFull,
    WriterClosed,
)

LONG_SECONDS = 30


@pytest.fixture
def make_writer(store: LmdbStore) -> Iterator[Callable[..., BackgroundWriter]]:
    writers: list[BackgroundWriter] = []

    def make(max_queued_bytes: int = 1 << 30, **options: object) -> BackgroundWriter:
        writers.append(BackgroundWriter(store, max_queued_bytes, **options))  # type: ignore[arg-type]
        return writers[-1]

    yield make
    for writer in writers:
        writer.close(LONG_SECONDS)


@contextmanager
def held(writer: BackgroundWriter) -> Iterator[None]:
    """Keeps the writer's thread busy, so that what is submitted inside waits in the queue."""
    started, release = threading.Event(), threading.Event()

    def hold() -> None:
        started.set()
        release.wait(LONG_SECONDS)

    writer.call(hold)
    assert started.wait(LONG_SECONDS)
    try:
        yield
    finally:
        release.set()


def test_events_are_made_on_the_writers_thread_and_stored(
    store: LmdbStore, make_writer: Callable[..., BackgroundWriter]
) -> None:
    threads: list[threading.Thread] = []
    announced: list[bytes] = []

    def make() -> Sequence[Event]:
        threads.append(threading.current_thread())
        return [make_event(1), make_event(2)]

    def on_written(events: Sequence[Event]) -> None:
        assert all(store.contains(event.namespace, event.id) for event in events)
        announced.extend(event.id for event in events)

    writer = make_writer(on_written=on_written)
    ticket = writer.submit(make, 1000)
    assert ticket.wait(LONG_SECONDS)
    assert ticket.done and ticket.error is None
    assert threads[0] not in (threading.main_thread(), None) and threads[0].daemon
    assert announced == [event_id(1), event_id(2)]
    counters = writer.counters
    assert (counters.written_events, counters.failed_jobs, counters.queued_jobs, counters.queued_bytes) == (2, 0, 0, 0)
    assert counters.written_bytes == 2 * 5 * 16 * 64 * 2
    assert writer.barrier().wait(LONG_SECONDS)
    assert writer.counters.write_seconds > 0


def test_full_queue_refuses_without_blocking(store: LmdbStore, make_writer: Callable[..., BackgroundWriter]) -> None:
    writer = make_writer(max_queued_bytes=1000)
    with held(writer):
        fits = writer.submit(lambda: [make_event(1)], 600)
        refused = writer.submit(lambda: [make_event(2)], 600)
        small = writer.submit(lambda: [make_event(3)], 400)
        assert refused.done and isinstance(refused.error, QueueFull)
        assert "1200 bytes would wait to be stored and 1000 may" in str(refused.error)
        assert not fits.done and not small.done
        assert (writer.counters.refused_jobs, writer.counters.queued_bytes) == (1, 1000)
        assert not small.wait(0.01)
    assert fits.wait(LONG_SECONDS) and small.wait(LONG_SECONDS)
    assert fits.error is None and small.error is None
    assert {head.id for head in store.heads("alice")} == {event_id(1), event_id(3)}
    later = writer.submit(lambda: [make_event(2)], 600)
    assert later.wait(LONG_SECONDS) and later.error is None


def test_barrier_is_done_after_what_was_before_and_does_not_wait_for_what_comes_after(
    store: LmdbStore, make_writer: Callable[..., BackgroundWriter]
) -> None:
    writer = make_writer()
    release = threading.Event()

    def late() -> Sequence[Event]:
        release.wait(LONG_SECONDS)
        return [make_event(9)]

    with held(writer):
        before = [writer.submit(lambda number=number: [make_event(number)], 10) for number in range(5)]
        barrier = writer.barrier()
        after = writer.submit(late, 10)
        assert not barrier.done
    assert barrier.wait(LONG_SECONDS)
    assert all(ticket.done for ticket in before)
    assert store.stats().events == 5
    assert not after.done
    release.set()
    assert after.wait(LONG_SECONDS)


class WatchedStore(LmdbStore):
    """A store that notes the size of every transaction and fails when told to."""

    transactions: list[int]
    failures: list[Exception]

    def write(self, events: Sequence[Event]) -> None:
        self.transactions.append(len(events))
        if self.failures:
            raise self.failures.pop(0)
        super().write(events)


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[WatchedStore]:
    store = WatchedStore.open(tmp_path / "watched", IDENTITY)
    assert isinstance(store, WatchedStore)
    store.transactions, store.failures = [], []
    yield store
    store.close()


def test_waiting_small_jobs_share_a_transaction(watched: WatchedStore) -> None:
    writer = BackgroundWriter(watched, 1 << 40)
    with held(writer):
        tickets = [writer.submit(lambda number=number: [make_event(number)], 1000) for number in range(6)]
        tickets += [writer.submit(lambda number=number: [make_event(number)], 1 << 30) for number in (6, 7)]
    assert all(ticket.wait(LONG_SECONDS) and ticket.error is None for ticket in tickets)
    assert watched.transactions == [6, 1, 1]
    assert writer.close(LONG_SECONDS)


def test_failing_jobs_fail_alone(
    store: LmdbStore, make_writer: Callable[..., BackgroundWriter], caplog: pytest.LogCaptureFixture
) -> None:
    """Of jobs in one group, one cannot make its events and another's do not fit the format."""
    writer = make_writer()
    bad = Event(id=b"short", namespace="alice", token_ids=(1,), role="user", created_at=0.0)

    def broken() -> Sequence[Event]:
        raise RuntimeError("no events today")

    with caplog.at_level(logging.ERROR, "memory_store"), held(writer):
        good = [writer.submit(lambda: [make_event(1)], 10)]
        failing = [writer.submit(broken, 10) for _ in range(3)]
        good.append(writer.submit(lambda: [make_event(2)], 10))
        unfit = writer.submit(lambda: [make_event(3), bad], 10)
        good.append(writer.submit(lambda: [make_event(4)], 10))
        barrier = writer.barrier()
    assert barrier.wait(LONG_SECONDS)
    assert all(ticket.done and ticket.error is None for ticket in good)
    assert all(isinstance(ticket.error, RuntimeError) for ticket in failing)
    assert isinstance(unfit.error, InvalidEvent)
    assert {head.id for head in store.heads("alice")} == {event_id(1), event_id(2), event_id(4)}
    assert writer.counters.failed_jobs == 4
    assert len(caplog.records) == 2
    assert "RuntimeError: no events today" in caplog.records[0].message
    assert "an event id is 16 bytes" in caplog.records[1].message


def test_error_in_on_written_reaches_the_ticket_and_the_event_is_stored(
    store: LmdbStore, make_writer: Callable[..., BackgroundWriter]
) -> None:
    def on_written(events: Sequence[Event]) -> None:
        if events[0].id == event_id(1):
            raise ValueError("index is broken")

    writer = make_writer(on_written=on_written)
    with held(writer):
        first = writer.submit(lambda: [make_event(1)], 10)
        second = writer.submit(lambda: [make_event(2)], 10)
    assert first.wait(LONG_SECONDS) and isinstance(first.error, ValueError)
    assert second.wait(LONG_SECONDS) and second.error is None
    assert store.stats().events == 2


def test_full_store_pauses_and_loses_nothing(watched: WatchedStore, caplog: pytest.LogCaptureFixture) -> None:
    writer = BackgroundWriter(watched, max_queued_bytes=100)
    watched.failures = [StoreFull("the disk is full")] * 3
    with caplog.at_level(logging.WARNING, "memory_store"):
        first = writer.submit(lambda: [make_event(1)], 60)
        while not writer.counters.paused:
            pass
        second = writer.submit(lambda: [make_event(2)], 30)
        refused = writer.submit(lambda: [make_event(3)], 30)
        assert not first.done and isinstance(refused.error, QueueFull)
        assert first.wait(LONG_SECONDS) and second.wait(LONG_SECONDS)
    assert first.error is None and second.error is None
    assert watched.stats().events == 2
    assert watched.transactions == [1, 1, 1, 1, 1]
    assert not writer.counters.paused and writer.counters.failed_jobs == 0
    assert [record.message.split(":")[0] for record in caplog.records] == [
        "storing is paused until there is room",
        "there is room again",
    ]
    assert writer.close(LONG_SECONDS)


def test_really_full_store_goes_on_when_events_are_deleted(tmp_path: Path) -> None:
    store = LmdbStore.open(tmp_path, IDENTITY, map_bytes=1 << 16, max_map_bytes=1 << 20)
    writer = BackgroundWriter(store, 1 << 40)
    tickets = [writer.submit(lambda number=number: [make_event(number)], 1 << 24) for number in range(160)]
    while not writer.counters.paused:
        assert not tickets[-1].done
    stored = [head.id for head in store.heads("alice")]
    assert 0 < len(stored) < 160
    store.delete("alice", stored)
    assert all(ticket.wait(LONG_SECONDS) and ticket.error is None for ticket in tickets)
    assert {head.id for head in store.heads("alice")} == {event_id(number) for number in range(len(stored), 160)}
    assert writer.close(LONG_SECONDS)
    store.close()


def test_close_drains(store: LmdbStore, make_writer: Callable[..., BackgroundWriter]) -> None:
    writer = make_writer()
    with held(writer):
        tickets = [writer.submit(lambda number=number: [make_event(number)], 1 << 24) for number in range(10)]
    assert writer.close(LONG_SECONDS)
    assert all(ticket.done and ticket.error is None for ticket in tickets)
    assert store.stats().events == 10
    late = writer.submit(lambda: [make_event(11)], 1)
    assert isinstance(late.error, WriterClosed) and isinstance(writer.barrier().error, WriterClosed)


def test_close_in_a_full_store_gives_up_in_time(watched: WatchedStore) -> None:
    writer = BackgroundWriter(watched, 1 << 30)
    watched.failures = [StoreFull("the disk is full")] * 1000
    stuck = writer.submit(lambda: [make_event(1)], 10)
    while not writer.counters.paused:
        pass
    behind = writer.submit(lambda: [make_event(2)], 10)
    assert not writer.close(0.05)
    assert stuck.wait(LONG_SECONDS) and isinstance(stuck.error, StoreFull)
    assert behind.wait(LONG_SECONDS) and isinstance(behind.error, WriterClosed)


@pytest.mark.parametrize("failing", [False, True])
def test_finished_jobs_are_let_go(watched: WatchedStore, failing: bool) -> None:
    """What a job refers to may be gigabytes: neither the idle writer nor a kept ticket holds on to it."""

    class Tensor:
        pass

    writer = BackgroundWriter(watched, 1 << 30)
    watched.failures = [InvalidEvent("does not fit")] if failing else []
    tensor = Tensor()
    gone = weakref.ref(tensor)

    def make(tensor: Tensor = tensor) -> Sequence[Event]:
        return [make_event(1)]

    ticket = writer.submit(make, 10)
    assert ticket.wait(LONG_SECONDS)
    assert (ticket.error is not None) == failing
    del make, tensor
    deadline = time.monotonic() + LONG_SECONDS
    while gone() is not None and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
    assert gone() is None
    assert writer.close(LONG_SECONDS)


def test_changes_of_the_store_queue_behind_writes(
    store: LmdbStore, make_writer: Callable[..., BackgroundWriter]
) -> None:
    writer = make_writer()
    writer.submit(lambda: [make_event(1)], 10)
    touched = writer.call(lambda: store.touch("alice", [event_id(1)], when=9_000_000.0))
    assert touched.wait(LONG_SECONDS) and touched.error is None
    head = store.head("alice", event_id(1))
    assert head is not None and head.uses == 1
