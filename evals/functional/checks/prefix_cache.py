"""A long prompt sent again: how much of it the prefix cache serves, right behind the first time and after a pause."""

import time
from collections.abc import Sequence

from ..client import Memory, Reply
from ..result import Row, median
from ..run import Run

_PAUSE_SECONDS = 3.0
_QUESTION = "Name one of the ships."
_STEPS = ("cold", "sent again right behind", "sent again after a pause")
_WARM = 0.7  # a warm prompt that takes longer than this part of the cold one was read again


def check(run: Run) -> list[Row]:
    rows = []
    for title, earlier in (("long earlier turn", True), ("long last turn", False)):
        on = _repeat(run, earlier, off=False)
        off = _repeat(run, earlier, off=True) if run.can_be_off else None
        rows += _rows(title, on, off, judged=earlier)
    return rows


def _repeat(run: Run, earlier: bool, *, off: bool) -> list[tuple[Reply, Reply, Reply]]:
    """Each document in a namespace of its own, since one log is recalled for the next: they look alike."""
    triples = []
    for _ in range(run.plan.long_runs):
        number = run.next_number()
        memory = run.memory(f"prefix-cache-{number}")
        triples.append(_three_times(run, memory.off if off else memory, earlier, number))
    return triples


def _three_times(run: Run, memory: Memory, earlier: bool, number: int) -> tuple[Reply, Reply, Reply]:
    document = run.texts.document(run.plan.long_prompt_tokens, number)
    messages = [{"role": "user", "content": f"{document} {_QUESTION}"}]
    if earlier:
        messages = [
            {"role": "user", "content": document},
            {"role": "assistant", "content": "Thank you, I have read the log."},
            {"role": "user", "content": _QUESTION},
        ]
    run.settle()
    cold = run.stream(messages, memory, max_tokens=2)
    behind = run.stream(messages, memory, max_tokens=2)
    time.sleep(_PAUSE_SECONDS)
    return cold, behind, run.stream(messages, memory, max_tokens=2)


def _rows(
    title: str, on: list[tuple[Reply, Reply, Reply]], off: list[tuple[Reply, Reply, Reply]] | None, judged: bool
) -> list[Row]:
    rows = []
    cold_seconds = median(_waits([replies[0] for replies in on]), "s")
    for step, name in enumerate(_STEPS):
        replies = [triple[step] for triple in on]
        seconds = median(_waits(replies), "s")
        goal = f"≤ {_WARM} of cold" if judged and step == 2 else None
        rows.append(
            Row(
                "prefix-cache",
                f"First token, {title}, {name}",
                seconds,
                off=median(_waits([triple[step] for triple in off]), "s") if off else None,
                goal=goal,
                met=seconds.value <= _WARM * cold_seconds.value if goal and seconds and cold_seconds else None,
                note=_cached(replies[0]),
            )
        )
    return rows


def _waits(replies: Sequence[Reply]) -> list[float]:
    return [reply.first_token_seconds for reply in replies if reply.first_token_seconds is not None]


def _cached(reply: Reply) -> str:
    served = "" if reply.cached_tokens is None else f", {reply.cached_tokens} cached"
    return f"{reply.prompt_tokens} prompt tokens{served}"
