"""Requests that wait for writes are held back while the others go on."""

from __future__ import annotations

import threading
import time
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from memory_store import Ticket
from sglang_v14.hooks import requests, targets


class Scheduler:
    """As much of SGLang's scheduler as a request passes on its way into the queue, hooked as the registry hooks it."""

    def __init__(self, *, wait_seconds: float = 60.0, tp_size: int = 1, idle: bool = False) -> None:
        self.server_args = SimpleNamespace(tp_size=tp_size)
        self.idle = idle
        self.queue: list[str] = []
        self.retracted: list[str] = []
        self.told: list[str] = []
        self.tickets: dict[str, Ticket] = {}
        self._hooks = {hook.target: hook.function for hook in requests.hooks(self, wait_seconds)}  # type: ignore[arg-type]

    def is_fully_idle(self) -> bool:
        return self.idle

    # The listener

    def request_arrived(self, req: Any) -> Ticket | None:
        self.told.append(f"arrived {req.rid}")
        return self.tickets.get(req.rid)

    def request_queued(self, req: Any) -> None:
        assert req.rid not in self.queue, "told too late"
        self.told.append(f"queued {req.rid}")

    def closed(self) -> None:
        self.told.append("closed")

    # SGLang

    @staticmethod
    def _add_request_to_queue(scheduler: Scheduler, req: Any, is_retracted: bool = False) -> None:
        scheduler.queue.append(req.rid)
        if is_retracted:
            scheduler.retracted.append(req.rid)

    def add(self, rid: str, **how: bool) -> None:
        self._hooks[targets.REQUEST_QUEUED](self._add_request_to_queue, self, SimpleNamespace(rid=rid), **how)

    def step(self) -> list[str]:
        """One turn of the event loop; what is queued after it."""
        self._hooks[targets.INPUT_PROCESSED](self, [])
        return self.queue

    def abort(self, rid: str = "", *, abort_all: bool = False) -> list[str]:
        """Aborts what is found in the queue, and says what that was."""
        recv_req = SimpleNamespace(rid=rid, abort_all=abort_all)
        self._hooks[targets.REQUEST_ABORTED](self, recv_req)
        found = [queued for queued in self.queue if abort_all or queued.startswith(rid)]
        self.queue = [queued for queued in self.queue if queued not in found]
        return found

    def close(self) -> None:
        self._hooks[targets.SCHEDULER_CLOSED](None, self)


def waiting(scheduler: Scheduler, *rids: str) -> list[Ticket]:
    scheduler.tickets.update({rid: Ticket() for rid in rids})
    return [scheduler.tickets[rid] for rid in rids]


def test_requests_that_wait_for_nothing() -> None:
    """Queued at once, after the listener was told; a wait that is over is none."""
    scheduler = Scheduler()
    (ticket,) = waiting(scheduler, "b")
    ticket.finish()
    scheduler.add("a")
    scheduler.add("b")
    assert scheduler.queue == ["a", "b"]
    assert scheduler.told == ["arrived a", "queued a", "arrived b", "queued b"]


def test_a_request_is_held_back_and_others_go_on() -> None:
    """It is neither queued nor told of as queued until its wait is over, and then only once."""
    scheduler = Scheduler()
    (ticket,) = waiting(scheduler, "a")
    scheduler.add("a")
    scheduler.add("b")
    assert scheduler.step() == ["b"]
    assert "queued a" not in scheduler.told
    ticket.finish()
    assert scheduler.queue == ["b"]
    assert scheduler.step() == ["b", "a"]
    assert scheduler.step() == ["b", "a"]
    assert scheduler.told.count("queued a") == 1


def test_held_requests_are_released_in_their_order() -> None:
    """Those whose waits are over, first come first."""
    scheduler = Scheduler()
    a, b, c = waiting(scheduler, "a", "b", "c")
    for rid in "abc":
        scheduler.add(rid)
    c.finish()
    a.finish()
    assert scheduler.step() == ["a", "c"]
    b.finish()
    assert scheduler.step() == ["a", "c", "b"]


def test_a_failed_write_is_an_end_too() -> None:
    """The request goes on without what could not be written."""
    scheduler = Scheduler()
    (ticket,) = waiting(scheduler, "a")
    scheduler.add("a")
    ticket.finish(OSError("disk full"))
    assert scheduler.step() == ["a"]


def test_waiting_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """After its time a request goes on though its wait is not over."""
    now = [100.0]
    monkeypatch.setattr(requests, "time", SimpleNamespace(monotonic=lambda: now[0]))
    scheduler = Scheduler(wait_seconds=120.0)
    waiting(scheduler, "a")
    scheduler.add("a")
    now[0] += 119.0
    assert scheduler.step() == []
    now[0] += 1.0
    assert scheduler.step() == ["a"]


def test_an_idle_engine_waits() -> None:
    """With nothing else to do the request is queued as soon as its wait is over, in the same call."""
    scheduler = Scheduler(idle=True)
    (ticket,) = waiting(scheduler, "a")
    timer = threading.Timer(0.05, ticket.finish)
    timer.start()
    scheduler.add("a")
    timer.join()
    assert ticket.done
    assert scheduler.queue == ["a"]


@pytest.mark.parametrize("how", [{"idle": True}, {"tp_size": 2}])
def test_a_wait_in_place_has_an_end(how: dict[str, Any]) -> None:
    """An idle engine and one of several ranks wait no longer than is allowed."""
    scheduler = Scheduler(wait_seconds=0.01, **how)
    (ticket,) = waiting(scheduler, "a")
    scheduler.add("a")
    assert not ticket.done
    assert scheduler.queue == ["a"]


def test_an_idle_engine_with_a_held_request_does_not_stop() -> None:
    """Something is under way then: the second one is held back like the first."""
    scheduler = Scheduler()
    a, b = waiting(scheduler, "a", "b")
    scheduler.add("a")
    scheduler.idle = True
    started = time.monotonic()
    scheduler.add("b")
    assert time.monotonic() - started < 30
    assert scheduler.queue == []
    a.finish()
    b.finish()
    assert scheduler.step() == ["a", "b"]


def test_a_retracted_request_does_not_wait() -> None:
    """It was told of when it came, and goes back into the queue as retracted."""
    scheduler = Scheduler()
    waiting(scheduler, "a")
    scheduler.add("a", is_retracted=True)
    assert scheduler.queue == scheduler.retracted == ["a"]
    assert scheduler.told == []


def test_abort_finds_a_held_request() -> None:
    """It is queued first, where the scheduler's own abort finds it; the others stay held."""
    scheduler = Scheduler()
    waiting(scheduler, "chat-1", "chat-2", "other")
    for rid in ("chat-1", "chat-2", "other"):
        scheduler.add(rid)
    assert scheduler.abort("chat-1") == ["chat-1"]
    assert scheduler.abort("chat") == ["chat-2"]
    assert scheduler.queue == []
    scheduler.tickets["other"].finish()
    for ticket in scheduler.tickets.values():
        ticket.finish()
    assert scheduler.step() == ["other"]


def test_abort_all() -> None:
    """Whatever their names, and though the message has none."""
    scheduler = Scheduler()
    waiting(scheduler, "a", "b")
    scheduler.add("a")
    scheduler.add("b")
    assert scheduler.abort(None, abort_all=True) == ["a", "b"]  # type: ignore[arg-type]
    assert scheduler.step() == []


def test_closed() -> None:
    """The listener hears of the end."""
    scheduler = Scheduler()
    scheduler.close()
    assert scheduler.told == ["closed"]


def test_two_schedulers_do_not_share_what_they_hold() -> None:
    """Held requests belong to the hooks of one process's scheduler."""
    one, other = Scheduler(), Scheduler()
    waiting(one, "a")
    one.add("a")
    one.tickets["a"].finish()
    assert other.step() == []
    assert partial(one.step)() == ["a"]
