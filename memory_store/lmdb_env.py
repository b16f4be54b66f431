"""One LMDB environment: opened once, its map grown on demand, its failures told apart and named."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import lmdb

from memory_store.errors import (
    ReadOnlyStore,
    StoreClosed,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreNotFound,
    UnknownSchema,
    UnwritableHome,
)
from memory_store.map_gate import MapGate

logger = logging.getLogger("memory_store")

DATA_FILE = "data.mdb"
LOCK_FILE = "writer.lock"
_PAGE_BYTES = 4096
_MAX_DATABASES = 8
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}

Result = TypeVar("Result")

_open_here: dict[str, int] = {}
_open_here_lock = threading.Lock()


class LmdbEnvironment:
    """Runs read and write transactions in the environment at `directory`.

    `map_bytes` is the size to begin with; a transaction that does not fit makes it grow up to `max_map_bytes` (None: as
    far as the address space goes) and is run again. Raises `StoreLocked` when the environment is open in this process,
    or open for writing in another one and `readonly` is not set.
    """

    def __init__(self, directory: Path, *, readonly: bool, map_bytes: int, max_map_bytes: int | None) -> None:
        self.directory = directory
        self.readonly = readonly
        self._max_map_bytes = None if max_map_bytes is None else _whole_pages(max_map_bytes)
        self._gate = MapGate()
        self._write_lock = threading.Lock()
        self._process = os.getpid()
        self._env: Any = None
        with ExitStack() as undo:
            self._register()
            undo.callback(self._unregister)
            self._writer_lock = None if readonly else _lock_for_writing(directory)
            if self._writer_lock is not None:
                undo.callback(os.close, self._writer_lock)
            if readonly and not (directory / DATA_FILE).exists():
                raise StoreNotFound(f"there is no store in {directory}; start the server that writes it first")
            wanted_bytes = map_bytes + self.file_bytes()
            if self._max_map_bytes is not None:
                wanted_bytes = min(wanted_bytes, self._max_map_bytes)
            self._map_bytes = _whole_pages(wanted_bytes)
            try:
                self._env = lmdb.open(
                    os.fspath(directory),
                    map_size=self._map_bytes,
                    max_dbs=_MAX_DATABASES,
                    readonly=readonly,
                    create=not readonly,
                    mode=0o600,
                )
                # A reader that was killed leaves its slot behind, which would keep old pages from being used again.
                self._env.reader_check()
            except (lmdb.InvalidError, lmdb.VersionMismatchError) as error:
                raise UnknownSchema(
                    f"{directory / DATA_FILE} is not an LMDB file that this version reads ({error}); move it away, "
                    "or restore it"
                ) from error
            except lmdb.Error as error:
                raise self._named(error, _PAGE_BYTES) from error
            undo.pop_all()

    def database(self, name: str) -> Any:
        """The handle of a named database, created when missing. Raises `StoreNotFound` when it may not be created."""

        def open_database() -> Any:
            return self._env.open_db(name.encode(), create=not self.readonly)

        try:
            return open_database()
        except lmdb.MapFullError:
            self._grow(_PAGE_BYTES, beyond_cap=True)
            return open_database()
        except (lmdb.NotFoundError, lmdb.ReadonlyError) as error:
            raise StoreNotFound(
                f"the store in {self.directory} was never finished; start the server that writes it first"
            ) from error
        except lmdb.Error as error:
            raise self._named(error, _PAGE_BYTES) from error

    def read(self, look: Callable[[Any], Result]) -> Result:
        """`look(transaction)` in a read transaction that ends with the call; values are memoryviews into the map."""
        while True:
            try:
                self._usable()
                with self._gate.transaction(), self._usable().begin(buffers=True) as transaction:
                    return look(transaction)
            except lmdb.MapResizedError:
                with self._gate.map_change():
                    self._usable().set_mapsize(0)
            except lmdb.Error as error:
                raise self._named(error, 0) from error

    def write(self, change: Callable[[Any], Result], size_bytes: int, *, beyond_cap: bool = False) -> Result:
        """`change(transaction)` in a durable transaction of about `size_bytes`; may run it again on a larger map.

        `beyond_cap` is for what must go on in a store that has reached its cap: LMDB needs some pages more even to
        delete, and gives up the old ones only afterwards. Raises `StoreFull`, after which nothing of the transaction is
        stored.
        """
        if self.readonly:
            raise ReadOnlyStore(f"the store in {self.directory} is open read-only; change it in the server's process")
        self._usable()
        with self._write_lock:
            if not beyond_cap and self._max_map_bytes is not None and self._map_bytes > self._max_map_bytes:
                self._set_map(self._max_map_bytes)
            while True:
                try:
                    with self._gate.transaction(), self._usable().begin(write=True, buffers=True) as transaction:
                        return change(transaction)
                except lmdb.MapFullError:
                    self._grow(size_bytes, beyond_cap)
                except lmdb.Error as error:
                    raise self._named(error, size_bytes) from error

    def file_bytes(self) -> int:
        """Size of the data file."""
        try:
            return (self.directory / DATA_FILE).stat().st_size
        except FileNotFoundError:
            return 0

    def close(self) -> None:
        """Wait for running transactions and release everything; does nothing twice, nor in a forked child."""
        if self._env is None or os.getpid() != self._process:
            return
        with self._write_lock, self._gate.map_change():
            env, self._env = self._env, None
            if env is None:
                return
            env.close()
            if self._writer_lock is not None:
                os.close(self._writer_lock)
            self._unregister()

    def _usable(self) -> Any:
        # Asked before a lock is taken, too: a forked child may inherit it locked by a thread that it does not have.
        if self._env is None:
            raise StoreClosed(f"the store in {self.directory} is closed; open it again")
        if os.getpid() != self._process:
            raise StoreLocked(
                f"the store in {self.directory} was opened by process {self._process} and carried across a fork into "
                f"{os.getpid()}; open it after the fork"
            )
        return self._env

    def _grow(self, size_bytes: int, beyond_cap: bool) -> None:
        grown_bytes = max(2 * self._map_bytes, self._map_bytes + 2 * size_bytes)
        if self._max_map_bytes is not None and not beyond_cap:
            if self._map_bytes >= self._max_map_bytes:
                raise StoreFull(
                    f"the store in {self.directory} has reached its cap of {self._max_map_bytes} bytes; "
                    "delete events or raise the cap"
                )
            grown_bytes = min(grown_bytes, self._max_map_bytes)
        self._set_map(grown_bytes)

    def _set_map(self, size_bytes: int) -> None:
        """LMDB itself keeps a map from becoming smaller than what is stored."""
        with self._gate.map_change():
            try:
                self._usable().set_mapsize(_whole_pages(size_bytes))
            except lmdb.Error as error:
                raise StoreFull(
                    f"the store in {self.directory} cannot map {size_bytes} bytes ({error}); raise the limit of "
                    "address space"
                ) from error
            self._map_bytes = _whole_pages(size_bytes)

    def _named(self, error: Exception, size_bytes: int) -> StoreError:
        code = getattr(error, "code", None)
        if isinstance(error, lmdb.DiskError) or code in _NO_ROOM or self._disk_refuses(code, size_bytes):
            return StoreFull(
                f"no room for {size_bytes} more bytes in {self.directory} ({error}); free disk space or lift the "
                "limit; what is stored stays readable"
            )
        if code in (errno.EACCES, errno.EPERM, errno.EROFS):
            return UnwritableHome(f"{self.directory} refuses access ({error}); make it writable for this user")
        if isinstance(error, lmdb.ReadonlyError):
            return ReadOnlyStore(f"the store in {self.directory} is read-only ({error}); open it for writing")
        return StoreError(f"the store in {self.directory} failed ({error}); restart, and restore a copy if it stays so")

    def _disk_refuses(self, code: int | None, size_bytes: int) -> bool:
        """Whether an I/O error means a full disk: LMDB turns the short write that a full disk causes into EIO."""
        if size_bytes == 0 or code not in (None, errno.EIO):
            return False
        try:
            with tempfile.TemporaryFile(dir=self.directory) as probe:
                os.posix_fallocate(probe.fileno(), self.file_bytes(), 2 * size_bytes + 16 * _PAGE_BYTES)
        except OSError as error:
            return error.errno in _NO_ROOM
        return False

    def _register(self) -> None:
        path = os.path.realpath(self.directory)
        with _open_here_lock:
            if _open_here.get(path) == self._process:
                raise StoreLocked(f"the store in {path} is already open in this process; use the open one or close it")
            _open_here[path] = self._process

    def _unregister(self) -> None:
        with _open_here_lock:
            _open_here.pop(os.path.realpath(self.directory), None)


def _lock_for_writing(directory: Path) -> int:
    """Take the lock of the one writing process.

    A record lock goes with its process, unlike `flock`, which a forked child would keep.
    """
    path = directory / LOCK_FILE
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise named_os_error(directory, error) from error
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
    except (BlockingIOError, PermissionError) as error:
        holder = os.read(descriptor, 20).decode(errors="replace").strip()
        os.close(descriptor)
        raise StoreLocked(
            f"the store in {directory} is open for writing in process {holder or 'unknown'}; stop that server, "
            "or give this one another home"
        ) from error
    except OSError as error:
        os.close(descriptor)
        raise named_os_error(directory, error) from error
    return descriptor


def named_os_error(path: Path, error: OSError) -> StoreError:
    """`StoreFull` or `UnwritableHome` for a failed file operation in a home."""
    if error.errno in _NO_ROOM:
        return StoreFull(f"no room in {path} ({error.strerror}); free disk space or use another home")
    return UnwritableHome(f"{path} cannot be used ({error.strerror}); mount a writable folder or use another home")


def _whole_pages(size_bytes: int) -> int:
    return -(-size_bytes // _PAGE_BYTES) * _PAGE_BYTES
