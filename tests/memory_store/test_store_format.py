"""Records: what is written comes back, and nothing else does."""

from __future__ import annotations

import contextlib
import struct
import tracemalloc

import pytest
import xxhash
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from sample_events import event_id, events, make_event

from memory_store import CorruptRecord, Event, InvalidEvent
from memory_store.block_codec import decode_blocks
from memory_store.event_record import decode_body, decode_head, decode_usage, encode_event, encode_usage
from memory_store.format import FRAME_BYTES, PayloadReader, RecordKind, decode_record, encode_record
from memory_store.keys import event_key

DECODERS = {RecordKind.HEAD: decode_head, RecordKind.BODY: decode_body, RecordKind.USAGE: decode_usage}


def records(event: Event) -> dict[RecordKind, bytes]:
    encoded = encode_event(event)
    usage = encode_usage(encoded.key, encoded.usage)
    return {RecordKind.HEAD: encoded.head, RecordKind.BODY: encoded.body, RecordKind.USAGE: usage}


@given(events)
def test_round_trip(event: Event) -> None:
    encoded = encode_event(event)
    head = decode_head(encoded.key, encoded.head)
    assert decode_body(encoded.key, encoded.body) == event.body
    assert decode_usage(encoded.key, encode_usage(encoded.key, encoded.usage)) == encoded.usage
    for field in ("id", "namespace", "token_ids", "role", "created_at", "conversation", "start", "index"):
        assert getattr(head, field) == getattr(event, field), field


@given(events, st.sampled_from(RecordKind), st.integers(0), st.integers(1, 255))
def test_any_altered_byte_is_noticed(event: Event, kind: RecordKind, position: int, change: int) -> None:
    value = bytearray(records(event)[kind])
    value[position % len(value)] ^= change
    with pytest.raises(CorruptRecord):
        DECODERS[kind](event_key(event.namespace, event.id), bytes(value))


@given(events, st.sampled_from(RecordKind), st.integers(0), st.binary(min_size=1, max_size=9))
def test_any_other_length_is_noticed(event: Event, kind: RecordKind, position: int, more: bytes) -> None:
    key, value = event_key(event.namespace, event.id), records(event)[kind]
    for altered in (value[: position % len(value)], value + more):
        with pytest.raises(CorruptRecord):
            DECODERS[kind](key, altered)


@given(
    events, st.sampled_from(RecordKind), st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=4), st.data()
)
def test_hostile_payload_with_a_right_checksum_is_read_or_refused(
    event: Event, kind: RecordKind, changes: list[tuple[int, int]], data: st.DataObject
) -> None:
    """The checksum is no signature: who can write the file can make it right, and must still do no harm."""
    key = event_key(event.namespace, event.id)
    payload = bytearray(records(event)[kind][FRAME_BYTES:])
    for position, byte in changes:
        payload[position % len(payload)] = byte
    cut = data.draw(st.integers(0, len(payload)))
    for hostile in (payload, payload[:cut]):
        with contextlib.suppress(CorruptRecord):
            DECODERS[kind](key, encode_record(kind, key, [bytes(hostile)]))


def test_a_value_under_another_key_is_noticed() -> None:
    event = make_event(1)
    for kind, value in records(event).items():
        for key in (event_key("alice", event_id(2)), event_key("bob", event.id)):
            with pytest.raises(CorruptRecord, match="checksum"):
                DECODERS[kind](key, value)


def test_a_record_of_another_kind_or_schema_is_named() -> None:
    event = make_event(1)
    key, value = event_key("alice", event.id), records(event)[RecordKind.HEAD]
    with pytest.raises(CorruptRecord, match="kind 1"):
        decode_body(key, value)
    with pytest.raises(CorruptRecord, match="schema 9"):
        decode_head(key, value[:4] + b"\x09\0" + value[6:])


def section(dtype: int, shape: tuple[int, ...], data: bytes) -> bytes:
    """A block section with one block `k`, by the format document."""
    return b"\x01\0" + b"\x01k" + bytes([dtype, len(shape)]) + struct.pack(f"<{len(shape)}I", *shape) + data


def stream(codec: int, data: bytes) -> bytes:
    return struct.pack("<BQ", codec, len(data)) + data


ZEROS = zstandard.ZstdCompressor().compress(bytes(1 << 24))
UNSIZED = zstandard.ZstdCompressor(write_content_size=False).compress(bytes(64))


def announcing(size_bytes: int) -> bytes:
    """A zstd frame with one empty block that states a content of `size_bytes`."""
    return b"\x28\xb5\x2f\xfd" + b"\xe0" + struct.pack("<Q", size_bytes) + b"\x01\0\0"


@pytest.mark.parametrize(
    "hostile",
    [
        section(14, (0xFFFFFFFF, 0xFFFFFFFF), stream(1, ZEROS)),
        section(14, (1 << 15, 1 << 16), stream(1, announcing(1 << 31))),
        section(14, (64,), stream(1, ZEROS)),
        section(14, (64,), stream(1, announcing(1 << 50))),
        section(14, (64,), stream(1, UNSIZED)),
        section(14, (64,), stream(1, b"")),
        section(14, (64,), stream(3, bytes(64))),
        section(14, (64,), stream(2, bytes(64))),
        section(14, (64,), stream(0, bytes(63))),
        section(14, (64,), struct.pack("<BQ", 0, 1 << 60)),
        section(3, (1 << 28,), b"\x02" + stream(0, bytes(64)) + stream(0, bytes(64))),
        section(99, (1,), stream(0, b"1")),
        section(14, (1,) * 9, stream(0, b"1")),
        b"\x02\0" + 2 * section(14, (1,), stream(0, b"1"))[2:],
    ],
)
def test_sizes_are_checked_before_anything_is_allocated(hostile: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(CorruptRecord):
            decode_blocks(PayloadReader(hostile))
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 1 << 20


def test_bytes_are_those_of_the_format_document() -> None:
    """Built by hand from docs/store-format.md, so that neither it nor the code can move alone."""
    key = b"\x05alice" + event_id(1)
    block = b"\x01\0" + b"\x01k" + b"\x0e\x01" + struct.pack("<I", 3) + b"\x00" + struct.pack("<Q", 3) + b"abc"
    payload = struct.pack("<dII", 5.0, 7, 2) + struct.pack("<II", 11, 12) + b"\x00" + b"\x04user" + block
    preface = b"V14R" + struct.pack("<HBBQ", 1, 1, 0, len(payload))
    checksum = xxhash.xxh3_64_intdigest(struct.pack("<I", len(key)) + key + preface + payload)
    value = preface + struct.pack("<Q", checksum) + payload

    from memory_store import Block

    event = Event(
        id=event_id(1),
        namespace="alice",
        token_ids=(11, 12),
        role="user",
        created_at=5.0,
        start=7,
        index={"k": Block("uint8", (3,), b"abc")},
    )
    assert encode_event(event).key == key
    assert encode_event(event).head == value
    assert bytes(decode_record(RecordKind.HEAD, key, value)) == payload


@pytest.mark.parametrize(
    "field",
    [
        {"id": b"short"},
        {"conversation": b"short"},
        {"start": -1},
        {"token_ids": (1, -1)},
        {"token_ids": (1 << 32,)},
        {"role": "r" * 256},
    ],
)
def test_events_that_do_not_fit_are_refused(field: dict[str, object]) -> None:
    fields = {"id": event_id(1), "namespace": "a", "token_ids": (1,), "role": "user", "created_at": 0.0} | field
    with pytest.raises(InvalidEvent):
        encode_event(Event(**fields))
