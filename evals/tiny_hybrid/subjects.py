"""Whom or what a fact is about: a person, a thing of the user's, a named ship."""

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from .words import ANIMALS, NOUNS, ROOMS, VEHICLES, halves, name, pick, word_of

NAMED, PLAIN, SELF = 0, 1, 2  # all templates; no genitive ("the meeting on Monday's"); the user ("I", "you")


class Subject(NamedTuple):
    """The forms that templates take: `subject`, `genitive` and `object`, as the user says it and as it is answered.

    `words` are the names and nouns in it, `style` says which templates fit.
    """

    subject: str
    genitive: str
    object: str
    answer_subject: str
    answer_genitive: str
    answer_object: str
    style: int
    words: tuple[str, ...]

    @property
    def of_user(self) -> bool:
        """Whether the answer has to turn "my" into "your"."""
        return self.subject != self.answer_subject


USER = Subject("I", "my", "me", "you", "your", "you", SELF, ("I",))

_ROLES = halves(
    """sister brother cousin aunt uncle niece nephew mother father grandmother grandfather daughter son wife
husband boss teacher neighbour doctor friend roommate landlord colleague gardener coach assistant dentist lawyer
godfather stepsister"""
)
_NOUNS, _ROOMS, _ANIMALS, _VEHICLES = halves(NOUNS), halves(ROOMS), halves(ANIMALS), halves(VEHICLES)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_EVENTS = halves(
    """meeting party lesson course concert wedding lecture trip picnic interview exam rehearsal dinner
ceremony auction workshop tournament parade festival training conference reunion tour contest"""
)
_NAMEABLE = halves(
    """boat band team club horse cat dog cafe hotel robot newspaper product choir shop bakery brewery farm
school garden bridge museum theatre magazine computer"""
)
_SECURED = halves(
    """garage cellar office library workshop safe gate locker attic vault warehouse laboratory archive
studio clubhouse stable gym shed chapel boathouse"""
)
_ACCOUNTS = halves(
    """network printer server computer router tablet database laptop website scanner mailbox
speaker camera archive television"""
)


def of(text: str, *words: str, style: int = NAMED) -> Subject:
    """A subject that is called the same by both sides."""
    return Subject(text, f"{text}'s", text, text, f"{text}'s", text, style, words)


def mine(noun: str, owner: str = "my", style: int = NAMED) -> Subject:
    told, answered = f"{owner} {noun}", f"your {noun}"
    return Subject(told, f"{told}'s", told, answered, f"{answered}'s", answered, style, (noun,))


def holder(role: str, subject: Subject, genitive: bool) -> Subject:
    """Whoever has a role for a subject: "the boss of Marlo", or "Marlo's boss"."""
    if genitive:
        told, answered = f"{subject.genitive} {role}", f"{subject.answer_genitive} {role}"
    else:
        told, answered = f"the {role} of {subject.object}", f"the {role} of {subject.answer_object}"
    return Subject(told, "", told, answered, "", answered, PLAIN, subject.words)


def named_person(rng: Random, split: str) -> Subject:
    word = name(rng, split)
    return of(word, word)


def person(rng: Random, split: str) -> Subject:
    draw = rng.random()
    if draw < 0.62:
        return named_person(rng, split)
    return mine(pick(rng, _ROLES[split])) if draw < 0.85 else USER


def person_or_user(rng: Random, split: str) -> Subject:
    return USER if rng.random() < 0.3 else named_person(rng, split)


def thing(rng: Random, split: str) -> Subject:
    noun, draw = word_of(rng, _NOUNS, split), rng.random()
    if draw < 0.5:
        return mine(noun)
    if draw < 0.6:
        return mine(noun, "our")
    return any_thing(rng, split, noun)


def any_thing(rng: Random, split: str, noun: str = "") -> Subject:
    """A thing that is not the user's."""
    noun, draw = noun or word_of(rng, _NOUNS, split), rng.random()
    if draw < 0.5:
        return of(f"the {noun}", noun)
    if draw < 0.75:
        room = word_of(rng, _ROOMS, split)
        return of(f"the {noun} in the {room}", noun, room, style=PLAIN)
    word = name(rng, split)
    return of(f"the {noun} of {word}", noun, word, style=PLAIN)


def door(rng: Random, split: str) -> Subject:
    noun, draw = word_of(rng, _SECURED, split), rng.random()
    if draw < 0.4:
        return of(f"the {noun}", noun)
    if draw < 0.7:
        return mine(noun, pick(rng, ("my", "our")))
    word = name(rng, split)
    return of(f"the {noun} of {word}", noun, word, style=PLAIN)


def account(rng: Random, split: str) -> Subject:
    noun, draw = word_of(rng, _ACCOUNTS, split), rng.random()
    if draw < 0.6:
        return mine(noun, pick(rng, ("my", "our")))
    if draw < 0.8:
        return of(f"the {noun}", noun)
    room = word_of(rng, _ROOMS, split)
    return of(f"the {noun} in the {room}", noun, room, style=PLAIN)


def animal(rng: Random, split: str) -> Subject:
    noun = word_of(rng, _ANIMALS, split)
    if rng.random() < 0.6:
        return mine(noun)
    word = name(rng, split)
    return of(f"the {noun} of {word}", noun, word, style=PLAIN)


def nameable(rng: Random, split: str) -> Subject:
    noun = word_of(rng, _NAMEABLE, split)
    return mine(noun, pick(rng, ("my", "our"))) if rng.random() < 0.7 else of(f"the new {noun}", noun)


def vehicle(rng: Random, split: str) -> Subject:
    word, noun = name(rng, split), word_of(rng, _VEHICLES, split)
    return mine(noun) if rng.random() < 0.5 else of(f"the {noun} of {word}", noun, word, style=PLAIN)


def ship(rng: Random, split: str) -> Subject:
    word = name(rng, split)
    return of(f"the {pick(rng, ('ship', 'ship', 'ferry', 'yacht'))} {word}", word)


def project(rng: Random, split: str) -> Subject:
    word = name(rng, split)
    return of(f"{pick(rng, ('project', 'project', 'the company', 'the team'))} {word}", word)


def task(rng: Random, split: str) -> Subject:
    word = name(rng, split)
    return of(f"project {word}", word)


def event(rng: Random, split: str) -> Subject:
    noun, draw, day = word_of(rng, _EVENTS, split), rng.random(), pick(rng, _DAYS)
    if draw < 0.3:
        return of(f"the {noun} on {day}", noun, style=PLAIN)
    if draw < 0.6:
        word = name(rng, split)
        return of(f"the {noun} {pick(rng, ('with', 'for'))} {word}", noun, word, style=PLAIN)
    return of(f"the {noun}", noun) if draw < 0.8 else mine(noun, pick(rng, ("my", "our")))


def ride(rng: Random, split: str) -> Subject:
    word = name(rng, split)
    return of(f"the {pick(rng, ('train', 'bus', 'tram', 'coach'))} to {word}", word, style=PLAIN)


Draw = Callable[[Random, str], Subject]
