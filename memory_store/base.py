"""What the store holds and what every back end of it can do."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from memory_store.errors import InvalidEvent

DTYPE_BYTES = {
    "float64": 8,
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "int64": 8,
    "int32": 4,
    "int16": 2,
    "int8": 1,
    "uint64": 8,
    "uint32": 4,
    "uint16": 2,
    "uint8": 1,
    "bool": 1,
}
"""Bytes of one item of every dtype that a block may have."""

_NUMPY_VIEW = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}


class Block(msgspec.Struct, frozen=True):
    """One array: `data` holds the items in C order, little-endian.

    Raises `InvalidEvent` for an unknown dtype or when `data` does not hold exactly `shape` items.
    """

    dtype: str
    shape: tuple[int, ...]
    data: bytes

    def __post_init__(self) -> None:
        item_bytes = DTYPE_BYTES.get(self.dtype)
        if item_bytes is None:
            raise InvalidEvent(f"unknown dtype {self.dtype!r}; a block may have: {', '.join(DTYPE_BYTES)}")
        expected_bytes = math.prod(self.shape) * item_bytes
        if min(self.shape, default=0) < 0 or len(self.data) != expected_bytes:
            raise InvalidEvent(
                f"a {self.dtype} block of shape {self.shape} takes {expected_bytes} bytes, "
                f"but {len(self.data)} were given; pass the array's own shape"
            )

    @classmethod
    def from_array(cls, array: NDArray[Any], dtype: str | None = None) -> Block:
        """Copy `array` into a block.

        `dtype` names the items where numpy has no such type: a uint16 view of bfloat16, a uint8 view of float8.
        """
        little_endian = np.asarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
        return cls(dtype or array.dtype.name, tuple(array.shape), little_endian.tobytes())

    def array(self) -> NDArray[Any]:
        """The items as a read-only array over `data`.

        numpy has neither bfloat16 nor float8: these come back as uint16 and uint8 views of the same bits.
        """
        numpy_dtype = np.dtype(_NUMPY_VIEW.get(self.dtype, self.dtype)).newbyteorder("<")
        return np.frombuffer(self.data, numpy_dtype).reshape(self.shape)


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """A run of consecutive content tokens of one prompt, with what the model kept of it.

    `index` is read whenever a prompt votes and may stay resident; `body` (keys, values, states of all layers) is read
    only when the event is recalled.
    """

    id: bytes
    """16 bytes, unique within the namespace."""
    namespace: str
    token_ids: tuple[int, ...]
    role: str
    created_at: float
    """Unix seconds."""
    conversation: bytes = b""
    """16 bytes, or empty when unknown."""
    start: int = 0
    """Index of the first token in its prompt."""
    index: dict[str, Block] = {}
    body: dict[str, Block] = {}


class EventHead(msgspec.Struct, frozen=True, kw_only=True):
    """An event without its body, with how it was used."""

    id: bytes
    namespace: str
    token_ids: tuple[int, ...]
    role: str
    created_at: float
    """Unix seconds; moved forward by `EventStore.refresh`."""
    conversation: bytes
    start: int
    index: dict[str, Block]
    last_used_at: float
    """Unix seconds; the time of writing until the first use."""
    uses: int
    body_bytes: int
    """Bytes that the body takes in the store (compressed)."""


class StoreStats(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over one namespace or the whole store; sizes are bytes as stored (compressed)."""

    events: int
    """Stored events, those with a corrupt record included."""
    tokens: int
    index_bytes: int
    body_bytes: int
    file_bytes: int
    """Size of the whole store's file, whatever the namespace."""
    corrupt_records: int
    """Distinct corrupt records met since the store was opened."""


class EventStore(Protocol):
    """A durable map from (namespace, id) to events. Nothing crosses from one namespace into another.

    All methods may be called from several threads. A method that names a namespace raises `InvalidNamespace` when that
    is not text of at most 200 UTF-8 bytes. Any method raises `StoreClosed` after `close()`; the changing ones raise
    `StoreFull` when there is no room, and then nothing of the call is stored.
    """

    def write(self, events: Sequence[Event]) -> None:
        """Store all events in one durable transaction: once it returned, they survive the end of the process.

        An event whose id exists replaces head and body and keeps the counters of use.
        Raises `InvalidEvent` before anything is stored when one event does not fit the format.
        """
        ...

    def heads(self, namespace: str) -> Iterator[EventHead]:
        """All heads of a namespace in the order of their ids; corrupt records are skipped, counted and logged once.

        Events that are written or deleted during the iteration may or may not appear.
        """
        ...

    def head(self, namespace: str, id: bytes) -> EventHead | None:
        """One head, or None when there is no such event. Raises `CorruptRecord`."""
        ...

    def contains(self, namespace: str, id: bytes) -> bool:
        """Whether the event is stored; does not read it."""
        ...

    def body(self, namespace: str, id: bytes) -> dict[str, Block]:
        """The event's body. Raises `EventNotFound` or `CorruptRecord`."""
        ...

    def touch(self, namespace: str, ids: Sequence[bytes], when: float, used: bool = True) -> None:
        """Note a use at `when` (unix seconds); `used=False` moves the time only. Unknown ids are passed over."""
        ...

    def refresh(self, namespace: str, ids: Sequence[bytes], created_at: float) -> None:
        """Make told-again events as new as `created_at` (unix seconds). Unknown ids are passed over."""
        ...

    def delete(self, namespace: str, ids: Sequence[bytes]) -> int:
        """Remove events; returns how many there were. Unknown ids are passed over."""
        ...

    def namespaces(self) -> list[str]:
        """The namespaces that hold at least one event."""
        ...

    def stats(self, namespace: str | None = None) -> StoreStats:
        """Sums over one namespace, or over all."""
        ...

    def close(self) -> None:
        """Release the store; a second call does nothing."""
        ...
