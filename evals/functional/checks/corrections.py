"""Facts corrected in a later chat, asked for their present value."""

from ..result import Case, Row, Score
from ..run import Run
from ..three_ways import Question, ask_three_ways, at_least


def check(run: Run) -> list[Row]:
    memory = run.memory("corrections")
    chosen = run.texts.corrections[: run.plan.corrections]
    run.tell((item.old_statement for item in chosen), memory)
    run.tell((item.new_statement for item in chosen), memory)
    questions = [
        Question(item.question, (item.old_statement, item.new_statement), item.new_answers, item.old_answers)
        for item in chosen
    ]
    answers = ask_three_ways(run, questions, memory)
    old_answers = [item.old_answers for item in chosen]
    present = [answers.score(replies) for replies in (answers.memory, answers.same_prompt, answers.off)]
    old = [answers.count(replies, old_answers) for replies in (answers.memory, answers.same_prompt, answers.off)]
    neither = [_rest(here, there) for here, there in zip(present, old, strict=True)]
    met = at_least(1.0, present[0], present[1])
    return [
        _row("present value", present, goal="≥ same prompt", met=met, cases=answers.cases()),
        _row("old value", old, note="a reply that names both values counts here"),
        _row("neither value", neither),
    ]


def _row(
    what: str,
    columns: list[Score | None],
    *,
    goal: str | None = None,
    met: bool | None = None,
    note: str = "",
    cases: tuple[Case, ...] = (),
) -> Row:
    memory, same_prompt, off = columns
    return Row("corrections", f"A corrected fact: {what}", memory, same_prompt, off, goal, met, note, cases)


def _rest(present: Score | None, old: Score | None) -> Score | None:
    return Score(present.of - present.count - old.count, present.of) if present and old else None
