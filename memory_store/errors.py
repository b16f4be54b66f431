"""Everything that can go wrong with a store, each with a message that names the cause and the cure."""

from __future__ import annotations


class StoreError(Exception):
    """Base of every error that this package raises on purpose."""

    def __str__(self) -> str:
        # KeyError, which EventNotFound also derives from, would show the message in quotes.
        return str(self.args[0]) if self.args else type(self).__name__


class UnwritableHome(StoreError):
    """The folder that holds the stores cannot be created, written or locked."""


class StoreNotFound(StoreError, FileNotFoundError):
    """No store exists for this identity and none may be created (read-only, or `create=False`)."""


class UnknownSchema(StoreError):
    """The store was written by newer code, or the file is not a store at all."""


class WrongIdentity(StoreError):
    """The store belongs to other weights or another layout: its bytes would mean something else here."""


class StoreFull(StoreError):
    """No room: the disk, a quota, a file size limit or the allowed map size is exhausted. Old events stay readable."""


class StoreLocked(StoreError):
    """The store is already open where a second opening would be unsafe, or it was carried across a fork."""


class StoreClosed(StoreError):
    """The store was used after `close()`."""


class ReadOnlyStore(StoreError):
    """A store that was opened with `readonly=True` was asked to change."""


class CorruptRecord(StoreError):
    """A stored record is truncated, altered or filed under another key."""


class EventNotFound(StoreError, KeyError):
    """The namespace holds no event of this id."""


class InvalidEvent(StoreError, ValueError):
    """An event, id or block that the format cannot hold."""


class InvalidNamespace(StoreError, ValueError):
    """A namespace that is not text or longer than the key allows."""


class QueueFull(StoreError):
    """The background writer has as many bytes waiting as it may hold."""


class WriterClosed(StoreError):
    """The background writer was closed before it came to this job."""
