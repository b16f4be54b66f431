"""Growing while there is room, and losing nothing when there is none."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from sample_events import IDENTITY, event_id, make_event

from memory_store import LmdbStore, StoreFull


def test_map_grows_on_demand(tmp_path: Path) -> None:
    store = LmdbStore.open(tmp_path, IDENTITY, map_bytes=1 << 16)
    for number in range(0, 100, 5):
        store.write([make_event(n) for n in range(number, number + 5)])
    store.write([make_event(1000, tokens=4096)])
    assert store.stats().file_bytes > 1 << 20
    assert store.body("alice", event_id(1000)) == make_event(1000, tokens=4096).body
    for number in range(100):
        assert store.body("alice", event_id(number)) == make_event(number).body
    store.close()


def test_store_opens_with_a_map_smaller_than_its_file(tmp_path: Path) -> None:
    store = LmdbStore.open(tmp_path, IDENTITY)
    store.write([make_event(number) for number in range(100)])
    store.close()
    store = LmdbStore.open(tmp_path, IDENTITY, map_bytes=1 << 16)
    store.write([make_event(number) for number in range(100, 200)])
    assert store.stats().events == 200
    store.close()


def fill(store: LmdbStore) -> int:
    """Write events until there is no room; returns how many are stored."""
    for number in range(10_000):
        try:
            store.write([make_event(number)])
        except StoreFull:
            return number
    raise AssertionError("the store never became full")


def check_still_good(store: LmdbStore, stored: int) -> None:
    assert stored > 3
    assert store.stats().events == stored
    for number in range(stored):
        assert store.body("alice", event_id(number)) == make_event(number).body
    assert not store.contains("alice", event_id(stored))


def test_cap_is_kept_and_deleting_makes_room(tmp_path: Path) -> None:
    cap_bytes = 1 << 20
    store = LmdbStore.open(tmp_path, IDENTITY, map_bytes=1 << 16, max_map_bytes=cap_bytes)
    stored = fill(store)
    check_still_good(store, stored)
    assert store.stats().file_bytes <= cap_bytes
    with pytest.raises(StoreFull, match=r"cap of 1048576 bytes.*delete events or raise the cap"):
        store.write([make_event(stored)])
    assert store.delete("alice", [event_id(number) for number in range(stored // 2)]) == stored // 2
    store.write([make_event(stored)])
    store.close()
    store = LmdbStore.open(tmp_path, IDENTITY, max_map_bytes=4 * cap_bytes)
    store.write([make_event(number) for number in range(stored // 2)])
    assert store.stats().events == stored + 1
    store.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    mount_point = tmp_path / "disk"
    mount_point.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(mount_point)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("needs the right to mount a small tmpfs")
    yield mount_point
    subprocess.run(["umount", "--lazy", str(mount_point)], check=True)


def test_full_disk(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(512 << 10))
    store = LmdbStore.open(small_disk, IDENTITY)
    stored = fill(store)
    check_still_good(store, stored)
    with pytest.raises(StoreFull, match="free disk space"):
        store.write([make_event(stored, tokens=512)])
    ballast.unlink()
    store.write([make_event(stored)])
    check_still_good(store, stored + 1)
    store.close()
    store = LmdbStore.open(small_disk, IDENTITY)
    check_still_good(store, stored + 1)
    store.close()


def test_store_cannot_be_made_on_a_full_disk(small_disk: Path) -> None:
    with pytest.raises(OSError, match="No space"):
        (small_disk / "ballast").write_bytes(bytes(4 << 20))
    with pytest.raises(StoreFull, match="free disk space"):
        LmdbStore.open(small_disk, IDENTITY)


def test_file_size_limit(tmp_path: Path) -> None:
    """Runs everywhere: the limit on file sizes stands for a full disk, in a process of its own."""
    program = """
        import resource, sys
        from pathlib import Path
        from memory_store import *
        from sample_events import *
        from test_store_room import check_still_good, fill
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
        store = LmdbStore.open(Path(sys.argv[1]), IDENTITY)
        stored = fill(store)
        check_still_good(store, stored)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        store.write([make_event(stored)])
        check_still_good(store, stored + 1)
        store.close()
        print("good")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout == "good\n", done.stderr
