"""What has been planned, told and asked in one chat, so that nothing in it is ambiguous."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from . import frames, telling
from .chatter import small_talk
from .knowledge import KNOWLEDGE
from .relation import Relation
from .relations import BRIDGES, RELATIONS, SECOND_STEPS
from .subjects import NAMED, SELF, USER, Subject, any_thing, holder, of, person, person_or_user, thing
from .telling import Fact
from .template import DEFAULT_SYSTEM
from .wordings import Wording
from .words import VALUES, Value, pick

_TRIES = 40
_BY_DRAW = {
    draw: tuple(relation for relation in RELATIONS if relation.subject is draw)
    for draw in {relation.subject for relation in RELATIONS}
}
_INVENTED = 0.3  # of the facts
_OF_PEOPLE = _BY_DRAW[person] + _BY_DRAW[person_or_user]
_OF_THINGS = _BY_DRAW[thing] + _BY_DRAW[any_thing]


def relations_of(subject: Subject, relation: Relation) -> Sequence[Relation]:
    """All relations that fit a subject, given one that does."""
    if relation.subject is person_or_user or (relation.subject is person and not (subject.of_user and subject != USER)):
        return _OF_PEOPLE
    return _OF_THINGS if relation.subject is any_thing else _BY_DRAW[relation.subject]


@dataclass
class Sample:
    """A chat; `judged` are the places of gold answers with the values that such an answer has and must not have."""

    task: str
    messages: list[dict[str, str]] = field(default_factory=list)
    judged: list[tuple[int, tuple[str, ...], tuple[str, ...]]] = field(default_factory=list)


class Conversation:
    """Draws facts that do not clash, and writes the messages.

    `invented` are relations to tell of beside the real ones.
    """

    def __init__(
        self,
        rng: Random,
        split: str,
        task: str,
        system: str | None = DEFAULT_SYSTEM,
        invented: Sequence[Relation] = (),
    ) -> None:
        self.rng, self.split, self._invented = rng, split, invented
        self.sample = Sample(task)
        self.told: list[Fact] = []
        self._words: set[str] = set()
        self._keys: set[tuple[str, str]] = set()
        self._told_keys: set[tuple[str, str]] = set()
        self._old: dict[tuple[str, str], tuple[str, ...]] = {}
        if system is not None:
            self._add("system", system)

    # Facts.

    def fact(
        self, relations: Sequence[Relation] = (), subject: Subject | None = None, of_user: bool = True
    ) -> Fact | None:
        """A new fact whose names and value nothing in this chat has; None if none is found in some tries."""
        if not relations:
            relations = self._invented if self._invented and self.rng.random() < _INVENTED else RELATIONS
        for _ in range(_TRIES):
            relation = pick(self.rng, relations)
            about = subject or self.subject(relation)
            if about is None or (about.of_user and not of_user) or (about.subject, relation.key) in self._keys:
                continue
            role = relation.role.split()[-1] if relation.role and about.style == SELF else ""
            if role in self._words:
                continue
            value = self._value(relation)
            if value is None or any(word.lower() in about.words for word in value.accept):
                continue
            self._keys.add((about.subject, relation.key))
            self._words.update(word.lower() for word in about.words)
            self._words.update(word.lower() for word in value.accept)
            if role:
                self._words.add(role)
            return Fact(about, relation, value, pick(self.rng, relation.wordings))
        return None

    def _among(self, relations: Sequence[Relation]) -> Sequence[Relation]:
        """Now and then invented relations instead of the real `relations`, which are bridges or second steps."""
        if not self._invented or self.rng.random() >= _INVENTED:
            return relations
        bridges = bool(relations[0].role)
        fit = [one for one in self._invented if bool(one.role) == bridges and (bridges or one.subject is person)]
        return fit or relations

    def subject(self, relation: Relation) -> Subject | None:
        """A subject that this chat does not have yet; the user counts as new."""
        for _ in range(4):
            subject = relation.subject(self.rng, self.split)
            if subject is USER or not any(word.lower() in self._words for word in subject.words):
                return subject
        return None

    def _value(self, relation: Relation) -> Value | None:
        draw = VALUES[relation.value]
        for _ in range(6):
            value = draw(self.rng, self.split)
            if value.accept[0].lower() not in self._words:
                return value
        return None

    def correction(self, fact: Fact) -> Fact | None:
        """The same fact with another value."""
        value = self._value(fact.relation)
        if value is None:
            return None
        self._words.add(value.accept[0].lower())
        return Fact(fact.subject, fact.relation, value, pick(self.rng, fact.relation.wordings))

    def pair(self, of_user: bool = True) -> tuple[Fact, Fact] | None:
        """A fact whose value is a person, and one about that person."""
        first = self.fact(self._among(BRIDGES), of_user=of_user)
        second = first and self.fact(self._among(SECOND_STEPS), of(first.value.text, first.value.text))
        return (first, second) if first and second else None

    # Messages.

    def tell(self, fact: Fact, framed: float = 0.4) -> str:
        """A fact's statement; one whose subject and relation were told before is told as a correction."""
        key = (fact.subject.subject, fact.relation.key)
        before = next(
            (i for i, other in enumerate(self.told) if (other.subject.subject, other.relation.key) == key), None
        )
        if before is None:
            self.told.append(fact)
            self._told_keys.add(key)
            return telling.told(self.rng, self.split, fact, framed)
        self._old[key] = self._old.get(key, ()) + self.told[before].value.accept
        self.told[before] = fact
        return telling.corrected(self.rng, self.split, fact)

    def say(self, text: str, reply: str) -> None:
        self._add("user", text)
        self._add("assistant", reply)

    def acknowledge(self, text: str, corrected: bool = False) -> None:
        pool = frames.CORRECTED if corrected and self.rng.random() < 0.4 else frames.ACKNOWLEDGEMENTS
        self.say(text, pick(self.rng, pool))

    def chatter(self) -> None:
        self.say(*small_talk(self.rng))

    def _add(self, role: str, content: str) -> None:
        self.sample.messages.append({"role": role, "content": content})

    def _judge(self, before: str, question: str, answer: str, accept: tuple[str, ...], wrong: tuple[str, ...]) -> None:
        self.say(f"{before} {question}" if before else question, answer)
        self.sample.judged.append((len(self.sample.messages) - 1, accept, wrong))

    # Questions. `before` is what the same message says in front of the question.

    def ask(self, before: str, fact: Fact, same: bool) -> None:
        """For a told fact, in the wording it was told in or in another one."""
        wording = fact.wording
        if not same:
            others = [other for other in fact.relation.wordings if other is not wording]
            wording = pick(self.rng, others or [wording])
        answer = telling.sentence(telling.answered(self.rng, wording, fact.subject, fact.value))
        wrong = self._old.get((fact.subject.subject, fact.relation.key), ())
        question = telling.asked(self.rng, self.split, wording, fact.subject)
        self._judge(before, question, answer, fact.value.accept, wrong)

    def ask_two_steps(self, before: str, first: Fact, second: Fact) -> None:
        wording = pick(self.rng, second.relation.wordings)
        question = telling.asked(self.rng, self.split, wording, self.holder_of(first))
        named = telling.answered(self.rng, first.relation.wordings[0], first.subject, first.value)
        known = telling.answered(self.rng, wording, second.subject, second.value)
        wrong = self._old.get((second.subject.subject, second.relation.key), ())
        self._judge(before, question, telling.sentence(f"{named}, and {known}"), second.value.accept, wrong)

    def holder_of(self, fact: Fact) -> Subject:
        """Whoever the bridge `fact` names, as a subject: "the boss of Marlo"."""
        style = fact.subject.style
        return holder(fact.relation.role, fact.subject, style == SELF or (style == NAMED and self.rng.random() < 0.4))

    def ask_known(self, before: str = "") -> None:
        """General knowledge."""
        known = pick(self.rng, KNOWLEDGE)
        self._judge(before, pick(self.rng, known.questions[self.split]), known.answer, known.accept, ())

    def ask_unknown(self, before: str, planned: Sequence[Fact] = ()) -> None:
        """For something that nothing told so far answers; `planned` are facts that come later."""
        subject, wording, bridge = self._unknown(planned)
        question = telling.asked(self.rng, self.split, wording, subject)
        values = {word for fact in self.told for word in fact.value.accept} - set(subject.words)
        if bridge is None:
            answer = telling.unknown(self.rng, wording, subject)
        else:
            # As far as it goes. Whether the second step is known is thus settled when the first one was said.
            named = telling.answered(self.rng, bridge.relation.wordings[0], bridge.subject, bridge.value)
            rest = telling.unknown_of(self.rng, wording, of(bridge.value.text, bridge.value.text))
            answer = telling.sentence(f"{named}, but {rest}")
            values -= set(bridge.value.accept)
        wrong = tuple(sorted(values))
        self._judge(before, question, answer, telling.UNKNOWN_MARKS, wrong)

    def _unknown(self, planned: Sequence[Fact]) -> tuple[Subject, Wording, Fact | None]:
        """What is asked for, and the fact that leads half the way, if one does."""
        rng, draw = self.rng, self.rng.random()
        later = [fact for fact in planned if (fact.subject.subject, fact.relation.key) not in self._told_keys]
        if later and draw < 0.2:
            fact = pick(rng, later)
            return fact.subject, pick(rng, fact.relation.wordings), None
        if self.told and draw < 0.4:
            fact = pick(rng, self.told)
            relation = pick(rng, relations_of(fact.subject, fact.relation))
            if (fact.subject.subject, relation.key) not in self._keys and self._role_is_free(relation, fact.subject):
                return fact.subject, pick(rng, relation.wordings), None
        if self.told and draw < 0.6:
            bridges = [fact for fact in self.told if fact.relation.role]
            relation = pick(rng, SECOND_STEPS)
            if bridges:
                bridge = pick(rng, bridges)
                if (bridge.value.text, relation.key) not in self._keys:
                    return self.holder_of(bridge), pick(rng, relation.wordings), bridge
        relation = pick(rng, self.told).relation if self.told and draw < 0.9 else pick(rng, RELATIONS)
        while True:
            subject = self.subject(relation)
            if (
                subject is not None
                and (subject.subject, relation.key) not in self._keys
                and self._role_is_free(relation, subject)
            ):
                return subject, pick(rng, relation.wordings), None
            relation = pick(rng, RELATIONS)

    def _role_is_free(self, relation: Relation, subject: Subject) -> bool:
        return not (relation.role and subject.style == SELF and relation.role.split()[-1] in self._words)


def system_for_training(rng: Random) -> str | None:
    draw = rng.random()
    return DEFAULT_SYSTEM if draw < 0.7 else pick(rng, frames.SYSTEMS) if draw < 0.9 else None
