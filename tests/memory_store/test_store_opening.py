"""What may be opened, by whom, and what is said when it may not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import lmdb
import pytest
from sample_events import IDENTITY, event_id, make_event

from memory_store import (
    LmdbStore,
    ReadOnlyStore,
    StoreLocked,
    StoreNotFound,
    UnknownSchema,
    UnwritableHome,
    WrongIdentity,
)
from memory_store.format import SCHEMA_VERSION
from memory_store.identity import directory_name
from memory_store.schema import SCHEMA_MAGIC, SCHEMA_VALUE

OTHER = {**IDENTITY, "rope_theta": 500000.0, "lora": "none"}


def in_another_process(code: str, *arguments: object) -> str:
    """Output of a Python program that has the store, its errors and the identity at hand."""
    program = (
        "import json, os, sys\nfrom pathlib import Path\nfrom memory_store import *\nfrom sample_events import *\n"
        "home = Path(sys.argv[1])\n" + textwrap.dedent(code)
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_identity_is_written_for_people(store: LmdbStore, tmp_path: Path) -> None:
    assert store.directory.parent == tmp_path
    assert json.loads((store.directory / "identity.json").read_text()) == IDENTITY
    assert store.directory.stat().st_mode & 0o077 == 0
    assert (store.directory / "data.mdb").stat().st_mode & 0o077 == 0


def test_order_of_fields_does_not_matter_and_values_do() -> None:
    assert directory_name(dict(reversed(IDENTITY.items()))) == directory_name(IDENTITY)
    assert directory_name(OTHER) != directory_name(IDENTITY)


def test_each_identity_has_a_store_of_its_own(
    store: LmdbStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store.write([make_event(1)])
    other = LmdbStore.open(tmp_path, OTHER)
    assert other.namespaces() == []
    assert "rope_theta: the store has 10000.0, this server 500000.0" in caplog.text
    other.close()


def test_wrong_identity_names_the_fields(store: LmdbStore, tmp_path: Path) -> None:
    store.close()
    with pytest.raises(WrongIdentity) as caught:
        LmdbStore.open(tmp_path, OTHER, create=False)
    assert "rope_theta: the store has 10000.0, this server 500000.0" in str(caught.value)
    assert 'lora: the store has nothing, this server "none"' in str(caught.value)
    assert "layers" not in str(caught.value)


def test_a_folder_renamed_by_hand_is_not_believed(store: LmdbStore, tmp_path: Path) -> None:
    store.close()
    renamed = tmp_path / directory_name(OTHER)
    store.directory.rename(renamed)
    with pytest.raises(WrongIdentity, match="rope_theta"):
        LmdbStore.open(tmp_path, OTHER)
    (renamed / "identity.json").unlink()
    with pytest.raises(WrongIdentity, match="rope_theta"):
        LmdbStore.open(tmp_path, OTHER)


def test_a_lost_identity_file_is_written_again(store: LmdbStore, tmp_path: Path) -> None:
    store.close()
    (store.directory / "identity.json").unlink()
    again = LmdbStore.open(tmp_path, IDENTITY)
    assert json.loads((again.directory / "identity.json").read_text()) == IDENTITY
    again.close()


def test_missing_store_is_not_made_unasked(tmp_path: Path) -> None:
    for options in ({"create": False}, {"readonly": True}):
        with pytest.raises(StoreNotFound):
            LmdbStore.open(tmp_path / "nothing", IDENTITY, **options)
    assert not (tmp_path / "nothing").exists()


def remark(directory: Path, value: bytes | None) -> None:
    env = lmdb.open(str(directory), max_dbs=8)
    with env.begin(write=True) as transaction:
        meta = env.open_db(b"meta", txn=transaction)
        if value is None:
            transaction.delete(b"schema", db=meta)
        else:
            transaction.put(b"schema", value, db=meta)
    env.close()


@pytest.mark.parametrize("readonly", [False, True])
def test_newer_schema_is_refused_by_number(store: LmdbStore, tmp_path: Path, readonly: bool) -> None:
    store.write([make_event(1)])
    store.close()
    remark(store.directory, SCHEMA_VALUE.pack(SCHEMA_MAGIC, SCHEMA_VERSION + 1))
    with pytest.raises(
        UnknownSchema, match=f"schema {SCHEMA_VERSION + 1} and this version reads schema {SCHEMA_VERSION}"
    ):
        LmdbStore.open(tmp_path, IDENTITY, readonly=readonly)
    remark(store.directory, SCHEMA_VALUE.pack(SCHEMA_MAGIC, SCHEMA_VERSION))
    again = LmdbStore.open(tmp_path, IDENTITY)
    assert again.contains("alice", event_id(1))
    again.close()


@pytest.mark.parametrize("mark", [None, b"", SCHEMA_VALUE.pack(b"ANYTHING", 1)])
def test_a_foreign_mark_is_refused(store: LmdbStore, tmp_path: Path, mark: bytes | None) -> None:
    store.close()
    remark(store.directory, mark)
    with pytest.raises(UnknownSchema):
        LmdbStore.open(tmp_path, IDENTITY)


def test_what_is_not_a_store_is_refused(tmp_path: Path) -> None:
    directory = tmp_path / directory_name(IDENTITY)
    directory.mkdir()
    (directory / "data.mdb").write_bytes(b"something else" * 1000)
    with pytest.raises(UnknownSchema, match="not an LMDB file"):
        LmdbStore.open(tmp_path, IDENTITY)
    (directory / "data.mdb").unlink()
    with lmdb.open(str(directory), max_dbs=8) as env:
        env.open_db(b"somebody else's")
    with pytest.raises(UnknownSchema, match="not a memory store"):
        LmdbStore.open(tmp_path, IDENTITY)
    (directory / "identity.json").write_text("{")
    with pytest.raises(UnknownSchema, match="not JSON"):
        LmdbStore.open(tmp_path, IDENTITY)


def test_unfinished_creation_is_finished(tmp_path: Path) -> None:
    """A process that ended between making the file and marking it leaves an environment without a mark."""
    directory = tmp_path / directory_name(IDENTITY)
    directory.mkdir()
    with lmdb.open(str(directory), max_dbs=8) as env:
        env.open_db(b"meta")
    with pytest.raises(UnknownSchema):
        LmdbStore.open(tmp_path, IDENTITY, readonly=True)
    store = LmdbStore.open(tmp_path, IDENTITY)
    store.write([make_event(1)])
    store.close()


def test_home_below_a_file_is_unwritable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for home in (tmp_path / "file", tmp_path / "file" / "home"):
        with pytest.raises(UnwritableHome, match="mount a writable folder"):
            LmdbStore.open(home, IDENTITY)


def test_second_opening_in_a_process_is_refused(store: LmdbStore, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    for home in (tmp_path, tmp_path / "link"):
        for readonly in (False, True):
            with pytest.raises(StoreLocked, match="already open in this process"):
                LmdbStore.open(home, IDENTITY, readonly=readonly)
    store.write([make_event(1)])
    store.close()
    LmdbStore.open(tmp_path, IDENTITY).close()


def test_second_writing_process_is_refused(store: LmdbStore, tmp_path: Path) -> None:
    said = in_another_process(
        """
        try:
            LmdbStore.open(home, IDENTITY)
        except StoreLocked as error:
            print(error)
        """,
        tmp_path,
    )
    assert f"open for writing in process {os.getpid()}" in said
    store.close()
    assert in_another_process("LmdbStore.open(home, IDENTITY).close(); print('open')", tmp_path) == "open"


def test_another_process_may_read_while_this_one_writes(tmp_path: Path) -> None:
    """The reader was opened on a smaller map than the writer has grown to in the meantime."""
    store = LmdbStore.open(tmp_path, IDENTITY, map_bytes=1 << 16)
    store.write([make_event(0)])
    code = """
        store = LmdbStore.open(home, IDENTITY, readonly=True, map_bytes=1 << 16)
        print(store.stats().events, flush=True)
        sys.stdin.readline()
        assert all(store.body("alice", head.id) == make_event(head.start).body for head in store.heads("alice"))
        print(store.stats().events, flush=True)
        for change in (lambda: store.write([make_event(1)]), lambda: store.delete("alice", [event_id(1)]),
                       lambda: store.touch("alice", [event_id(1)], 1.0)):
            try:
                change()
            except ReadOnlyStore:
                print("refused", flush=True)
    """
    program = (
        "import sys\nfrom pathlib import Path\nfrom memory_store import *\nfrom sample_events import *\n"
        "home = Path(sys.argv[1])\n" + textwrap.dedent(code)
    )
    reader = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert reader.stdin is not None and reader.stdout is not None
    assert reader.stdout.readline() == "1\n"
    store.write([make_event(number) for number in range(1, 60)])
    said, _ = reader.communicate("\n", timeout=60)
    assert said.split() == ["60", "refused", "refused", "refused"]
    assert reader.returncode == 0
    store.close()


def test_read_only_store_cannot_be_changed(store: LmdbStore, tmp_path: Path) -> None:
    store.write([make_event(1)])
    store.close()
    reader = LmdbStore.open(tmp_path, IDENTITY, readonly=True)
    with pytest.raises(ReadOnlyStore):
        reader.refresh("alice", [event_id(1)], 1.0)
    assert reader.body("alice", event_id(1)) == make_event(1).body
    reader.close()


def test_store_carried_across_a_fork_is_refused_in_the_child(tmp_path: Path) -> None:
    said = in_another_process(
        """
        store = LmdbStore.open(home, IDENTITY)
        store.write([make_event(1)])
        child = os.fork()
        if child == 0:
            try:
                store.body("alice", event_id(1))
                os._exit(1)
            except StoreLocked as error:
                assert "across a fork" in str(error)
            try:
                LmdbStore.open(home, IDENTITY)
                os._exit(2)
            except StoreLocked as error:
                pass
            store.close()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert store.body("alice", event_id(1)) == make_event(1).body
        store.write([make_event(2)])
        print(os.waitstatus_to_exitcode(status), store.stats().events)
        """,
        tmp_path,
    )
    assert said == "0 2"
