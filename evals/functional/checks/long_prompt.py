"""A fact in the middle of a long prompt, asked for in a new chat."""

import statistics

from ..result import Row
from ..run import Run
from ..three_ways import Question, ask_three_ways, at_least


def check(run: Run) -> list[Row]:
    memory = run.memory("long-prompt")
    questions, lengths = [], []
    for fact in run.texts.facts[: run.plan.long_prompts]:
        document = run.texts.document(run.plan.long_prompt_tokens, run.next_number(), fact.statement)
        told = run.ask(document, memory, max_tokens=run.plan.told_tokens)
        lengths.append(told.prompt_tokens)
        questions.append(Question(fact.question, (document,), fact.answers))
    answers = ask_three_ways(run, questions, memory)
    score, bound = answers.score(answers.memory), answers.score(answers.same_prompt)
    return [
        Row(
            "long-prompt",
            "A fact in the middle of a long prompt, asked in a new chat",
            score,
            bound,
            answers.score(answers.off),
            "≥ 90 % of same prompt",
            at_least(0.9, score, bound),
            note=f"{statistics.median(lengths):.0f} prompt tokens",
            cases=answers.cases(),
        )
    ]
