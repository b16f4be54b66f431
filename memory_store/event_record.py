"""The three records of an event: head (what it is), body (what every layer kept), usage (what a use changes)."""

from __future__ import annotations

import struct
from collections.abc import Mapping

import msgspec
import numpy as np

from memory_store.base import Block, Event, EventHead
from memory_store.block_codec import decode_blocks, encode_blocks
from memory_store.errors import CorruptRecord, InvalidEvent
from memory_store.format import PayloadReader, RecordKind, decode_record, encode_record, encode_text
from memory_store.keys import event_key, split_key

_HEAD_FIELDS = struct.Struct("<dII")
_USAGE_FIELDS = struct.Struct("<ddQIQQ")
_MAX_TOKEN = 0xFFFFFFFF


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What is rewritten when an event is used or told again, and the sizes that sums are made of."""

    created_at: float
    last_used_at: float
    uses: int
    tokens: int
    index_bytes: int
    body_bytes: int


class EncodedEvent(msgspec.Struct, frozen=True):
    """An event's records, ready to be put under `key`."""

    key: bytes
    head: bytes
    body: bytes
    usage: Usage


def encode_event(event: Event) -> EncodedEvent:
    """Compress and frame an event. Raises `InvalidEvent` or `InvalidNamespace` when the format cannot hold it."""
    key = event_key(event.namespace, event.id)
    if len(event.conversation) not in (0, 16):
        raise InvalidEvent(f"a conversation is 16 bytes or empty, not {event.conversation!r}; pass a 128-bit digest")
    if not 0 <= event.start <= _MAX_TOKEN:
        raise InvalidEvent(f"start {event.start} is not a 32-bit index; pass the token's place in its prompt")
    if event.token_ids and not (min(event.token_ids) >= 0 and max(event.token_ids) <= _MAX_TOKEN):
        raise InvalidEvent("a token id is not an unsigned 32-bit number; pass the tokenizer's ids")
    head = encode_record(
        RecordKind.HEAD,
        key,
        [
            _HEAD_FIELDS.pack(event.created_at, event.start, len(event.token_ids)),
            np.array(event.token_ids, "<u4").tobytes(),
            bytes([len(event.conversation)]) + event.conversation,
            encode_text(event.role),
            *encode_blocks(event.index),
        ],
    )
    body = encode_record(RecordKind.BODY, key, encode_blocks(event.body))
    usage = Usage(
        created_at=event.created_at,
        last_used_at=event.created_at,
        uses=0,
        tokens=len(event.token_ids),
        index_bytes=len(head),
        body_bytes=len(body),
    )
    return EncodedEvent(key, head, body, usage)


def decode_head(key: bytes, value: bytes | memoryview) -> EventHead:
    """A head as it was written; the fields of use are those of an event never used. Raises `CorruptRecord`."""
    reader = PayloadReader(decode_record(RecordKind.HEAD, key, value))
    created_at, start, tokens = reader.unpack(_HEAD_FIELDS)
    token_ids = np.frombuffer(reader.take(4 * int(tokens)), "<u4").tolist()
    conversation = bytes(reader.take(reader.integer(1)))
    if len(conversation) not in (0, 16):
        raise CorruptRecord(f"a conversation of {len(conversation)} bytes; delete the event")
    role = reader.text()
    index = decode_blocks(reader)
    reader.finish()
    namespace, id = split_key(key)
    return EventHead(
        id=id,
        namespace=namespace,
        token_ids=tuple(token_ids),
        role=role,
        created_at=created_at,
        conversation=conversation,
        start=int(start),
        index=index,
        last_used_at=created_at,
        uses=0,
        body_bytes=0,
    )


def decode_body(key: bytes, value: bytes | memoryview) -> dict[str, Block]:
    """Raises `CorruptRecord`."""
    reader = PayloadReader(decode_record(RecordKind.BODY, key, value))
    body = decode_blocks(reader)
    reader.finish()
    return body


def encode_usage(key: bytes, usage: Usage) -> bytes:
    """The framed usage record."""
    fields = _USAGE_FIELDS.pack(
        usage.created_at, usage.last_used_at, usage.uses, usage.tokens, usage.index_bytes, usage.body_bytes
    )
    return encode_record(RecordKind.USAGE, key, [fields])


def decode_usage(key: bytes, value: bytes | memoryview) -> Usage:
    """Raises `CorruptRecord`."""
    reader = PayloadReader(decode_record(RecordKind.USAGE, key, value))
    created_at, last_used_at, uses, tokens, index_bytes, body_bytes = reader.unpack(_USAGE_FIELDS)
    reader.finish()
    return Usage(
        created_at=created_at,
        last_used_at=last_used_at,
        uses=int(uses),
        tokens=int(tokens),
        index_bytes=int(index_bytes),
        body_bytes=int(body_bytes),
    )


def with_usage(head: EventHead, usage: Usage) -> EventHead:
    """`head` with the times, uses and body size of `usage`."""
    return msgspec.structs.replace(
        head,
        created_at=usage.created_at,
        last_used_at=usage.last_used_at,
        uses=usage.uses,
        body_bytes=usage.body_bytes,
    )


def block_bytes(blocks: Mapping[str, Block]) -> int:
    """Uncompressed bytes of all blocks."""
    return sum(len(block.data) for block in blocks.values())
