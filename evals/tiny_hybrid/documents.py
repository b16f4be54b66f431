"""Long texts: a log, a diary, a report, with facts about many people and things between sentences that tell nothing."""

from .chatter import filler
from .conversation import Conversation
from .telling import Fact
from .words import name, pick

_OPENINGS = (
    "Here is the log of {n}.",
    "This is the diary of {n}.",
    "Please read this report from {n}.",
    "These are the notes of {n}.",
    "Here is a long letter from {n}.",
    "This is the protocol of the week in {n}.",
    "I copied this from the book of {n}.",
    "Read this text about {n}.",
)
_FACTS_IN_TEN_SENTENCES = 4.5


def document(chat: Conversation, words: int, asked: Fact | None = None, statement: str = "") -> str:
    """A text of about so many words, told in `chat`; `asked` stands in the middle of it (as `statement` if given)."""
    rng = chat.rng
    sentences = [pick(rng, _OPENINGS).format(n=name(rng, chat.split))]
    length, missing = len(sentences[0].split()), asked
    while length < words:
        if missing is not None and length >= words / 2:
            told, missing = chat.tell(missing, framed=0.2), None
            text = statement or told
        else:
            fact = chat.fact(of_user=False) if rng.random() * 10 < _FACTS_IN_TEN_SENTENCES else None
            text = chat.tell(fact, framed=0.1) if fact else filler(rng, chat.split)
        sentences.append(text)
        length += text.count(" ") + 1
    return " ".join(sentences)
