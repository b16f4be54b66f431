"""Writes events for ever and prints the number of each one once its write has returned. Meant to be killed."""

from __future__ import annotations

import sys
from pathlib import Path

from sample_events import IDENTITY, make_event

from memory_store import BackgroundWriter, LmdbStore, Ticket


def main(home: Path, first: int, through_writer: bool) -> None:
    store = LmdbStore.open(home, IDENTITY, map_bytes=1 << 18)
    writer = BackgroundWriter(store, max_queued_bytes=1 << 30)
    waiting: list[tuple[int, Ticket]] = []
    for number in range(first, first + 100_000):
        events = [make_event(number), make_event(number, "bob")]
        if not through_writer:
            store.write(events)
            print(number, flush=True)
            continue
        waiting.append((number, writer.submit(lambda events=events: events, 10_000)))
        while waiting and (waiting[0][1].done or len(waiting) > 8):
            done_number, ticket = waiting.pop(0)
            assert ticket.wait(30) and ticket.error is None
            print(done_number, flush=True)
        store.touch("alice", [make_event(number - 1).id], when=float(number))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "writer")
