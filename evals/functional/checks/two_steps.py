"""Questions that need two facts from two chats."""

from ..result import Row
from ..run import Run
from ..three_ways import Question, ask_three_ways, at_least


def check(run: Run) -> list[Row]:
    memory = run.memory("two-steps")
    chosen = run.texts.two_steps[: run.plan.two_steps]
    run.tell((text for item in chosen for text in (item.first, item.second)), memory)
    questions = [Question(item.question, (item.first, item.second), item.answers) for item in chosen]
    answers = ask_three_ways(run, questions, memory)
    score, bound = answers.score(answers.memory), answers.score(answers.same_prompt)
    return [
        Row(
            "two-steps",
            "Two facts from two chats needed for one answer",
            score,
            bound,
            answers.score(answers.off),
            "≥ 90 % of same prompt",
            at_least(0.9, score, bound),
            cases=answers.cases(),
        )
    ]
