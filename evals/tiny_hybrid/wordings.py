"""Families of templates: from one verb or noun to statements, questions and answers.

In a template `{s}`, `{p}` and `{o}` are the subject, its genitive and its object form, `{v}` and `{a}` the value
without and with an article. `[lives|live]` is the form for others and for the user,
`[is|am|are]` has a third for "you".
"""

import re
import zlib
from collections.abc import Callable, Sequence
from copy import copy
from typing import Self

from .subjects import NAMED, PLAIN, SELF
from .words import HELDOUT, TRAIN

_DO, _BE, _WAS, _HAVE = "[does|do]", "[is|am|are]", "[was|was|were]", "[has|have]"
_ADVERBS = ("where", "when")
Lists = dict[str, tuple[tuple[str, ...], ...]]


def _compiled(template: str, style: int, answering: bool) -> str:
    place = 0 if style != SELF else -1 if answering else 1
    return re.sub(r"\[([^\]]*)\]", lambda found: found[1].split("|")[place], template)


def _fits(template: str, style: int) -> bool:
    return not (style == PLAIN and "{p}" in template) and not (style == SELF and "{o}" in template)


def _lists(templates: Sequence[str], held: frozenset[str], answering: bool = False) -> Lists:
    """Per split and style of subject, the templates that fit."""
    return {
        split: tuple(
            tuple(
                _compiled(t, style, answering)
                for t in templates
                if _fits(t, style) and (t in held) == (split == HELDOUT)
            )
            for style in (NAMED, PLAIN, SELF)
        )
        for split in (TRAIN, HELDOUT)
    }


def _held(templates: Sequence[str], keep: Sequence[str]) -> frozenset[str]:
    """One template that training never sees, and one more of those with a genitive; never one of `keep`."""
    chosen = set()
    plain = [t for t in templates if "{p}" not in t and t not in keep]
    if plain:
        chosen.add(plain[zlib.crc32("".join(plain).encode()) % len(plain)])
    own = [t for t in templates if "{o}" not in t]
    genitive = [t for t in own if "{p}" in t and t not in keep]
    if len(own) > 1 and genitive and not chosen & set(own):
        chosen.add(genitive[zlib.crc32("".join(own).encode()) % len(genitive)])
    return frozenset(chosen)


class Wording:
    """One verb or noun for a relation.

    `tell`, `ask` and `indirect` are templates by split and style of the subject; `plain`, `answer`, `now` and
    `unknown` by style. `plain` are the most usual statements, which no split does without.
    """

    def __init__(
        self,
        tell: Sequence[str],
        ask: Sequence[str],
        indirect: Sequence[str],
        answer: Sequence[str],
        now: Sequence[str],
    ) -> None:
        held = _held(tell, answer) | _held([*ask, *indirect], ask[:1])
        self.templates = (*tell, *ask, *indirect)
        self.held = held
        self.tell = _lists(tell, held)
        self.ask = _lists(ask, held)
        self.indirect = _lists(indirect, held)
        self.plain = _lists(answer, frozenset())[TRAIN]
        self.answer = _lists(answer, frozenset(), answering=True)[TRAIN]
        self.now = _lists(now, frozenset())[TRAIN]
        self.unknown = _lists(indirect, held, answering=True)[TRAIN]

    def all_trained(self) -> Self:
        """The same wording with nothing held out."""
        every = copy(self)
        every.held = frozenset()
        for name in ("tell", "ask", "indirect"):
            lists = getattr(self, name)
            both = tuple(a + b for a, b in zip(lists[TRAIN], lists[HELDOUT], strict=True))
            setattr(every, name, {TRAIN: both, HELDOUT: ((), (), ())})
        return every


def noun(name: str, wh: str = "what", value: str = "{v}", has: bool = False, of: str = "of") -> Wording:
    """ "The colour of my bike is red." `has` is for nouns that one can be said to have."""
    theirs = f"the {name} {of} {{o}}"
    own = f"{{p}} {name}"
    tell = [f"{theirs} is {value}", f"{value} is {theirs}", f"{own} is {value}", f"{value} is {own}"]
    ask = [f"{wh} is {theirs}", f"{wh} is {own}"]
    indirect = [f"{wh} {theirs} is", f"{wh} {own} is"]
    indirect += [f"the name of {theirs}", f"the name of {own}"] if wh == "who" else [theirs, own]
    if has:
        tell += [f"the {name} that {{s}} {_HAVE} is {value}"]
        ask += [f"which {name} {_DO} {{s}} have"]
        indirect += [f"which {name} {{s}} {_HAVE}"]
    return Wording(
        tell,
        ask,
        indirect,
        [f"{theirs} is {value}", f"{own} is {value}"],
        [f"{theirs} is now {value}", f"{own} is now {value}"],
    )


def _phrase(say: str, now: str, aux: str, base: str, prep: str, wh: str, what: str, value: str, tail: str) -> Wording:
    """`what` is the kind of value ("town"); `prep` stands before the value, `tail` at the end of all that is said."""
    after = f" {tail}" if tail else ""
    stranded = f" {prep}" if prep else ""
    into = f"{prep} " if prep else ""
    tell = [f"{{s}} {say} {into}{value}{after}"]
    ask, indirect = [], []
    bare = "{v}" if value.endswith(f"{what} {{v}}") else value
    copula = "are" if what.endswith("things") else "is"
    if wh in _ADVERBS and prep not in ("from", "to"):
        tell += [f"{value} is {wh} {{s}} {say}{after}"]
        ask += [f"{wh} {aux} {{s}} {base}{after}"]
        indirect += [f"{wh} {{s}} {say}{after}"]
        relative = f"the {what} {prep} which" if prep else f"the {what} {wh}"
        tell += [f"{relative} {{s}} {say}{after} is {bare}"]
        indirect += [f"{relative} {{s}} {say}{after}"]
    else:
        tell += [f"{value} {copula} {'the person that' if wh == 'who' else wh} {{s}} {say}{after}{stranded}"]
        tell += [f"the {what} that {{s}} {say}{after}{stranded} {copula} {bare}"]
        ask += [f"{wh} {aux} {{s}} {base}{after}{stranded}"]
        indirect += [f"{wh} {{s}} {say}{after}{stranded}", f"the {what} that {{s}} {say}{after}{stranded}"]
    if prep and wh != "who":
        ask += [f"{prep} which {what} {aux} {{s}} {base}{after}"]
        indirect += [f"{prep} which {what} {{s}} {say}{after}"]
    if not (wh in _ADVERBS and not prep):
        ask += [f"which {what} {aux} {{s}} {base}{after}{stranded}"]
    return Wording(tell, ask, indirect, [tell[0]], [f"{{s}} {now} {into}{value}{after}"])


def _third(verb: str) -> str:
    first, _, rest = verb.partition(" ")
    if first == "have":
        first = "has"
    elif first.endswith(("ch", "sh", "s", "o", "x")):
        first += "es"
    elif first.endswith("y") and first[-2] not in "aeou":
        first = f"{first[:-1]}ies"
    else:
        first += "s"
    return f"{first} {rest}".rstrip()


def verb(base: str, prep: str, wh: str, what: str, value: str = "{v}", tail: str = "") -> Wording:
    """ "Marlo lives in Oslin.": verb("live", "in", "where", "town")."""
    say = f"[{_third(base)}|{base}]"
    return _phrase(say, f"now {say}", _DO, base, prep, wh, what, value, tail)


def be(rest: str, prep: str, wh: str, what: str, value: str = "{v}") -> Wording:
    """ "The ship is made of wood.": be("made", "of", "what", "material")."""
    return _phrase(f"{_BE} {rest}", f"{_BE} now {rest}", _BE, rest, prep, wh, what, value, "")


def was(rest: str, prep: str, wh: str, what: str, value: str = "{v}") -> Wording:
    return _phrase(f"{_WAS} {rest}", f"{_WAS} {rest}", _WAS, rest, prep, wh, what, value, "")


def modal(word: str, rest: str, prep: str, wh: str, what: str, value: str = "{v}") -> Wording:
    """ "Project Tarn must be finished by 4 March.\""""
    return _phrase(f"{word} {rest}", f"{word} now {rest}", word, rest, prep, wh, what, value, "")


def quantity(base: str, how: str, what: str, prep: str = "") -> Wording:
    """ "The van holds 40 litres.": quantity("hold", "how much", "water")."""
    say, into, stranded = f"[{_third(base)}|{base}]", f"{prep} " if prep else "", f" {prep}" if prep else ""
    return Wording(
        [
            f"{{s}} {say} {into}{{v}}",
            f"{{v}} is {how} {{s}} {say}{stranded}",
            f"the {what} that {{s}} {say}{stranded} is {{v}}",
        ],
        [f"{how} {_DO} {{s}} {base}{stranded}", f"{how} {what} {_DO} {{s}} {base}{stranded}"],
        [f"{how} {{s}} {say}{stranded}", f"{how} {what} {{s}} {say}{stranded}"],
        [f"{{s}} {say} {into}{{v}}"],
        [f"{{s}} now {say} {into}{{v}}"],
    )


def called(role: str) -> Wording:
    """ "The boss of Marlo is called Tavi.\""""
    theirs, own = f"the {role} of {{o}}", f"{{p}} {role}"
    return Wording(
        [f"{theirs} is called {{v}}", f"{own} is called {{v}}", f"the {role} that {{s}} {_HAVE} is called {{v}}"],
        [
            f"what is {theirs} called",
            f"what is {own} called",
            f"what is the name of {theirs}",
            f"what is the name of {own}",
        ],
        [f"what {theirs} is called", f"what {own} is called", f"the name of {theirs}", f"the name of {own}"],
        [f"{theirs} is called {{v}}", f"{own} is called {{v}}"],
        [f"{theirs} is now called {{v}}", f"{own} is now called {{v}}"],
    )


def has_one(role: str) -> Wording:
    """ "Marlo has a boss named Tavi.\""""
    a = f"an {role}" if role[0] in "aeiou" else f"a {role}"
    return Wording(
        [
            f"{{s}} {_HAVE} {a} named {{v}}",
            f"{{s}} {_HAVE} {a}, and the name is {{v}}",
            f"{{v}} is the name of the {role} that {{s}} {_HAVE}",
        ],
        [f"what is the {role} that {{s}} {_HAVE} called", f"who is the {role} that {{s}} {_HAVE}"],
        [
            f"what the {role} that {{s}} {_HAVE} is called",
            f"who the {role} that {{s}} {_HAVE} is",
            f"the name of the {role} that {{s}} {_HAVE}",
        ],
        [f"{{s}} {_HAVE} {a} named {{v}}"],
        [f"{{s}} now {_HAVE} {a} named {{v}}"],
    )


def custom(tell: str, ask: str, indirect: str, answer: str, now: str) -> Wording:
    """Templates written out, separated by slashes."""
    split: Callable[[str], list[str]] = lambda text: text.split(" / ")  # noqa: E731
    return Wording(split(tell), split(ask), split(indirect), split(answer), split(now))
