"""What may stand around any statement or question: training frames, and held-out ones made of the same words."""

from collections.abc import Sequence
from typing import TypeVar

from .words import HELDOUT, TRAIN

T = TypeVar("T")

Frame = tuple[str, bool]  # a text with {}, and whether what fills it begins a sentence

_HELDOUT_STATEMENTS = (
    "Please note that {}.",
    "Please keep in mind that {}.",
    "I wanted you to know that {}.",
    "Let me note that {}.",
    "Please do not forget that {}.",
    "Remember: {}.",
)
_HELDOUT_CORRECTIONS = (
    "Sorry, I was wrong: {}.",
    "Wait, that was wrong: {}.",
    "Sorry, that has changed: {}.",
    "Actually, I made a mistake: {}.",
)
_HELDOUT_DIRECT = (
    ("I have one question: {}?", False),
    ("So tell me: {}?", False),
    ("I forgot. {}?", True),
)
_HELDOUT_INDIRECT = (
    "Please let me know {}.",
    "Could you tell me {}?",
    "Can you remember {}?",
    "Please say {}.",
    "I still need to know {}.",
)


def _composed(*parts: str) -> list[str]:
    """All texts of one piece from each part, which are separated by bars."""
    texts = [""]
    for part in parts:
        texts = [f"{text}{piece}" for text in texts for piece in part.split("|")]
    return [f"{text[0].upper()}{text[1:]}" for text in texts]


def _for_training(texts: Sequence[T], held_out: Sequence[T]) -> tuple[T, ...]:
    def bare(text: T) -> str:
        return "".join(letter for letter in str(text) if letter not in ",:.?!")

    withheld = {bare(text) for text in held_out}
    return tuple(text for text in dict.fromkeys(texts) if bare(text) not in withheld)


_STATEMENTS = [
    *_composed(
        "|please |you should |you must |I want you to |try to |now ",
        "remember|note|keep in mind|write down",
        " that {}.|: {}.",
    ),
    *_composed("|please ", "do not forget|never forget|be aware|do remember", " that {}.|: {}."),
    *_composed(
        "let me|I want to|I wanted to|I would like to|I can|I should|I must|I have to",
        " tell you| say| add| mention| let you know| report",
        " that {}.|: {}.",
    ),
    *_composed(
        "you should|you must|I want you to|I would like you to|you need to|you may already", " know", " that {}.|: {}."
    ),
    *_composed("I|we|somebody|they", " heard| learned| saw| found out| think| noted", " that {}."),
    *_composed(
        "somebody told me|they told me|I was told|I am sure|I know|I remember|the fact is|I told you", " that {}."
    ),
    *_composed("it is", " good to know| true| clear| important| a fact| well known| worth a note", " that {}."),
    *_composed(
        "by the way|also|besides|just so you know|for your information|one more thing|as I said|in case I ask"
        "|as you should know|in fact|of course|well|so|and|now|listen|today I heard this|for your notes|for later",
        ", {}.|: {}.",
    ),
]
_CORRECTIONS = [
    *_composed(
        "correction|actually|sorry|no|wait|oh|well",
        "|, I was wrong|, that was wrong|, I made a mistake|, that has changed|, it is different now|, not any more",
        ": {}.|, {}.",
    ),
    *_composed(
        "I was wrong|that was wrong|I made a mistake|that has changed|there is some news|I have to correct myself"
        "|it is different now|please correct this|that is not true any more|forget what I said|this is new"
        "|I said it wrongly",
        ": {}.",
    ),
]
_DIRECT = [
    *(
        (text, False)
        for text in _composed("|one |a |my |another |a short |now a |I have a |here is my ", "question", ": {}?")
    ),
    *(
        (text, False)
        for text in _composed("|please |now |and |just |can you ", "tell me|say|answer this|help me", ": {}?")
    ),
    *(
        (text, False)
        for text in _composed(
            "so|and|by the way,|well,|now|then|but|once more:|I wonder:|hello,|excuse me,|say,", " {}?"
        )
    ),
    *(
        (text, True)
        for text in _composed(
            "I have a question|I forgot it|I do not remember it|I am not sure any more|please help me|I need your help"
            "|hello|hello again|I wonder|now to my question|I have forgotten it|this is my question|help me",
            ". {}?",
        )
    ),
    *(
        (text, True)
        for text in _composed("{}", ", please?|? Please tell me.|? I forgot it.|? I need to know it.|? Do you know it?")
    ),
]
_INDIRECT = [
    *_composed(
        "|please |now |now please |just ",
        "tell me|say|let me know|let me hear|find out|tell us|repeat",
        " {}.| {}, please.| {} again.",
    ),
    *_composed(
        "can you|could you|would you|will you",
        "| please| still| now",
        " tell me| say| let me know| find out| repeat",
        " {}?| {}, please?",
    ),
    *_composed("do you|do you still|do you perhaps|do you also", " know| remember| recall", " {}?"),
    *_composed("can you|can you still|could you", " remember| recall", " {}?"),
    *_composed(
        "I",
        "| still| also| really| now",
        " want to| need to| have to| must| wish to| would like to",
        " know| hear",
        " {}.",
    ),
    *_composed(
        "I", " forgot| have forgotten| do not know| do not remember| cannot remember| never know| wonder", " {}."
    ),
    *_composed(
        "I want you to|I would like you to|you should|you can|you may now", " tell me| say| let me know", " {}."
    ),
]
STATEMENTS: dict[str, tuple[str, ...]] = {
    TRAIN: _for_training(_STATEMENTS, _HELDOUT_STATEMENTS),
    HELDOUT: _HELDOUT_STATEMENTS,
}
CORRECTIONS: dict[str, tuple[str, ...]] = {
    TRAIN: _for_training(_CORRECTIONS, _HELDOUT_CORRECTIONS),
    HELDOUT: _HELDOUT_CORRECTIONS,
}
DIRECT: dict[str, tuple[Frame, ...]] = {TRAIN: _for_training(_DIRECT, _HELDOUT_DIRECT), HELDOUT: _HELDOUT_DIRECT}
INDIRECT: dict[str, tuple[str, ...]] = {
    TRAIN: _for_training(_INDIRECT, _HELDOUT_INDIRECT),
    HELDOUT: _HELDOUT_INDIRECT,
}
ACKNOWLEDGEMENTS: tuple[str, ...] = (
    "Noted.",
    "Thank you, I will remember that.",
    "All right.",
    "Thanks, I will keep that in mind.",
    "Good to know.",
    "I will remember that.",
    "Okay, noted.",
    "Understood.",
    "Thank you for telling me.",
    "All right, I will remember it.",
    "Okay.",
    "Thanks for the information.",
    "Got it.",
)
CORRECTED: tuple[str, ...] = (
    "Thank you for the correction.",
    "Noted, I will remember the new one.",
    "All right, I will use the new one.",
    "Okay, I have changed that.",
)
UNKNOWN: tuple[str, ...] = ("I do not know {}.", "Nobody told me {}.", "You have not told me {}.")
UNKNOWN_PLAIN: tuple[str, ...] = ("I do not know that.", "Nobody told me that.", "You have not told me that.")
SYSTEMS: tuple[str, ...] = (
    "You are a friendly assistant.",
    "You answer in one short sentence.",
    "Be kind and brief.",
    "You are an assistant that remembers what it is told.",
    "Answer the questions of the user.",
    "You help the user with small things.",
    "You are a careful secretary. Say so when you do not know something.",
    "Keep your answers short and clear.",
    "You are talking to a user who likes full sentences.",
    "You are a quiet and polite helper.",
)
