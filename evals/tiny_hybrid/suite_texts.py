"""Held-out texts in the shapes of the functional suite: names, values and phrasings that training never showed."""

from itertools import cycle
from random import Random

from ..functional.scoring import contains_any
from ..functional.texts import Texts
from ..functional.texts.corrections import Correction
from ..functional.texts.facts import Fact as AskedFact
from ..functional.texts.tenants import Tenants
from ..functional.texts.two_steps import TwoStep
from ..functional.texts.unrelated import Unrelated
from . import telling
from .chatter import SMALL_TALK
from .conversation import Conversation
from .documents import document
from .knowledge import KNOWLEDGE
from .relations import RELATIONS
from .telling import Fact
from .words import HELDOUT, TRAIN, pick

_FACTS, _PARAPHRASES, _CORRECTIONS, _TWO_STEPS, _UNRELATED, _TENANTS = 49, 30, 16, 14, 21, 12
_CHATTER = 400
_TOKENS_PER_WORD = 1.7  # measured with the tiny hybrid's tokenizer


class _Author:
    """Draws items whose subjects and values are those of no other item."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.chat = Conversation(self.rng, HELDOUT, "suite", system=None)
        self._subjects: set[str] = set()
        self._values: list[str] = []
        self._text = " ".join(said for talk, _ in SMALL_TALK for said in talk)
        self._turn = cycle(self.rng.sample(RELATIONS, len(RELATIONS)))

    def fact(self, change: bool = False) -> Fact:
        """A fact about somebody new; one relation after the other, so that as many as possible have their turn."""
        while True:
            relation = next(self._turn)
            fact = None if change and relation.lasting else self.chat.fact((relation,))
            if fact and fact.subject.subject not in self._subjects:
                self._subjects.add(fact.subject.subject)
                return fact

    def told(self, fact: Fact) -> str:
        return telling.told(self.rng, HELDOUT, fact)

    def asked(self, fact: Fact, same: bool = True) -> str:
        wording = fact.wording
        if not same:
            wording = pick(self.rng, [other for other in fact.relation.wordings if other is not wording])
        return telling.asked(self.rng, HELDOUT, wording, fact.subject)

    def accepts(self, text: str, values: tuple[str, ...]) -> bool:
        """Whether an item clashes with none before; if so it is one of them."""
        if contains_any(self._text, values) or contains_any(text, self._values):
            return False
        self._text = f"{self._text} {text}"
        self._values += values
        return True


def suite(seed: int) -> Texts:
    """The texts of one seed."""
    author = _Author(seed)
    unrelated = author.rng.sample(KNOWLEDGE, _UNRELATED)
    author.accepts(
        " ".join(question for known in KNOWLEDGE for half in known.questions.values() for question in half), ()
    )
    facts = _asked_facts(author)
    corrections = _corrections(author)
    two_steps = _two_steps(author)
    tenants = _tenants(author)
    others = [known for known in KNOWLEDGE if known not in unrelated]
    questions = [question for known in others for question in known.questions[TRAIN]]
    return Texts(
        facts=facts,
        corrections=corrections,
        two_steps=two_steps,
        unrelated=tuple(Unrelated(known.questions[HELDOUT][0], known.accept) for known in unrelated),
        tenants=tenants,
        chatter=_chatter(author, questions),
        document=_document,
    )


def _asked_facts(author: _Author) -> tuple[AskedFact, ...]:
    made: list[AskedFact] = []
    while len(made) < _FACTS:
        fact = author.fact()
        statement, question = author.told(fact), author.asked(fact)
        paraphrase = author.asked(fact, same=False) if len(made) < _PARAPHRASES else None
        if author.accepts(f"{statement} {question} {paraphrase}", fact.value.accept):
            made.append(
                AskedFact(f"{len(made)} {fact.relation.key}", statement, question, fact.value.accept, paraphrase)
            )
    return tuple(made)


def _corrections(author: _Author) -> tuple[Correction, ...]:
    made: list[Correction] = []
    while len(made) < _CORRECTIONS:
        old = author.fact(change=True)
        new = author.chat.correction(old)
        if new is None:
            continue
        before, after = author.told(old), telling.corrected(author.rng, HELDOUT, new)
        question = author.asked(new)
        if author.accepts(f"{before} {after} {question}", old.value.accept + new.value.accept):
            made.append(Correction(before, after, question, old.value.accept, new.value.accept))
    return tuple(made)


def _two_steps(author: _Author) -> tuple[TwoStep, ...]:
    made: list[TwoStep] = []
    while len(made) < _TWO_STEPS:
        pair = author.chat.pair()
        if pair is None:
            continue
        first, second = pair
        question = telling.asked(author.rng, HELDOUT, second.wording, author.chat.holder_of(first))
        told = author.told(first), author.told(second)
        if author.accepts(f"{told[0]} {told[1]} {question}", second.value.accept):
            made.append(TwoStep(*told, question, second.value.accept))
    return tuple(made)


def _tenants(author: _Author) -> tuple[Tenants, ...]:
    made: list[Tenants] = []
    while len(made) < _TENANTS:
        one = author.fact(change=True)
        other = author.chat.correction(one)
        if other is None:
            continue
        state = author.rng.getstate()
        first = author.told(one)
        author.rng.setstate(state)  # the same words but for the value
        second = author.told(one._replace(value=other.value))
        question = author.asked(one)
        if author.accepts(f"{first} {second} {question}", one.value.accept + other.value.accept):
            made.append(Tenants((first, second), question, (one.value.accept, other.value.accept)))
    return tuple(made)


def _document(tokens: int, seed: int, sentence: str | None = None) -> str:
    """See `Texts.document`."""
    rng = Random(seed)
    chat = Conversation(rng, HELDOUT, "suite", system=None)
    words = int(tokens / _TOKENS_PER_WORD)
    halves = [document(chat, words // 2) for _ in range(2)]
    return " ".join([halves[0], *([sentence] if sentence else []), halves[1]])


def _chatter(author: _Author, questions: list[str]) -> tuple[str, ...]:
    """As mixed in the beginning as all in all."""
    rng = author.rng
    small = [said for talk, _ in SMALL_TALK for said in talk]
    texts = small + rng.sample(questions, 150)
    while len(texts) < _CHATTER:
        fact = author.fact()
        statement = author.told(fact)
        if author.accepts(statement, fact.value.accept):
            texts.append(statement)
    rng.shuffle(texts)
    return tuple(texts)
