"""`GET /v14/stats`: how much the served model's memory holds.

The store is open for writing in the scheduler's process; here it is read from the side, which LMDB allows.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from memory_store import LmdbStore
from memory_store.identity import read_identity

from .identity import weights_digest


class StoreStatsRoute:
    """Sums over every store in `home` that belongs to the weights at `model_path`."""

    def __init__(self, home: Path, model_path: str) -> None:
        self._home, self._model_path = home, model_path
        self._weights: str | None = None
        # A process may have a store open only once.
        self._lock = threading.Lock()

    def stats(self) -> dict[str, int]:
        """Events, tokens and bytes as stored (compressed)."""
        sums = {"events": 0, "tokens": 0, "bytes": 0, "corrupt_records": 0}
        with self._lock:
            for stored in self._identities():
                store = LmdbStore.open(self._home, stored, readonly=True)
                try:
                    stats = store.stats()
                finally:
                    store.close()
                sums["events"] += stats.events
                sums["tokens"] += stats.tokens
                sums["bytes"] += stats.index_bytes + stats.body_bytes
                sums["corrupt_records"] += stats.corrupt_records
        return sums

    def _identities(self) -> list[dict[str, Any]]:
        if self._weights is None:
            self._weights = weights_digest(self._model_path)
        found = [read_identity(directory) for directory in self._home.iterdir() if directory.is_dir()]
        return [stored for stored in found if stored is not None and stored.get("weights") == self._weights]
