"""Decode speed behind the first token with a recall in place, against memory off, in paired runs."""

from ..client import Memory, Reply
from ..paired import Pair, counted, run_pairs
from ..result import Cell, Row, median
from ..run import Run

_LEAST_TOKENS = 8


def check(run: Run) -> list[Row]:
    facts = run.texts.facts[: run.plan.latency_pairs]
    warm_up = run.memory("decode-speed")
    run.tell([facts[0].statement], warm_up)
    _send(run, facts[0].question, warm_up)
    pairs = run_pairs(run, "decode-speed", (fact.question for fact in facts), _send)
    same_prompt = [_send(run, f"{fact.statement} {fact.question}", warm_up.off) for fact in facts]
    return [_row(pairs, same_prompt)]


def _send(run: Run, question: str, memory: Memory) -> Reply:
    run.settle()
    body = {"ignore_eos": True} if run.abilities.ignore_eos else {}
    prompt = f"Question {run.next_number()}. {question} Then tell a long story about it."
    return run.stream(prompt, memory, max_tokens=run.plan.decode_tokens, **body)


def _row(pairs: list[Pair], same_prompt: list[Reply]) -> Row:
    chosen = [pair for pair in counted(pairs, True) if _long(pair.memory) and (pair.off is None or _long(pair.off))]
    reported = all(pair.recalled is not None for pair in pairs)
    ratio = median([_speed(pair.memory) / _speed(pair.off) for pair in chosen if pair.off], "")
    note = f"{len(chosen)} of {len(pairs)} pairs" + ("" if reported else ", recall not reported")
    if ratio:
        note += f", median ratio {ratio.value:.2f}"
    return Row(
        "decode-speed",
        "Decode speed with a recall in place",
        _speeds([pair.memory for pair in chosen]),
        _speeds([reply for reply in same_prompt if _long(reply)]),
        _speeds([pair.off for pair in chosen if pair.off]),
        "≥ 90 % of memory off",
        ratio.value >= 0.9 if ratio and reported else None,
        note,
    )


def _long(reply: Reply) -> bool:
    """Whether the reply has tokens enough for a speed to mean something."""
    return reply.completion_tokens >= _LEAST_TOKENS and reply.tokens_per_second is not None


def _speed(reply: Reply) -> float:
    return reply.tokens_per_second or 0.0


def _speeds(replies: list[Reply]) -> Cell | None:
    return median([_speed(reply) for reply in replies], "tokens/s")
