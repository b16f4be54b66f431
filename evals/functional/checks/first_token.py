"""Wait for the first token, streamed, as medians of paired runs."""

from ..client import Memory, Reply
from ..paired import Pair, counted, run_pairs
from ..result import Cell, Row, median
from ..run import Run

_TITLE = "Wait for the first token"


def check(run: Run) -> list[Row]:
    facts = run.texts.facts[: run.plan.latency_pairs]
    unrelated = run.texts.unrelated[: run.plan.latency_pairs]
    warm_up = run.memory("first-token")
    run.tell([facts[0].statement], warm_up)
    _send(run, facts[0].question, warm_up)  # the first request of a kind pays for compilation
    with_recall = run_pairs(run, "first-token-recall", (fact.question for fact in facts), _send)
    same_prompt = [_send(run, f"{fact.statement} {fact.question}", warm_up.off) for fact in facts]
    without = run_pairs(run, "first-token-none", (item.question for item in unrelated), _send)
    return [
        _row(f"{_TITLE}, with a recall", with_recall, True, 2.0, same_prompt),
        _row(f"{_TITLE}, nothing recalled", without, False, 1.1, []),
    ]


def _send(run: Run, question: str, memory: Memory) -> Reply:
    """Behind a number of its own, so that no run is served from another one's prefix cache."""
    run.settle()
    return run.stream(f"Question {run.next_number()}. {question}", memory, max_tokens=4)


def _row(title: str, pairs: list[Pair], recall: bool, limit: float, same_prompt: list[Reply]) -> Row:
    chosen = counted(pairs, recall)
    reported = all(pair.recalled is not None for pair in pairs)
    ratio = median([ratio for pair in chosen if (ratio := _ratio(pair)) is not None], "")
    note = f"{len(chosen)} of {len(pairs)} pairs" + ("" if reported else ", recall not reported")
    if ratio:
        note += f", median ratio {ratio.value:.2f}"
    return Row(
        "first-token",
        title,
        _seconds([pair.memory for pair in chosen]),
        _seconds(same_prompt),
        _seconds([pair.off for pair in chosen if pair.off]),
        f"≤ {limit} of memory off",
        ratio.value <= limit if ratio and reported else None,
        note,
    )


def _ratio(pair: Pair) -> float | None:
    if pair.off is None or not pair.off.first_token_seconds or not pair.memory.first_token_seconds:
        return None
    return pair.memory.first_token_seconds / pair.off.first_token_seconds


def _seconds(replies: list[Reply]) -> Cell | None:
    return median([reply.first_token_seconds for reply in replies if reply.first_token_seconds is not None], "s")
