"""Questions that nothing told has to do with: answered as without memory, and nothing recalled."""

from itertools import cycle

import msgspec

from ..client import Reply
from ..result import Case, Row, Score
from ..run import Run
from ..scoring import contains_any
from ..texts.unrelated import Unrelated
from . import facts


class _Pair(msgspec.Struct, frozen=True):
    item: Unrelated
    memory: Reply
    off: Reply | None
    off_again: Reply | None

    @property
    def recalled(self) -> bool | None:
        return bool(self.memory.memory.recalled) if self.memory.memory else None

    @property
    def same(self) -> bool:
        return self.off is not None and self.memory.same_output(self.off)

    @property
    def unstable(self) -> bool:
        """Whether the server does not even repeat itself with the memory off."""
        return self.off is not None and self.off_again is not None and not self.off.same_output(self.off_again)


def check(run: Run) -> list[Row]:
    run.tell((fact.statement for fact in run.facts), run.memory(facts.PURPOSE))
    return asked(run, "unrelated", "Unrelated questions")


def asked(run: Run, check: str, title: str) -> list[Row]:
    """Ask one question after another: several at once are computed in other batch shapes and may round differently."""
    pairs = [_ask(run, item) for item in run.texts.unrelated[: run.plan.unrelated]]
    useless = [f"{fact.statement} {pair.item.question}" for fact, pair in zip(cycle(run.facts), pairs, strict=False)]
    same_prompt = run.ask_all_without_memory(useless, run.memory(facts.PURPOSE))
    rows = [_right(check, title, pairs, same_prompt)]
    if all(pair.recalled is None for pair in pairs):
        return [*rows, Row(check, f"{title}: something recalled", goal="≤ 5 %", note="not reported by the server")]
    recalled = Score(sum(bool(pair.recalled) for pair in pairs), len(pairs))
    rows.append(Row(check, f"{title}: something recalled", recalled, goal="≤ 5 %", met=recalled.fraction <= 0.05))
    quiet = [pair for pair in pairs if pair.off is not None and not pair.recalled]
    if quiet:
        rows.append(_identical(check, title, quiet))
    return rows


def _ask(run: Run, item: Unrelated) -> _Pair:
    body = {"return_output_ids_in_sglext": True} if run.abilities.token_ids else {}
    memory = run.memory(facts.PURPOSE)
    on = run.ask(item.question, memory, **body)
    off = run.ask(item.question, memory.off, **body) if run.can_be_off else None
    differs = off is not None and not on.same_output(off)
    return _Pair(item, on, off, run.ask(item.question, memory.off, **body) if differs else None)


def _right(check: str, title: str, pairs: list[_Pair], same_prompt: list[Reply]) -> Row:
    def score(replies: list[Reply]) -> Score:
        right = sum(contains_any(reply.text, pair.item.answers) for pair, reply in zip(pairs, replies, strict=True))
        return Score(right, len(pairs))

    memory = score([pair.memory for pair in pairs])
    offs = [pair.off for pair in pairs if pair.off is not None]
    off = score(offs) if offs else None
    cases = tuple(
        Case(
            pair.item.question,
            pair.item.answers,
            pair.memory.text,
            same_prompt=useless.text,
            off=pair.off.text if pair.off else None,
            recalled=pair.memory.memory.recalled if pair.memory.memory else None,
        )
        for pair, useless in zip(pairs, same_prompt, strict=True)
    )
    met = memory.count >= off.count if off else None
    note = "same prompt: a useless fact in it"
    return Row(check, f"{title}: right", memory, score(same_prompt), off, "≥ memory off", met, note, cases)


def _identical(check: str, title: str, quiet: list[_Pair]) -> Row:
    same = Score(sum(pair.same for pair in quiet), len(quiet))
    exact = all(pair.memory.token_ids is not None for pair in quiet)
    unstable = sum(pair.unstable for pair in quiet)
    note = "" if exact else "texts compared, the server reports no token ids"
    if unstable:
        note = f"{note}; {unstable} differ between two runs with memory off".lstrip("; ")
    return Row(
        check,
        f"{title}: token-identical to memory off where nothing was recalled",
        same,
        goal="all",
        met=same.count == same.of,
        note=note,
    )
