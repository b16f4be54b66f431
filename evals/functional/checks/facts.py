"""Facts told in one chat, asked in another."""

from ..result import Row
from ..run import Run
from ..three_ways import Question, ask_three_ways, at_least

PURPOSE = "facts"
GOAL = "≥ 90 % of same prompt, off 0"


def check(run: Run) -> list[Row]:
    run.tell((fact.statement for fact in run.facts), run.memory(PURPOSE))
    return [asked(run, "facts", "Facts told in one chat, asked in another")]


def asked(run: Run, check: str, title: str) -> Row:
    """Ask for every fact told. A fact that is answered with memory off shows nothing, so it misses the goal."""
    questions = [Question(fact.question, (fact.statement,), fact.answers) for fact in run.facts]
    answers = ask_three_ways(run, questions, run.memory(PURPOSE))
    memory, bound, off = (answers.score(replies) for replies in (answers.memory, answers.same_prompt, answers.off))
    met = at_least(0.9, memory, bound)
    if met and off is not None:
        met = off.count == 0
    return Row(check, title, memory, bound, off, GOAL, met, cases=answers.cases())
