"""The key of a record: namespace, then event id. No two namespaces share a key, nor is one a prefix of another."""

from __future__ import annotations

from memory_store.errors import InvalidEvent, InvalidNamespace

MAX_NAMESPACE_BYTES = 200
ID_BYTES = 16


def namespace_prefix(namespace: str) -> bytes:
    """Length byte + UTF-8 bytes: the length in front keeps `a` + `b…` and `ab` + `…` apart."""
    if not isinstance(namespace, str):
        raise InvalidNamespace(f"a namespace is text, not {type(namespace).__name__}; pass a str")
    try:
        name = namespace.encode()
    except UnicodeEncodeError as error:
        raise InvalidNamespace(f"the namespace {namespace!r} is not valid Unicode ({error}); remove it") from error
    if len(name) > MAX_NAMESPACE_BYTES:
        raise InvalidNamespace(
            f"the namespace {namespace[:20]!r}… takes {len(name)} UTF-8 bytes and {MAX_NAMESPACE_BYTES} are allowed; "
            "use a shorter one, or a hash of it"
        )
    return bytes([len(name)]) + name


def event_key(namespace: str, id: bytes) -> bytes:
    """`namespace_prefix(namespace)` + the 16 bytes of the id: at most 217 bytes, within LMDB's 511."""
    return namespace_prefix(namespace) + checked_id(id)


def checked_id(id: bytes) -> bytes:
    """`id` itself; raises `InvalidEvent` unless it is 16 bytes."""
    if not isinstance(id, bytes) or len(id) != ID_BYTES:
        raise InvalidEvent(f"an event id is {ID_BYTES} bytes, not {id!r}; pass a 128-bit digest")
    return id


def split_key(key: bytes) -> tuple[str, bytes]:
    """Namespace and id of a key. Raises `ValueError` when `event_key` cannot have made it."""
    if not key or len(key) != 1 + key[0] + ID_BYTES:
        raise ValueError(f"not an event key: {key.hex()}")
    return key[1 : 1 + key[0]].decode(), key[1 + key[0] :]


def past_namespace(prefix: bytes) -> bytes:
    """A key behind every event of the namespace and before every other namespace's."""
    return prefix + b"\xff" * (ID_BYTES + 1)
