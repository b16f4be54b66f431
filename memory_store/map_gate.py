"""Keeps transactions and changes of LMDB's memory map apart."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class MapGate:
    """Many transactions at once, or one change of the map while no transaction is open: LMDB demands it of its callers.

    A thread that is inside must not enter again.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._closed_off = False

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Held while a transaction is open; waits for a change of the map to end."""
        with self._changed:
            self._changed.wait_for(lambda: not self._closed_off)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def map_change(self) -> Iterator[None]:
        """Held while the map changes; lets nobody in and waits until everybody is out."""
        with self._changed:
            self._changed.wait_for(lambda: not self._closed_off)
            self._closed_off = True
            self._changed.wait_for(lambda: self._inside == 0)
        try:
            yield
        finally:
            with self._changed:
                self._closed_off = False
                self._changed.notify_all()
