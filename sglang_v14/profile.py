"""Where the memory spends its time (`SGLANG_V14_PROFILE=1`)."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

logger = logging.getLogger("sglang_v14")

_REPORT_SECONDS = 10.0
_NOTHING = nullcontext()


class Profile:
    """Sums seconds by section and logs them every ten seconds; does nothing when disabled."""

    def __init__(self, enabled: bool) -> None:
        self._enabled = enabled
        self._seconds: dict[str, float] = {}
        self._calls: dict[str, int] = {}
        self._reported = time.perf_counter()

    def section(self, name: str) -> AbstractContextManager[None]:
        """Count what happens inside towards `name`; sections may nest and then count in both."""
        return self._timed(name) if self._enabled else _NOTHING

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            now = time.perf_counter()
            self._seconds[name] = self._seconds.get(name, 0.0) + now - started
            self._calls[name] = self._calls.get(name, 0) + 1
            if now - self._reported >= _REPORT_SECONDS:
                self.report()

    def report(self) -> None:
        """Log the sums since the last report and begin anew."""
        lines = [f"{name} {self._seconds[name]:.3f} s / {self._calls[name]}" for name in sorted(self._seconds)]
        logger.info("V14 profile: %s", ", ".join(lines) or "nothing yet")
        self._seconds.clear()
        self._calls.clear()
        self._reported = time.perf_counter()
