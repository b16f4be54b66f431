"""The same question before and after the fact is told elsewhere: no cache may keep the old answer."""

from ..result import Row
from ..run import Run
from ..three_ways import Question, ask_three_ways, at_least


def check(run: Run) -> list[Row]:
    memory = run.memory("ask-tell-ask")
    questions = [
        Question(fact.question, (fact.statement,), fact.answers) for fact in run.texts.facts[-run.plan.asked_twice :]
    ]
    before = run.ask_all([question.text for question in questions], memory)
    known_before = sum(question.right(reply) for question, reply in zip(questions, before, strict=True))
    run.tell((question.told[0] for question in questions), memory)
    answers = ask_three_ways(run, questions, memory)
    score, bound = answers.score(answers.memory), answers.score(answers.same_prompt)
    met = at_least(0.9, score, bound)
    return [
        Row(
            "ask-tell-ask",
            "Asked, told elsewhere, asked the same again",
            score,
            bound,
            answers.score(answers.off),
            "≥ 90 % of same prompt, none before",
            met and known_before == 0,
            note=f"{known_before} answered before it was told",
            cases=answers.cases(),
        )
    ]
