"""The frame around every stored value: magic, schema, kind, length and a checksum that also covers the key.

`docs/store-format.md` describes it byte by byte.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Iterable

import xxhash

from memory_store.errors import CorruptRecord, InvalidEvent

SCHEMA_VERSION = 1
MAX_RECORD_BYTES = 1 << 30
"""The most bytes that one record may take, and also the most that it may expand to."""

_MAGIC = b"V14R"
_PREFACE = struct.Struct("<4sHBBQ")
_CHECKSUM = struct.Struct("<Q")
_KEY_LENGTH = struct.Struct("<I")
FRAME_BYTES = _PREFACE.size + _CHECKSUM.size


class RecordKind(enum.IntEnum):
    """What a record holds."""

    HEAD = 1
    BODY = 2
    USAGE = 3


def encode_record(kind: RecordKind, key: bytes, parts: Iterable[bytes]) -> bytes:
    """Frame the payload `parts`. Raises `InvalidEvent` when it is larger than `MAX_RECORD_BYTES`."""
    payload = b"".join(parts)
    if len(payload) > MAX_RECORD_BYTES:
        raise InvalidEvent(f"a record of {len(payload)} bytes exceeds {MAX_RECORD_BYTES}; store shorter events")
    preface = _PREFACE.pack(_MAGIC, SCHEMA_VERSION, kind, 0, len(payload))
    return b"".join((preface, _CHECKSUM.pack(_checksum(key, preface, payload)), payload))


def decode_record(kind: RecordKind, key: bytes, value: bytes | memoryview) -> memoryview:
    """The payload of a framed value, not copied. Raises `CorruptRecord` unless every byte is as it was written."""
    view = memoryview(value)
    if len(view) < FRAME_BYTES:
        raise CorruptRecord(_reason(kind, key, f"it has {len(view)} bytes, fewer than its frame"))
    magic, schema, stored_kind, reserved, payload_bytes = _PREFACE.unpack_from(view)
    if magic != _MAGIC or reserved != 0:
        raise CorruptRecord(_reason(kind, key, "it does not begin like a record"))
    if schema != SCHEMA_VERSION:
        raise CorruptRecord(_reason(kind, key, f"it claims schema {schema}, this code reads {SCHEMA_VERSION}"))
    if stored_kind != kind:
        raise CorruptRecord(_reason(kind, key, f"it is of kind {stored_kind}"))
    if payload_bytes != len(view) - FRAME_BYTES:
        raise CorruptRecord(_reason(kind, key, f"it promises {payload_bytes} bytes, {len(view) - FRAME_BYTES} follow"))
    payload = view[FRAME_BYTES:]
    (stored_checksum,) = _CHECKSUM.unpack_from(view, _PREFACE.size)
    if stored_checksum != _checksum(key, view[: _PREFACE.size], payload):
        raise CorruptRecord(_reason(kind, key, "its checksum does not match"))
    return payload


def _checksum(key: bytes, preface: bytes | memoryview, payload: bytes | memoryview) -> int:
    digest = xxhash.xxh3_64(_KEY_LENGTH.pack(len(key)))
    digest.update(key)
    digest.update(preface)
    digest.update(payload)
    return digest.intdigest()


def _reason(kind: RecordKind, key: bytes, cause: str) -> str:
    return f"{kind.name.lower()} record {key.hex()} is corrupt: {cause}; it is not used, delete or re-tell the event"


class PayloadReader:
    """Reads a payload front to back and never past its end."""

    def __init__(self, payload: bytes | memoryview) -> None:
        self._rest = memoryview(payload)

    def take(self, size_bytes: int) -> memoryview:
        """The next `size_bytes` bytes, not copied. Raises `CorruptRecord` when fewer are left."""
        if size_bytes > len(self._rest):
            raise CorruptRecord(f"a field of {size_bytes} bytes is cut off after {len(self._rest)}; delete the event")
        taken, self._rest = self._rest[:size_bytes], self._rest[size_bytes:]
        return taken

    def unpack(self, layout: struct.Struct) -> tuple[int | float, ...]:
        """The next fields in `layout`."""
        return layout.unpack(self.take(layout.size))

    def integer(self, size_bytes: int) -> int:
        """The next unsigned little-endian integer."""
        return int.from_bytes(self.take(size_bytes), "little")

    def text(self) -> str:
        """The next text: one length byte, then UTF-8."""
        try:
            return str(self.take(self.integer(1)), "utf-8")
        except UnicodeDecodeError as error:
            raise CorruptRecord(f"a text field is not UTF-8 ({error}); delete the event") from error

    def finish(self) -> None:
        """Raises `CorruptRecord` when bytes are left over."""
        if len(self._rest):
            raise CorruptRecord(f"{len(self._rest)} bytes follow the last field; delete the event")


def encode_text(text: str) -> bytes:
    """One length byte, then UTF-8. Raises `InvalidEvent` when it is longer than 255 bytes or not valid Unicode."""
    try:
        encoded = text.encode()
    except UnicodeEncodeError as error:
        raise InvalidEvent(f"the name {text!r} is not valid Unicode ({error}); rename it") from error
    if len(encoded) > 255:
        raise InvalidEvent(f"the name {text[:20]!r}… takes {len(encoded)} UTF-8 bytes and 255 are allowed; shorten it")
    return bytes([len(encoded)]) + encoded
