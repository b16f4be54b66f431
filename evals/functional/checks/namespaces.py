"""Two namespaces that hold different values for the same question, and a third that holds none."""

from collections.abc import Sequence

from ..client import Memory, Reply
from ..result import Case, Row, Score
from ..run import Run
from ..scoring import contains_any
from ..three_ways import Question, at_least, with_bounds

_LEAK = "Another namespace's value answered or recalled"


def check(run: Run) -> list[Row]:
    if not run.client.memory_field:
        return [Row("namespaces", _LEAK, goal="none", note="skipped: requests carry no namespace")]
    # Never one shared namespace, whatever the run's setting: this check is about several.
    first, second, empty = (Memory(f"{run.base_namespace}-tenant-{name}") for name in ("a", "b", "empty"))
    items = run.texts.tenants[: run.plan.tenants]
    run.tell((item.statements[0] for item in items), first)
    run.tell((item.statements[1] for item in items), second)
    texts = [item.question for item in items]
    mine = [Question(item.question, (item.statements[0],), item.answers[0], item.answers[1]) for item in items]
    theirs = [Question(item.question, (item.statements[1],), item.answers[1], item.answers[0]) for item in items]
    nobodys = [Question(item.question, (), (), (*item.answers[0], *item.answers[1])) for item in items]

    # The second round meets a prefix cache that has the question as every other namespace computed it.
    rounds = [(first, mine), (second, theirs), (empty, nobodys), (first, mine), (empty, nobodys), (second, theirs)]
    asked = [(questions, run.ask_all(texts, memory)) for memory, questions in rounds]
    guessed = run.ask_all_without_memory(texts, empty)
    leaks = [_leaks(questions, replies, guessed) for questions, replies in asked]
    own = with_bounds(run, mine + theirs, [*asked[0][1], *asked[1][1]], first)
    score, bound = own.score(own.memory), own.score(own.same_prompt)
    return [
        Row(
            "namespaces",
            "Two namespaces, different values: own value",
            score,
            bound,
            own.score(own.off),
            "≥ 90 % of same prompt",
            at_least(0.9, score, bound),
            cases=own.cases(),
        ),
        Row(
            "namespaces",
            _LEAK,
            Score(sum(len(found) for found in leaks), len(rounds) * len(items)),
            goal="none",
            met=not any(leaks),
            note="" if run.abilities.memory_reports else "answers only, the server does not report what was recalled",
            cases=tuple(case for found in leaks for case in found),
        ),
    ]


def _leaks(questions: Sequence[Question], replies: Sequence[Reply], guessed: Sequence[Reply]) -> list[Case]:
    """The replies that say, or were given, a value told in another namespace only.

    A value that the model guesses with memory off is no leak when it is answered.
    """
    found = []
    for question, reply, guess in zip(questions, replies, guessed, strict=True):
        recalled = reply.memory.recalled if reply.memory else ()
        answered = contains_any(reply.text, question.rejected) and not contains_any(guess.text, question.rejected)
        if answered or any(contains_any(event.text, question.rejected) for event in recalled):
            found.append(Case(question.text, question.accepted, reply.text, recalled=recalled))
    return found
