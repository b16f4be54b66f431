"""The mark that makes an LMDB file a store of ours: its schema and whose it is, in the database `meta`."""

from __future__ import annotations

import json
import struct
from typing import Any

from memory_store.errors import StoreNotFound, UnknownSchema
from memory_store.format import SCHEMA_VERSION
from memory_store.identity import require_same
from memory_store.lmdb_env import LmdbEnvironment

META_DATABASE = "meta"
SCHEMA_KEY = b"schema"
IDENTITY_KEY = b"identity"
SCHEMA_VALUE = struct.Struct("<8sI")
SCHEMA_MAGIC = b"V14STORE"
DELETIONS_KEY = b"deletions"
_COUNT = struct.Struct("<Q")


def count_deletion(environment: LmdbEnvironment, meta: Any) -> None:
    """A small transaction of its own behind one that deleted.

    LMDB keeps the pages that a transaction frees for one more transaction, so that the state before it could be gone
    back to. Without this one, the first write after a deletion in a full store would find no room.
    """

    def put(transaction: Any) -> None:
        stored = transaction.get(DELETIONS_KEY, db=meta)
        count = _COUNT.unpack(stored)[0] if stored is not None and len(stored) == _COUNT.size else 0
        transaction.put(DELETIONS_KEY, _COUNT.pack((count + 1) % (1 << 64)), db=meta)

    environment.write(put, _COUNT.size, beyond_cap=True)


def check_or_mark(environment: LmdbEnvironment, identity_json: bytes) -> None:
    """Verify the mark, or set it in an environment that holds nothing.

    Raises `UnknownSchema`, `WrongIdentity`, or `StoreNotFound` for an unmarked environment that is open read-only.
    """
    directory = environment.directory
    names = environment.read(lambda transaction: [bytes(key) for key, _ in transaction.cursor()])
    unmarked = [name for name in names if name != META_DATABASE.encode()]
    if not names and environment.readonly:
        raise StoreNotFound(f"the store in {directory} was never finished; start the server that writes it first")
    if META_DATABASE.encode() not in names and unmarked:
        raise UnknownSchema(f"{directory} holds an LMDB file that is not a memory store; move it away")
    meta = environment.database(META_DATABASE)

    def look(transaction: Any) -> tuple[bytes | None, bytes | None]:
        mark, owner = transaction.get(SCHEMA_KEY, db=meta), transaction.get(IDENTITY_KEY, db=meta)
        return None if mark is None else bytes(mark), None if owner is None else bytes(owner)

    mark, owner = environment.read(look)
    if mark is None and owner is None and not unmarked and not environment.readonly:

        def put(transaction: Any) -> None:
            transaction.put(SCHEMA_KEY, SCHEMA_VALUE.pack(SCHEMA_MAGIC, SCHEMA_VERSION), db=meta)
            transaction.put(IDENTITY_KEY, identity_json, db=meta)

        environment.write(put, len(identity_json))
        return
    if mark is None or owner is None or len(mark) != SCHEMA_VALUE.size:
        raise UnknownSchema(f"{directory} holds an LMDB file without a readable schema; move it away or restore it")
    magic, schema = SCHEMA_VALUE.unpack(mark)
    if magic != SCHEMA_MAGIC:
        raise UnknownSchema(f"{directory} holds an LMDB file that is not a memory store; move it away")
    if schema != SCHEMA_VERSION:
        raise UnknownSchema(
            f"the store in {directory} has schema {schema} and this version reads schema {SCHEMA_VERSION}; "
            "use the version that wrote it, or another home"
        )
    require_same(directory, json.loads(owner), json.loads(identity_json))
