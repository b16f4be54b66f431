"""Questions asked in the three columns of the table: with memory, with the fact in the same prompt, with memory off."""

from collections.abc import Sequence

import msgspec

from .client import Memory, Reply
from .result import Case, Score
from .run import Run
from .scoring import contains_any


class Question(msgspec.Struct, frozen=True):
    """What is asked, what was told before in other chats, which answers count, and which must not be there."""

    text: str
    told: tuple[str, ...]
    accepted: tuple[str, ...]
    rejected: tuple[str, ...] = ()

    @property
    def with_told(self) -> str:
        """The prompt of the upper bound."""
        return " ".join((*self.told, self.text))

    def right(self, reply: Reply) -> bool:
        return contains_any(reply.text, self.accepted) and not contains_any(reply.text, self.rejected)


class Answers(msgspec.Struct, frozen=True):
    """The replies to `questions` in each column; `off` is None where the memory cannot be switched off."""

    questions: tuple[Question, ...]
    memory: tuple[Reply, ...]
    same_prompt: tuple[Reply, ...]
    off: tuple[Reply, ...] | None

    def score(self, replies: Sequence[Reply] | None) -> Score | None:
        """How many of `replies` are right."""
        if replies is None:
            return None
        right = sum(question.right(reply) for question, reply in zip(self.questions, replies, strict=True))
        return Score(right, len(self.questions))

    def count(self, replies: Sequence[Reply] | None, answers: Sequence[tuple[str, ...]]) -> Score | None:
        """How many of `replies` contain one of the given answers."""
        if replies is None:
            return None
        found = sum(contains_any(reply.text, given) for given, reply in zip(answers, replies, strict=True))
        return Score(found, len(self.questions))

    def cases(self) -> tuple[Case, ...]:
        return tuple(
            Case(
                question.text,
                question.accepted,
                memory=self.memory[i].text,
                same_prompt=self.same_prompt[i].text,
                off=self.off[i].text if self.off else None,
                recalled=report.recalled if (report := self.memory[i].memory) else None,
            )
            for i, question in enumerate(self.questions)
        )


def ask_three_ways(run: Run, questions: Sequence[Question], memory: Memory) -> Answers:
    """Ask with what was told in `memory` before, and both bounds."""
    return with_bounds(run, questions, run.ask_all([question.text for question in questions], memory), memory)


def with_bounds(run: Run, questions: Sequence[Question], replies: Sequence[Reply], memory: Memory) -> Answers:
    """Add the two bounds to the replies that were got with memory."""
    same_prompt = run.ask_all_without_memory([question.with_told for question in questions], memory)
    off = run.ask_all_without_memory([question.text for question in questions], memory) if run.can_be_off else None
    return Answers(tuple(questions), tuple(replies), tuple(same_prompt), tuple(off) if off is not None else None)


def at_least(fraction: float, score: Score | None, bound: Score | None) -> bool | None:
    """Whether `score` reaches that fraction of the bound; None when the bound is zero or missing: nothing is shown."""
    if score is None or bound is None or bound.count == 0:
        return None
    return score.count >= fraction * bound.count
