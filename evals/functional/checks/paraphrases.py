"""Facts asked for in other words than they were told in."""

from ..result import Row
from ..run import Run
from ..three_ways import Question, ask_three_ways, at_least
from . import facts


def check(run: Run) -> list[Row]:
    memory = run.memory(facts.PURPOSE)
    run.tell((fact.statement for fact in run.facts), memory)
    questions = [Question(fact.paraphrase, (fact.statement,), fact.answers) for fact in run.facts if fact.paraphrase]
    answers = ask_three_ways(run, questions[: run.plan.paraphrases], memory)
    score, bound = answers.score(answers.memory), answers.score(answers.same_prompt)
    return [
        Row(
            "paraphrases",
            "Facts asked for in other words",
            score,
            bound,
            answers.score(answers.off),
            "≥ 90 % of same prompt",
            at_least(0.9, score, bound),
            cases=answers.cases(),
        )
    ]
