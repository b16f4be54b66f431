"""Durable store of events: what a model keeps of the prompts it has read. Knows nothing of the server that uses it."""

from memory_store.base import DTYPE_BYTES, Block, Event, EventHead, EventStore, StoreStats
from memory_store.errors import (
    CorruptRecord,
    EventNotFound,
    InvalidEvent,
    InvalidNamespace,
    QueueFull,
    ReadOnlyStore,
    StoreClosed,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreNotFound,
    UnknownSchema,
    UnwritableHome,
    WriterClosed,
    WrongIdentity,
)
from memory_store.lmdb_store import LmdbStore
from memory_store.ticket import Ticket
from memory_store.writer import BackgroundWriter, WriterCounters

__all__ = [
    "DTYPE_BYTES",
    "BackgroundWriter",
    "Block",
    "CorruptRecord",
    "Event",
    "EventHead",
    "EventNotFound",
    "EventStore",
    "InvalidEvent",
    "InvalidNamespace",
    "LmdbStore",
    "QueueFull",
    "ReadOnlyStore",
    "StoreClosed",
    "StoreError",
    "StoreFull",
    "StoreLocked",
    "StoreNotFound",
    "StoreStats",
    "Ticket",
    "UnknownSchema",
    "UnwritableHome",
    "WriterClosed",
    "WriterCounters",
    "WrongIdentity",
]
