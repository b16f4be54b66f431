"""A server that is killed loses nothing that it acknowledged."""

import os
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

from sglang_v14.evals.functional.client import ChatClient, Memory, SuiteError
from sglang_v14.evals.server import Server

ROUNDS = int(os.environ.get("SGLANG_V14_KILL_ROUNDS", "20"))
# Clearing a large pool is a tenth of a start.
_SMALL = ("--max-total-tokens", "4096")


def test_sigkill_loses_no_acknowledged_event(start_server: Callable[..., Server], tmp_path: Path) -> None:
    """Killed at a random moment while facts are told; the next start works, and holds everything told before it.

    A write is acknowledged when a later request is answered, since that waits for the writes before it.
    """
    draws = random.Random(14)
    acknowledged = 0
    for number in range(ROUNDS):
        server = start_server(tmp_path, *_SMALL)
        server.start()
        client = ChatClient(server.base_url)
        stats = client.store_stats()
        assert stats is not None and stats.events >= acknowledged
        answered = _tell_until_killed(client, server, number, draws.uniform(0.5, 4.0))
        # The last answered request's own event may still have been on its way.
        acknowledged = stats.events + max(0, answered - 1)
    server = start_server(tmp_path, *_SMALL)
    with server:
        stats = ChatClient(server.base_url).store_stats()
        assert stats is not None and stats.events >= acknowledged > 0


def _tell_until_killed(client: ChatClient, server: Server, round_number: int, seconds: float) -> int:
    killer = threading.Timer(seconds, server.kill)
    killer.start()
    answered = 0
    deadline = time.monotonic() + 60
    try:
        while time.monotonic() < deadline:
            text = f"Parcel {answered} of day {round_number} went to warehouse {1000 + answered}."
            client.chat(text, memory=Memory("crash", "write"), max_tokens=1)
            answered += 1
    except SuiteError:
        pass
    killer.join()
    return answered
