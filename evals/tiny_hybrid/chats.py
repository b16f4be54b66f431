"""Chats for training and for judging: `training_chat`, `training_document` and `sample`."""

from collections.abc import Callable, Sequence
from random import Random

from .conversation import Conversation, Sample, relations_of, system_for_training
from .documents import document
from .relation import Relation
from .telling import Fact
from .words import TRAIN, pick

_UNKNOWN, _KNOWLEDGE, _CHATTER = 0.09, 0.07, 0.07  # shares of the questions, and of small talk before a turn


def _distractor(chat: Conversation, facts: list[Fact]) -> Fact | None:
    """A fact about somebody else, about the same one, or with the same relation."""
    draw = chat.rng.random()
    if not facts or draw < 0.3:
        return chat.fact()
    near = pick(chat.rng, facts)
    if draw < 0.7:
        return chat.fact((near.relation,))
    return chat.fact(relations_of(near.subject, near.relation), near.subject)


def _plan(chat: Conversation, number: int) -> tuple[list[Fact], list[tuple[Fact, Fact]]]:
    """Facts in the order of telling, some told again with another value, and the pairs that make two steps."""
    rng = chat.rng
    facts: list[Fact] = []
    pairs: list[tuple[Fact, Fact]] = []
    while len(facts) < number:
        pair = chat.pair() if number > 1 and rng.random() < 0.17 else None
        if pair:
            pairs.append(pair)
            facts += pair
        else:
            fact = _distractor(chat, facts)
            facts += [fact] if fact else []
    rng.shuffle(facts)
    if rng.random() < 0.4:
        at = int(rng.random() * len(facts))
        new = chat.correction(facts[at])
        if new and not any(facts[at] is fact for pair in pairs for fact in pair):
            facts.insert(at + 1 + int(rng.random() * (len(facts) - at)), new)
    return facts, pairs


class _Asker:
    """Asks one question after another about what a chat has told."""

    def __init__(self, chat: Conversation, plan: list[Fact], pairs: list[tuple[Fact, Fact]]) -> None:
        self._chat, self._plan, self._pairs = chat, plan, list(pairs)
        self._asked: list[Fact] = []

    def ask(self, before: str) -> None:
        chat, rng = self._chat, self._chat.rng
        draw = rng.random()
        if draw < _UNKNOWN:
            chat.ask_unknown(before, self._plan)
            return
        if draw < _UNKNOWN + _KNOWLEDGE:
            chat.ask_known(before)
            return
        told = [fact for fact in chat.told if not any(fact is other for other in self._asked)]
        ready = [pair for pair in self._pairs if all(any(half is fact for fact in chat.told) for half in pair)]
        if ready and rng.random() < 0.5:
            pair = pick(rng, ready)
            self._pairs.remove(pair)
            chat.ask_two_steps(before, *pair)
        elif told:
            fact = pick(rng, told)
            self._asked.append(fact)
            chat.ask(before, fact, same=rng.random() < 0.45)
        elif chat.told:
            chat.ask(before, pick(rng, chat.told), same=False)
        else:
            chat.ask_known(before)


def training_chat(rng: Random, invented: Sequence[Relation] = ()) -> Sample:
    """Some facts and some questions of all kinds, in any order."""
    chat = Conversation(rng, TRAIN, "mixed", system_for_training(rng), invented)
    plan, pairs = _plan(chat, 1 + int(rng.random() * 8)) if rng.random() < 0.96 else ([], [])
    questions = 1 + int(rng.random() * 6)
    asker, at = _Asker(chat, plan, pairs), 0
    while questions:
        if rng.random() < _CHATTER:
            chat.chatter()
        tells = 0 if at and rng.random() < 0.3 else 1 + int(rng.random() * rng.random() * 6)
        said, known = plan[at : at + tells], len(chat.told)
        at += len(said)
        text = " ".join([chat.tell(fact) for fact in said])
        if said and rng.random() < 0.3:
            chat.acknowledge(text, corrected=len(said) == 1 and len(chat.told) == known)
        else:
            asker.ask(text)
            questions -= 1
    return chat.sample


def training_document(rng: Random, invented: Sequence[Relation] = ()) -> Sample:
    """A text, half of them long, and questions about it, at once and in later turns."""
    chat = Conversation(rng, TRAIN, "document", system_for_training(rng), invented)
    questions = 3 + int(rng.random() * 7)
    words = 1060 + int(rng.random() * 220) if rng.random() < 0.5 else 150 + int(rng.random() * 700)
    text = document(chat, words - 15 * questions)
    asker = _Asker(chat, [], [])
    if rng.random() < 0.4:
        chat.acknowledge(text)
        text = ""
    for _ in range(questions):
        if rng.random() < _CHATTER:
            chat.chatter()
        asker.ask(text)
        text = ""
    return chat.sample


def sample(rng: Random, split: str, task: str) -> Sample:
    """A chat that ends with one question of a task, all of it from one split. Raises KeyError for an unknown task."""
    chat = Conversation(rng, split, task)
    _TASKS[task](chat)
    return chat.sample


def _surely(draw: Callable[[], Fact | None]) -> Fact:
    while (fact := draw()) is None:
        pass
    return fact


def _others(chat: Conversation, facts: list[Fact], most: int) -> list[Fact]:
    """`facts`, in their order, with up to `most` others between them."""
    mixed = list(facts)
    for _ in range(int(chat.rng.random() * (most + 1))):
        other = _distractor(chat, facts)
        if other:
            mixed.insert(int(chat.rng.random() * (len(mixed) + 1)), other)
    return mixed


def _tell(chat: Conversation, facts: list[Fact]) -> str:
    """Tell facts in turns; gives what stands in front of the question in the last message."""
    rng = chat.rng
    together = rng.random() < 0.4
    text: list[str] = []
    for fact in facts:
        text.append(chat.tell(fact))
        if not together and rng.random() < 0.7:
            chat.acknowledge(" ".join(text))
            text.clear()
            if rng.random() < 0.15:
                chat.chatter()
    return " ".join(text)


def _fact(chat: Conversation) -> None:
    fact = _surely(chat.fact)
    chat.ask(_tell(chat, _others(chat, [fact], 5)), fact, same=True)


def _paraphrase(chat: Conversation) -> None:
    fact = _surely(chat.fact)
    chat.ask(_tell(chat, _others(chat, [fact], 5)), fact, same=False)


def _correction(chat: Conversation) -> None:
    fact = _surely(chat.fact)
    new = _surely(lambda: chat.correction(fact))
    chat.ask(_tell(chat, _others(chat, [fact, new], 6)), new, same=chat.rng.random() < 0.5)


def _two_step(chat: Conversation) -> None:
    while (pair := chat.pair()) is None:
        pass
    order = list(pair) if chat.rng.random() < 0.5 else [pair[1], pair[0]]
    chat.ask_two_steps(_tell(chat, _others(chat, order, 5)), *pair)


def _document(chat: Conversation) -> None:
    fact = _surely(chat.fact)
    text = document(chat, 1300, fact)
    if chat.rng.random() < 0.5:
        chat.acknowledge(text)
        text = ""
    chat.ask(text, fact, same=True)


def _knowledge(chat: Conversation) -> None:
    facts = _others(chat, [], 3)
    chat.ask_known(_tell(chat, facts))


def _unknown(chat: Conversation) -> None:
    chat.ask_unknown(_tell(chat, _others(chat, [], 5)))


_TASKS: dict[str, Callable[[Conversation], None]] = {
    "fact": _fact,
    "paraphrase": _paraphrase,
    "correction": _correction,
    "two_step": _two_step,
    "document": _document,
    "knowledge": _knowledge,
    "unknown": _unknown,
}
TASKS = tuple(_TASKS)
