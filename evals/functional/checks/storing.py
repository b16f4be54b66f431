"""How long a question sent right behind a long prompt waits until that prompt is stored."""

import statistics

from ..result import Row, Score, median
from ..run import Run
from ..scoring import contains_any

_LIMIT_SECONDS = 2.0


def check(run: Run) -> list[Row]:
    waits, lengths, right = [], [], 0
    for i in range(run.plan.long_runs):
        # A namespace each, so that the question's two readings differ in nothing but the wait.
        memory = run.memory(f"storing-{i}")
        fact = run.texts.facts[i]
        document = run.texts.document(run.plan.long_prompt_tokens, run.next_number(), fact.statement)
        lengths.append(run.ask(document, memory, max_tokens=1).prompt_tokens)
        behind = run.stream(fact.question, memory)
        right += contains_any(behind.text, fact.answers)
        run.settle()
        again = run.stream(fact.question, memory)
        if behind.first_token_seconds is not None and again.first_token_seconds is not None:
            waits.append(max(0.0, behind.first_token_seconds - again.first_token_seconds))
    wait = median(waits, "s")
    answered = Score(right, run.plan.long_runs)
    return [
        Row(
            "storing",
            "Wait of a question right behind a long prompt until that is stored",
            wait,
            goal=f"≤ {_LIMIT_SECONDS:.0f} s",
            met=wait.value <= _LIMIT_SECONDS if wait else None,
            note=f"{statistics.median(lengths):.0f} prompt tokens, {answered} answered from it",
        )
    ]
