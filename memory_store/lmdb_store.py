"""Events in LMDB: one durable transaction per write, checksummed values, one directory per identity."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from memory_store import identity as store_identity
from memory_store.base import Block, Event, EventHead, StoreStats
from memory_store.errors import CorruptRecord, EventNotFound, ReadOnlyStore, StoreNotFound, WrongIdentity
from memory_store.event_record import (
    EncodedEvent,
    Usage,
    decode_body,
    decode_head,
    decode_usage,
    encode_event,
    encode_usage,
    with_usage,
)
from memory_store.keys import event_key, namespace_prefix, past_namespace, split_key
from memory_store.lmdb_env import DATA_FILE, LmdbEnvironment, named_os_error
from memory_store.schema import META_DATABASE, check_or_mark, count_deletion

logger = logging.getLogger("memory_store")

INITIAL_MAP_BYTES = 1 << 30
_RECORDS_PER_TRANSACTION = 1024
_BYTES_PER_TRANSACTION = 8 << 20
_USAGE_CHANGE_BYTES = 1 << 16
_DATABASES = ("head", "body", "usage")

Found = TypeVar("Found")


class LmdbStore:
    """An `EventStore` on local disk. Made by `LmdbStore.open`; must not be carried across a fork."""

    def __init__(self, environment: LmdbEnvironment) -> None:
        self._environment = environment
        self._meta = environment.database(META_DATABASE)
        self._heads = environment.database("head")
        self._bodies = environment.database("body")
        self._usages = environment.database("usage")
        self._corrupt: set[tuple[str, bytes]] = set()

    @classmethod
    def open(
        cls,
        home: Path,
        identity: Mapping[str, store_identity.IdentityValue],
        *,
        create: bool = True,
        readonly: bool = False,
        map_bytes: int = INITIAL_MAP_BYTES,
        max_map_bytes: int | None = None,
    ) -> LmdbStore:
        """Open the store of `identity` in `home`, or make it when `create` is set and `readonly` is not.

        `map_bytes` is the first size of the memory map, which grows on demand up to `max_map_bytes` (None: unbounded);
        a write that would exceed it raises `StoreFull`. Raises `UnwritableHome`, `StoreNotFound`, `WrongIdentity`,
        `UnknownSchema`, `StoreLocked` or `StoreFull`.
        """
        directory = Path(home) / store_identity.directory_name(identity)
        if readonly or not create:
            _require_store(Path(home), directory, identity)
        else:
            _make_directory(Path(home), directory, identity)
        try:
            stored = store_identity.read_identity(directory)
        except OSError as error:
            raise named_os_error(directory, error) from error
        if stored is not None:
            store_identity.require_same(directory, stored, identity)
        environment = LmdbEnvironment(directory, readonly=readonly, map_bytes=map_bytes, max_map_bytes=max_map_bytes)
        try:
            check_or_mark(environment, store_identity.canonical_json(identity))
            if stored is None and not readonly:
                store_identity.write_identity(directory, identity)
            return cls(environment)
        except OSError as error:
            environment.close()
            raise named_os_error(directory, error) from error
        except BaseException:
            environment.close()
            raise

    @property
    def directory(self) -> Path:
        """The folder with `identity.json` and the data file."""
        return self._environment.directory

    def write(self, events: Sequence[Event]) -> None:
        """See `EventStore.write`."""
        self._require_writable()
        encoded = [encode_event(event) for event in events]
        if not encoded:
            return

        def put(transaction: Any) -> None:
            for event in encoded:
                old = self._usage(transaction, event.key)
                transaction.put(event.key, event.head, db=self._heads)
                transaction.put(event.key, event.body, db=self._bodies)
                transaction.put(event.key, encode_usage(event.key, _carried_over(event, old)), db=self._usages)

        self._environment.write(put, sum(len(event.head) + len(event.body) for event in encoded))
        self._forget_corrupt([event.key for event in encoded])

    def heads(self, namespace: str) -> Iterator[EventHead]:
        """See `EventStore.heads`. No transaction stays open while the caller holds the iterator."""
        return self._scan(self._heads, namespace_prefix(namespace), self._readable_head)

    def head(self, namespace: str, id: bytes) -> EventHead | None:
        """See `EventStore.head`."""
        key = event_key(namespace, id)

        def look(transaction: Any) -> EventHead | None:
            value = transaction.get(key, db=self._heads)
            return None if value is None else self._used_head(transaction, key, decode_head(key, value))

        return self._noting_corrupt("head", key, lambda: self._environment.read(look))

    def contains(self, namespace: str, id: bytes) -> bool:
        """See `EventStore.contains`."""
        key = event_key(namespace, id)
        return self._environment.read(lambda transaction: transaction.get(key, db=self._heads) is not None)

    def body(self, namespace: str, id: bytes) -> dict[str, Block]:
        """See `EventStore.body`."""
        key = event_key(namespace, id)

        def look(transaction: Any) -> dict[str, Block] | None:
            value = transaction.get(key, db=self._bodies)
            return None if value is None else decode_body(key, value)

        body = self._noting_corrupt("body", key, lambda: self._environment.read(look))
        if body is None:
            raise EventNotFound(f"namespace {namespace!r} holds no event {id.hex()}; it was deleted or never written")
        return body

    def touch(self, namespace: str, ids: Sequence[bytes], when: float, used: bool = True) -> None:
        """See `EventStore.touch`. A time before the last use is passed over; the use counts."""

        def touched(usage: Usage) -> Usage:
            return replace(usage, last_used_at=max(usage.last_used_at, when), uses=usage.uses + int(used))

        self._change_usages(namespace, ids, touched)

    def refresh(self, namespace: str, ids: Sequence[bytes], created_at: float) -> None:
        """See `EventStore.refresh`. The head's own record is not rewritten."""
        self._change_usages(namespace, ids, lambda usage: replace(usage, created_at=created_at))

    def delete(self, namespace: str, ids: Sequence[bytes]) -> int:
        """See `EventStore.delete`. The bytes stay in the file's free pages until these are used again."""
        self._require_writable()
        keys = [event_key(namespace, id) for id in ids]

        def remove(transaction: Any) -> int:
            removed = 0
            for key in keys:
                found = [transaction.delete(key, db=db) for db in (self._heads, self._bodies, self._usages)]
                removed += any(found)
            return removed

        count = self._environment.write(remove, _USAGE_CHANGE_BYTES, beyond_cap=True) if keys else 0
        if count:
            count_deletion(self._environment, self._meta)
        self._forget_corrupt(keys)
        return count

    def namespaces(self) -> list[str]:
        """See `EventStore.namespaces`; in the order of their keys."""

        def look(transaction: Any) -> list[str]:
            found = []
            cursor = transaction.cursor(db=self._heads)
            there = cursor.first()
            while there:
                try:
                    namespace, _ = split_key(bytes(cursor.key()))
                except ValueError:
                    there = cursor.next()
                    continue
                found.append(namespace)
                there = cursor.set_range(past_namespace(namespace_prefix(namespace)))
            return found

        return self._environment.read(look)

    def stats(self, namespace: str | None = None) -> StoreStats:
        """See `EventStore.stats`. Reads the small usage records only."""
        prefix = b"" if namespace is None else namespace_prefix(namespace)
        events = tokens = index_bytes = body_bytes = 0

        def sizes(transaction: Any, key: bytes, value: memoryview) -> tuple[int, int, int]:
            usage = self._usage(transaction, key)
            return (0, 0, 0) if usage is None else (usage.tokens, usage.index_bytes, usage.body_bytes)

        for event_tokens, event_index_bytes, event_body_bytes in self._scan(self._usages, prefix, sizes):
            events += 1
            tokens += event_tokens
            index_bytes += event_index_bytes
            body_bytes += event_body_bytes
        return StoreStats(
            events=events,
            tokens=tokens,
            index_bytes=index_bytes,
            body_bytes=body_bytes,
            file_bytes=self._environment.file_bytes(),
            corrupt_records=sum(key.startswith(prefix) for _, key in tuple(self._corrupt)),
        )

    def close(self) -> None:
        """See `EventStore.close`."""
        self._environment.close()

    def _scan(
        self, database: Any, prefix: bytes, take: Callable[[Any, bytes, memoryview], Found | None]
    ) -> Iterator[Found]:
        """`take(transaction, key, value)` of every record under `prefix` that it does not answer with None.

        Goes in steps, each a transaction of its own: one that stayed open while the caller works would make the file
        grow.
        """

        def step(transaction: Any, start: bytes) -> tuple[list[Found], bytes]:
            found: list[Found] = []
            records = size_bytes = 0
            cursor = transaction.cursor(db=database)
            there = cursor.set_range(start)
            while there and bytes(cursor.key()).startswith(prefix):
                key, value = bytes(cursor.key()), cursor.value()
                if records >= _RECORDS_PER_TRANSACTION or size_bytes >= _BYTES_PER_TRANSACTION:
                    return found, key
                records += 1
                size_bytes += len(value)
                taken = take(transaction, key, value)
                if taken is not None:
                    found.append(taken)
                there = cursor.next()
            return found, b""

        start = prefix or b"\0"
        while start:
            found, start = self._environment.read(lambda transaction, start=start: step(transaction, start))  # type: ignore[misc]
            yield from found

    def _readable_head(self, transaction: Any, key: bytes, value: memoryview) -> EventHead | None:
        try:
            return self._used_head(transaction, key, decode_head(key, value))
        except CorruptRecord as error:
            self._note_corrupt("head", key, error)
            return None

    def _change_usages(self, namespace: str, ids: Sequence[bytes], changed: Callable[[Usage], Usage]) -> None:
        self._require_writable()
        keys = [event_key(namespace, id) for id in ids]

        def put(transaction: Any) -> None:
            for key in keys:
                usage = self._usage(transaction, key)
                if usage is not None:
                    transaction.put(key, encode_usage(key, changed(usage)), db=self._usages)

        if keys:
            self._environment.write(put, _USAGE_CHANGE_BYTES, beyond_cap=True)

    def _used_head(self, transaction: Any, key: bytes, head: EventHead) -> EventHead:
        usage = self._stored_usage(key, transaction.get(key, db=self._usages))
        return with_usage(head, usage or self._fresh_usage(transaction, key, head))

    def _usage(self, transaction: Any, key: bytes) -> Usage | None:
        """The usage of an event, made anew from its head when its own record is lost; None without a readable head."""
        usage = self._stored_usage(key, transaction.get(key, db=self._usages))
        value = transaction.get(key, db=self._heads) if usage is None else None
        if value is None:
            return usage
        try:
            return self._fresh_usage(transaction, key, decode_head(key, value))
        except CorruptRecord as error:
            self._note_corrupt("head", key, error)
            return None

    def _fresh_usage(self, transaction: Any, key: bytes, head: EventHead) -> Usage:
        return Usage(
            created_at=head.created_at,
            last_used_at=head.created_at,
            uses=0,
            tokens=len(head.token_ids),
            index_bytes=len(transaction.get(key, db=self._heads)),
            body_bytes=len(transaction.get(key, db=self._bodies) or b""),
        )

    def _stored_usage(self, key: bytes, value: memoryview | None) -> Usage | None:
        if value is None:
            return None
        try:
            return decode_usage(key, value)
        except CorruptRecord as error:
            self._note_corrupt("usage", key, error)
            return None

    def _noting_corrupt(self, database: str, key: bytes, look: Callable[[], Found]) -> Found:
        try:
            return look()
        except CorruptRecord as error:
            self._note_corrupt(database, key, error)
            raise

    def _note_corrupt(self, database: str, key: bytes, error: CorruptRecord) -> None:
        if (database, key) not in self._corrupt:
            self._corrupt.add((database, key))
            logger.warning("%s: %s", self.directory, error)

    def _forget_corrupt(self, keys: Sequence[bytes]) -> None:
        self._corrupt.difference_update((database, key) for database in _DATABASES for key in keys)

    def _require_writable(self) -> None:
        if self._environment.readonly:
            raise ReadOnlyStore(f"the store in {self.directory} is open read-only; change it in the server's process")


def _carried_over(event: EncodedEvent, old: Usage | None) -> Usage:
    if old is None:
        return event.usage
    return replace(event.usage, uses=old.uses, last_used_at=max(old.last_used_at, event.usage.created_at))


def _require_store(home: Path, directory: Path, identity: Mapping[str, store_identity.IdentityValue]) -> None:
    if (directory / DATA_FILE).exists():
        return
    try:
        other = store_identity.nearest_store(home, identity)
    except OSError as error:
        raise named_os_error(home, error) from error
    if other is None:
        raise StoreNotFound(f"{home} holds no store; start a server that writes one, or look in another home")
    raise WrongIdentity(
        f"{home} holds no store of this model or layout; the nearest, {other[0].name}, differs in: "
        f"{'; '.join(other[1])}; use the model it was made with, or another home"
    )


def _make_directory(home: Path, directory: Path, identity: Mapping[str, store_identity.IdentityValue]) -> None:
    try:
        if not directory.exists():
            home.mkdir(parents=True, exist_ok=True)
            if other := store_identity.nearest_store(home, identity):
                logger.warning(
                    "%s: starting an empty store; the nearest of another model or layout, %s, differs in: %s",
                    home,
                    other[0].name,
                    "; ".join(other[1]),
                )
            # Other users of the machine have no business in what people told the model.
            directory.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise named_os_error(home, error) from error
