"""Four chats that tell and ask at once."""

from concurrent.futures import ThreadPoolExecutor

from ..client import Reply
from ..result import Row
from ..run import Run
from ..three_ways import Question, at_least, with_bounds

_CHATS = 4


def check(run: Run) -> list[Row]:
    memory = run.memory("concurrent")

    def tell_and_ask(question: Question) -> Reply:
        run.ask(question.told[0], memory, max_tokens=run.plan.told_tokens)
        return run.ask(question.text, memory)

    chosen = run.texts.facts[-_CHATS * run.plan.concurrent_rounds :]
    questions = [Question(fact.question, (fact.statement,), fact.answers) for fact in chosen]
    # A pool of its own: four at once, whatever the run's concurrency.
    with ThreadPoolExecutor(max_workers=_CHATS) as pool:
        replies = list(pool.map(tell_and_ask, questions))
    answers = with_bounds(run, questions, replies, memory)
    score, bound = answers.score(answers.memory), answers.score(answers.same_prompt)
    return [
        Row(
            "concurrent",
            "Four chats telling and asking at once",
            score,
            bound,
            answers.score(answers.off),
            "≥ 90 % of same prompt",
            at_least(0.9, score, bound),
            cases=answers.cases(),
        )
    ]
