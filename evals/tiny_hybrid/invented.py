"""Relations that no language has: "the flomber of my bike is red".

Where a few hundred wordings is all there is, a model learns which of their templates it has seen. Of relations that are
new in every chat it has to learn how a sentence says them. They hold nothing out: what is held out of the real wordings
has words of its own.
"""

import re
from dataclasses import replace
from random import Random

from . import words
from .relation import Relation
from .relations import RELATIONS
from .subjects import Draw, animal, any_thing, event, person, person_or_user, project, ride, ship, thing
from .wordings import Wording, be, called, has_one, noun, quantity, verb, was
from .words import pick

_SUBJECTS: tuple[Draw, ...] = (person, person, person, thing, thing, any_thing, animal, event, project, ride, ship)
_COUNTED = ("number", "euros", "litres", "kilos", "code")
_PREPOSITIONS = ("in", "at", "on", "with", "by", "for", "under", "near", "from", "to", "of", "about", "behind")
_TAILS = ("most", "every day", "in the evening", "at home", "best of all", "with care", "in every {n}", "at the {n}")
_USED = frozenset(
    word
    for relation in RELATIONS
    for wording in relation.wordings
    for text in wording.templates
    for word in re.findall(r"[a-z]+", text)
)


def word(rng: Random) -> str:
    """A word that no wording has, at times two."""
    while True:
        text = words.made_up(rng)
        if text not in _USED and len(text) > 2:
            return text if rng.random() < 0.85 else f"{text} {words.made_up(rng)}"


def relations(rng: Random, number: int) -> tuple[Relation, ...]:
    """Relations for training, a third of them between people."""
    return tuple(_all_trained(_role(rng) if rng.random() < 0.3 else _attribute(rng)) for _ in range(number))


def _all_trained(relation: Relation) -> Relation:
    return replace(relation, wordings=tuple(wording.all_trained() for wording in relation.wordings))


def _role(rng: Random) -> Relation:
    role = word(rng)
    draw = person_or_user if rng.random() < 0.6 else pick(rng, _SUBJECTS)
    return Relation(role, "name", draw, (noun(role, "who"), called(role), has_one(role)), role)


def _done(base: str) -> str:
    return base if base.endswith("ed") else f"{base.removesuffix('e')}ed"


def _attribute(rng: Random) -> Relation:
    """With one wording: nobody could know that two mean the same."""
    kind, about = pick(rng, tuple(words.VALUES)), pick(rng, _SUBJECTS)
    value = pick(rng, ("{v}", "{v}", "{v}", "the {v}", "{a}")) if kind in words.CLOSED else "{v}"
    what, draw = word(rng), rng.random()
    if draw < 0.45:
        wording = noun(what, "what", value, has=rng.random() < 0.3)
    elif kind in _COUNTED and draw < 0.75:
        how, prep = pick(rng, ("how much", "how many")), pick(rng, ("", "", "", *_PREPOSITIONS))
        wording = quantity(word(rng), how, what, prep)
    else:
        wording = _verb(rng, kind, what, value)
    return Relation(f"invented {what}", kind, about, (wording,))


def _verb(rng: Random, kind: str, what: str, value: str) -> Wording:
    tail = pick(rng, _TAILS).format(n=word(rng)) if rng.random() < 0.35 else ""
    prep = pick(rng, _PREPOSITIONS) if rng.random() < 0.65 else ""
    adverb = "when" if kind in ("time", "date") else "where" if kind in ("name", "place", "room") else ""
    wh = adverb if adverb and prep else "what"
    if prep and kind == "name" and rng.random() < 0.3:
        wh, what = "who", "person"
    if value == "{v}" and rng.random() < 0.15:
        value = f"{what} {{v}}"
    draw = rng.random()
    if draw < 0.6 or tail:
        base = word(rng) if rng.random() < 0.8 else f"{word(rng)} {pick(rng, _PREPOSITIONS)} {word(rng)}"
        return verb(base, prep, wh, what, value, tail)
    return (be if draw < 0.85 else was)(_done(word(rng)), prep, wh, what, value)
