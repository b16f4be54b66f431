"""Seam: a request's way into the scheduler's queue."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from . import targets
from .engine import Listener, Original, Wait
from .install import Hook


@dataclass(slots=True)
class _Held:
    req: Any
    wait: Wait
    until: float
    queue: Callable[[], Any]


def hooks(listener: Listener, wait_seconds: float) -> list[Hook]:
    """Tells `listener` of every request before it is queued.

    A request that has to wait is held back, at most `wait_seconds`, while the others go on; an idle engine simply
    waits. With several ranks every rank waits, so that all of them queue the same requests in the same order.
    """
    held: list[_Held] = []

    def queue(original: Original, scheduler: Any, req: Any, is_retracted: bool = False) -> Any:
        if not is_retracted:
            wait = listener.request_arrived(req)
            if wait is not None and not wait.done:
                if scheduler.server_args.tp_size > 1 or (scheduler.is_fully_idle() and not held):
                    wait.wait(wait_seconds)
                else:
                    held.append(_Held(req, wait, time.monotonic() + wait_seconds, partial(original, scheduler, req)))
                    return None
            listener.request_queued(req)
        return original(scheduler, req, is_retracted)

    def release(entry: _Held) -> None:
        held.remove(entry)
        listener.request_queued(entry.req)
        entry.queue()

    def processed(scheduler: Any, recv_reqs: Any) -> None:
        now = time.monotonic()
        for entry in list(held):
            if entry.wait.done or now >= entry.until:
                release(entry)

    def aborted(scheduler: Any, recv_req: Any) -> None:
        # The scheduler finds what it aborts in its queues, so a held request goes there first.
        for entry in list(held):
            if recv_req.abort_all or entry.req.rid.startswith(recv_req.rid):
                release(entry)

    def closed(result: Any, *args: Any, **kwargs: Any) -> None:
        listener.closed()

    return [
        Hook(targets.REQUEST_QUEUED, "around", queue),
        Hook(targets.INPUT_PROCESSED, "before", processed),
        Hook(targets.REQUEST_ABORTED, "before", aborted),
        Hook(targets.SCHEDULER_CLOSED, "after", closed),
    ]
