"""A server killed at any moment loses no event whose write was acknowledged, and the next start just works."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

from sample_events import IDENTITY, event_id, make_event

from memory_store import LmdbStore

ROUNDS = 20


def test_acknowledged_events_survive_sigkill(tmp_path: Path) -> None:
    """Every round goes on in the store that the killed one before left behind."""
    acknowledged: list[int] = []
    next_number = 0
    for round_number in range(ROUNDS):
        mode = "writer" if round_number % 2 else "store"
        program = Path(__file__).with_name("acknowledging_writer.py")
        child = subprocess.Popen(
            [sys.executable, str(program), str(tmp_path), str(next_number), mode],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert child.stdout is not None
        first_line = child.stdout.readline()
        time.sleep(random.uniform(0, 0.15))
        child.kill()
        # The last line may be cut off in the middle of a number: only whole lines are acknowledgements.
        lines = (first_line + child.stdout.read()).splitlines(keepends=True)
        child.wait()
        numbers = [int(line) for line in lines if line.endswith("\n")]
        assert numbers, "the child acknowledged nothing before it was killed"
        acknowledged += numbers
        next_number = max(numbers) + 100

        store = LmdbStore.open(tmp_path, IDENTITY, create=False)
        stored = {head.id: head for head in store.heads("alice")}
        for number in acknowledged:
            assert event_id(number) in stored, f"acknowledged event {number} is lost after round {round_number}"
        for number in numbers:
            assert store.body("alice", event_id(number)) == make_event(number).body
        for namespace in ("alice", "bob"):
            for head in store.heads(namespace):
                store.body(namespace, head.id)
        # Both events of a pair were written in one transaction: none is there without the other.
        assert {head.id for head in store.heads("bob")} == set(stored)
        assert store.stats().corrupt_records == 0
        assert store.stats().events == 2 * len(stored)
        store.close()
    assert len(acknowledged) >= ROUNDS
