"""The receipt for a job that runs on another thread."""

from __future__ import annotations

import threading


class Ticket:
    """Becomes done once, with or without an error."""

    def __init__(self) -> None:
        self._finished = threading.Event()
        self._error: Exception | None = None

    @classmethod
    def failed(cls, error: Exception) -> Ticket:
        """A ticket that is done already."""
        ticket = cls()
        ticket.finish(error)
        return ticket

    @property
    def done(self) -> bool:
        """Whether the job has ended, well or not."""
        return self._finished.is_set()

    @property
    def error(self) -> Exception | None:
        """Why the job failed; None while it is not done and when it went well."""
        return self._error

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Wait until done, at most `timeout_seconds` (None: as long as it takes); returns whether it is done."""
        return self._finished.wait(timeout_seconds)

    def finish(self, error: Exception | None = None) -> None:
        """Called by who runs the job."""
        self._error = error
        self._finished.set()
