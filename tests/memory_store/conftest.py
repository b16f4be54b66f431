from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sample_events import IDENTITY

from memory_store import LmdbStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LmdbStore]:
    """An empty store in `tmp_path`."""
    opened = LmdbStore.open(tmp_path, IDENTITY)
    yield opened
    opened.close()
