"""Runs against the fake server."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from fake_server import Behaviour, FakeServer

from sglang_v14.evals import server
from sglang_v14.evals.functional import run as run_module
from sglang_v14.evals.functional.checks import prefix_cache
from sglang_v14.evals.functional.client import ChatClient
from sglang_v14.evals.functional.plan import FULL, Plan
from sglang_v14.evals.functional.preflight import examine
from sglang_v14.evals.functional.run import Run

SMALL = FULL.changed(
    facts=12,
    unrelated=6,
    paraphrases=6,
    chatter=10,
    long_prompts=2,
    long_prompt_tokens=300,
    latency_pairs=3,
    decode_tokens=12,
    long_runs=1,
)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(run_module, "_SETTLE_SECONDS", 0.0)
    monkeypatch.setattr(prefix_cache, "_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(server, "_POLL_SECONDS", 0.05)


@pytest.fixture
def start() -> Iterator[Callable[..., Run]]:
    """Start a fake server with a behaviour; gives a run against it, whose `restart` is the server's own."""
    with ExitStack() as stack:

        def start(plan: Plan = SMALL, *, memory_field: bool = True, require_report: bool = True, **behaviour) -> Run:
            fake = stack.enter_context(FakeServer(Behaviour(**behaviour)))
            client = ChatClient(fake.url, memory_field=memory_field, timeout_seconds=20)
            stack.callback(client.close)
            run = Run(client, plan, abilities=examine(client, require_report=require_report), restart=fake.restart)
            run.fake = fake
            stack.callback(run.close)
            return run

        yield start
