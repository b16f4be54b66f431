"""Bytes that the store grows by, per prompt token it stores."""

import time

from ..client import StoreStats
from ..result import Measure, Row
from ..run import Run

_TITLE = "Store size per stored token"
_WAIT_SECONDS = 10.0


def check(run: Run) -> list[Row]:
    before = run.client.store_stats()
    if before is None:
        return [Row("store-size", _TITLE, note="not reported by the server")]
    memory = run.memory("store-size")
    for _ in range(run.plan.long_runs):
        run.ask(run.texts.document(run.plan.long_prompt_tokens, run.next_number()), memory, max_tokens=1)
    after = _settled(run)
    tokens = after.tokens - before.tokens if after else 0
    if after is None or tokens <= 0:
        return [Row("store-size", _TITLE, note="the reported store did not grow")]
    per_token = (after.bytes - before.bytes) / tokens / 1000
    note = f"whole store: {after.events} events, {after.tokens} tokens, {after.bytes / 1e6:.1f} MB"
    return [Row("store-size", _TITLE, Measure(per_token, "KB"), note=note)]


def _settled(run: Run) -> StoreStats | None:
    """The store's size once it stopped growing."""
    deadline = time.monotonic() + _WAIT_SECONDS
    stats = run.client.store_stats()
    while time.monotonic() < deadline:
        run.settle()
        later = run.client.store_stats()
        if later == stats:
            break
        stats = later
    return stats
