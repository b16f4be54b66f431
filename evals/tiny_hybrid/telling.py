"""Sentences about facts: told, corrected, asked and answered."""

from random import Random
from typing import NamedTuple

from . import frames
from .relation import Relation
from .subjects import Subject
from .wordings import Wording
from .words import TRAIN, Value, pick


class Fact(NamedTuple):
    """A relation of a subject; `wording` is the one it was told in."""

    subject: Subject
    relation: Relation
    value: Value
    wording: Wording


def sentence(text: str, end: str = ".") -> str:
    return f"{text[0].upper()}{text[1:]}{end}"


def _said(template: str, subject: Subject, value: Value | None = None) -> str:
    text, with_article = (value.text, value.with_article) if value else ("", "")
    return template.format(s=subject.subject, p=subject.genitive, o=subject.object, v=text, a=with_article)


def _answering(template: str, subject: Subject, value: Value | None = None) -> str:
    text, with_article = (value.text, value.with_article) if value else ("", "")
    return template.format(
        s=subject.answer_subject, p=subject.answer_genitive, o=subject.answer_object, v=text, a=with_article
    )


def _clause(rng: Random, split: str, fact: Fact) -> str:
    """The usual statement of a fact, or one of many others."""
    style = fact.subject.style
    plain = rng.random() < (0.35 if split == TRAIN else 0.5)
    return _said(
        pick(rng, fact.wording.plain[style] if plain else fact.wording.tell[split][style]), fact.subject, fact.value
    )


def told(rng: Random, split: str, fact: Fact, framed: float = 0.4) -> str:
    """The statement of a fact, in training in a frame with probability `framed`; held-out frames around all others."""
    clause = _clause(rng, split, fact)
    if split != TRAIN or rng.random() < framed:
        return pick(rng, frames.STATEMENTS[split]).format(clause)
    return sentence(clause)


def corrected(rng: Random, split: str, fact: Fact) -> str:
    """The statement of a fact that replaces an earlier one of the same subject and relation."""
    subject, relation, draw = fact.subject, fact.relation, rng.random()
    now = _said(pick(rng, fact.wording.now[subject.style]), subject, fact.value)
    again = _clause(rng, split, fact)
    if split != TRAIN:
        return pick(rng, frames.CORRECTIONS[split]).format(again if relation.lasting or draw < 0.4 else now)
    if relation.lasting:
        return sentence(again) if draw < 0.15 else pick(rng, frames.CORRECTIONS[split]).format(again)
    if draw < 0.3 and relation.moved:
        moved = pick(rng, relation.moved)
        return f"{sentence(_said(_for_user(moved, subject), subject), '')} {sentence(now)}"
    if draw < 0.45:
        return sentence(now)
    if draw < 0.55:
        return sentence(again)
    return pick(rng, frames.CORRECTIONS[split]).format(now if draw < 0.8 else again)


def _for_user(template: str, subject: Subject) -> str:
    return template.replace("[has|have]", "have" if subject.subject == "I" else "has")


def asked(rng: Random, split: str, wording: Wording, subject: Subject, framed: float = 0.5) -> str:
    """A question, direct or in a frame ("Do you know where Marlo lives?")."""
    direct, indirect = wording.ask[split][subject.style], wording.indirect[split][subject.style]
    at = int(rng.random() * (len(direct) + len(indirect)))
    if at >= len(direct):
        return pick(rng, frames.INDIRECT[split]).format(_said(indirect[at - len(direct)], subject))
    text = _said(direct[at], subject)
    if rng.random() >= framed:
        return sentence(text, "?")
    frame, begins = pick(rng, frames.DIRECT[split])
    return frame.format(sentence(text, "") if begins else text)


def answered(rng: Random, wording: Wording, subject: Subject, value: Value) -> str:
    return _answering(pick(rng, wording.answer[subject.style]), subject, value)


def unknown(rng: Random, wording: Wording, subject: Subject) -> str:
    """The answer to a question that nothing told answers."""
    templates = wording.unknown[subject.style]
    if not templates or rng.random() < 0.2:
        return pick(rng, frames.UNKNOWN_PLAIN)
    return pick(rng, frames.UNKNOWN).format(_answering(pick(rng, templates), subject))


def unknown_of(rng: Random, wording: Wording, subject: Subject) -> str:
    """The same as half a sentence, about `subject` in any case."""
    templates = wording.unknown[subject.style] or wording.unknown[0]
    return f"I do not know {_answering(pick(rng, templates), subject)}"


UNKNOWN_MARKS = ("do not know", "Nobody told me", "not told me")
