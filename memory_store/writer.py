"""Writing behind the requests' backs: a bounded queue and one thread that builds, compresses and stores events."""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence

import msgspec

from memory_store.base import Event, EventStore
from memory_store.errors import QueueFull, StoreFull, WriterClosed
from memory_store.event_record import block_bytes
from memory_store.ticket import Ticket

logger = logging.getLogger("memory_store")

_GROUP_BYTES = 8 << 20
"""Jobs that wait together share a transaction up to this size: beyond it, syncing is not what takes the time."""
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 5.0


class WriterCounters(msgspec.Struct, frozen=True, kw_only=True):
    """What a writer has done since it was made, and what is waiting now."""

    written_events: int = 0
    written_bytes: int = 0
    """Bytes of the written events' blocks before compression."""
    failed_jobs: int = 0
    refused_jobs: int = 0
    write_seconds: float = 0.0
    """Time spent building, compressing and storing events."""
    queued_jobs: int = 0
    queued_bytes: int = 0
    paused: bool = False
    """Whether a full store is being waited for."""


class _Job(msgspec.Struct, eq=False):
    ticket: Ticket
    size_bytes: int
    make_events: Callable[[], Sequence[Event]] | None = None
    action: Callable[[], None] | None = None


class BackgroundWriter:
    """Runs jobs in order on a daemon thread.

    Jobs that wait at the same time are stored in one transaction, since syncing to disk is what a small write costs;
    a job never waits for company. When the store is full, the job at hand is tried again with growing pauses and
    everything behind it waits; any other error fails the job that caused it and no other.
    """

    def __init__(
        self,
        store: EventStore,
        max_queued_bytes: int,
        on_written: Callable[[Sequence[Event]], None] | None = None,
    ) -> None:
        """`on_written` gets each job's events on the writer's thread, once durable and before its ticket is done."""
        self._store = store
        self._max_queued_bytes = max_queued_bytes
        self._on_written = on_written
        self._changed = threading.Condition()
        self._queue: deque[_Job] = deque()
        self._counters = WriterCounters()
        self._closing = False
        self._abandoning = False
        self._logged_kinds: set[type[Exception]] = set()
        self._thread = threading.Thread(target=self._run, name="memory-writer", daemon=True)
        self._thread.start()

    def submit(self, make_events: Callable[[], Sequence[Event]], size_bytes: int) -> Ticket:
        """Queue events to be made by `make_events()` on the writer's thread and stored. Never blocks.

        `size_bytes` is what the job keeps in memory while it waits. When the queue, with the job being stored, would
        hold more than `max_queued_bytes`, the ticket comes back failed with `QueueFull`; after `close()`, with
        `WriterClosed`.
        """
        return self._enqueue(_Job(Ticket(), size_bytes, make_events=make_events))

    def call(self, action: Callable[[], None]) -> Ticket:
        """Queue a small change of the store (`touch`, `refresh`, `delete`) behind everything queued before."""
        return self._enqueue(_Job(Ticket(), 0, action=action))

    def barrier(self) -> Ticket:
        """A ticket that is done when everything queued before is done."""
        return self.call(lambda: None)

    @property
    def counters(self) -> WriterCounters:
        """A snapshot."""
        with self._changed:
            return self._counters

    def close(self, timeout_seconds: float) -> bool:
        """Take no more jobs and work off the queue; returns whether that was done in time.

        After `timeout_seconds` what is still queued fails with `WriterClosed`, or with `StoreFull` where that was the
        cause. A transaction that is under way then still ends by itself.
        """
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(timeout_seconds)
        with self._changed:
            in_time = not self._thread.is_alive()
            self._abandoning = True
            self._changed.notify_all()
        return in_time

    def _enqueue(self, job: _Job) -> Ticket:
        with self._changed:
            if self._closing:
                return Ticket.failed(WriterClosed("the memory writer is closed; nothing more is stored"))
            queued_bytes = self._counters.queued_bytes + job.size_bytes
            if job.make_events is not None and queued_bytes > self._max_queued_bytes:
                self._count(refused_jobs=1)
                return Ticket.failed(
                    QueueFull(
                        f"{queued_bytes} bytes would wait to be stored and {self._max_queued_bytes} may; this prompt "
                        "is not remembered: use a faster disk, send less, or raise the bound"
                    )
                )
            self._queue.append(job)
            self._count(queued_jobs=1, queued_bytes=job.size_bytes)
            self._changed.notify_all()
        return job.ticket

    def _run(self) -> None:
        while jobs := self._next_jobs():
            started = time.monotonic()
            if jobs[0].action is not None:
                self._perform(jobs[0], jobs[0].action)
            else:
                self._store_group(self._made(jobs))
            with self._changed:
                self._count(write_seconds=time.monotonic() - started)
            # What a job refers to may be a large part of memory: let go of it before waiting for the next.
            del jobs

    def _next_jobs(self) -> list[_Job]:
        """Either one action, or the events' jobs that wait in front of the next action; empty when closed and done."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._closing)
            if self._abandoning:
                while self._queue:
                    self._finish(self._queue.popleft(), WriterClosed("the memory writer was closed before this job"))
            jobs: list[_Job] = []
            group_bytes = 0
            while self._queue:
                job = self._queue[0]
                group_bytes += job.size_bytes
                if jobs and (job.action is not None or group_bytes > _GROUP_BYTES):
                    break
                jobs.append(self._queue.popleft())
                if job.action is not None:
                    break
            return jobs

    def _made(self, jobs: list[_Job]) -> list[tuple[_Job, tuple[Event, ...]]]:
        made = []
        for job in jobs:
            assert job.make_events is not None
            try:
                made.append((job, tuple(job.make_events())))
            except Exception as error:
                self._finish(job, error)
        return made

    def _store_group(self, made: list[tuple[_Job, tuple[Event, ...]]]) -> None:
        events = [event for _, job_events in made for event in job_events]
        try:
            if events:
                self._until_room(lambda: self._store.write(events))
        except Exception as error:
            if len(made) > 1:
                for one in made:
                    self._store_group([one])
            else:
                self._finish(made[0][0], error)
            return
        for job, job_events in made:
            size_bytes = sum(block_bytes(event.index) + block_bytes(event.body) for event in job_events)
            with self._changed:
                self._count(written_events=len(job_events), written_bytes=size_bytes)
            try:
                if job_events and self._on_written is not None:
                    self._on_written(job_events)
            except Exception as error:
                self._finish(job, error)
            else:
                self._finish(job)

    def _perform(self, job: _Job, action: Callable[[], None]) -> None:
        try:
            self._until_room(action)
        except Exception as error:
            self._finish(job, error)
        else:
            self._finish(job)

    def _until_room(self, action: Callable[[], None]) -> None:
        pause_seconds = _FIRST_PAUSE_SECONDS
        while True:
            try:
                action()
            except StoreFull as error:
                with self._changed:
                    if not self._counters.paused:
                        logger.warning("storing is paused until there is room: %s", error)
                    self._counters = msgspec.structs.replace(self._counters, paused=True)
                    if self._changed.wait_for(lambda: self._abandoning, pause_seconds):
                        raise
                pause_seconds = min(2 * pause_seconds, _LONGEST_PAUSE_SECONDS)
            else:
                with self._changed:
                    if self._counters.paused:
                        logger.warning("there is room again: storing goes on")
                    self._counters = msgspec.structs.replace(self._counters, paused=False)
                return

    def _finish(self, job: _Job, error: Exception | None = None) -> None:
        with self._changed:
            self._count(queued_jobs=-1, queued_bytes=-job.size_bytes, failed_jobs=int(error is not None))
            if error is not None and type(error) not in self._logged_kinds:
                self._logged_kinds.add(type(error))
                # As text: a log record that is kept would keep the frames of the traceback.
                trace = "".join(traceback.format_exception(error))
                logger.error("a memory job failed, further errors of this kind are only counted\n%s", trace)
        link: BaseException | None = error
        while link is not None:
            # The frames in a traceback refer to the events; who keeps the ticket must not keep them.
            link.__traceback__ = None
            link = link.__cause__ or link.__context__
        job.ticket.finish(error)

    def _count(self, **differences: float) -> None:
        """Add to counters; the caller holds `_changed`."""
        sums = {name: getattr(self._counters, name) + difference for name, difference in differences.items()}
        self._counters = msgspec.structs.replace(self._counters, **sums)
