"""What may stand around any statement or question: training frames, and held-out ones made of the same words."""

from .words import HELDOUT, TRAIN

Frame = tuple[str, bool]  # a text with {}, and whether what fills it begins a sentence

STATEMENTS: dict[str, tuple[str, ...]] = {
    TRAIN: (
        "Remember that {}.",
        "Please remember that {}.",
        "Please remember: {}.",
        "Note that {}.",
        "Please note: {}.",
        "By the way, {}.",
        "You should know that {}.",
        "I want you to know that {}.",
        "I wanted to tell you that {}.",
        "Let me tell you that {}.",
        "Keep in mind that {}.",
        "I can tell you that {}.",
        "Somebody told me that {}.",
        "I heard that {}.",
        "For your notes: {}.",
        "It is good to know that {}.",
        "Do not forget that {}.",
        "Do not forget: {}.",
        "As you should know, {}.",
        "Also, {}.",
    ),
    HELDOUT: (
        "Please note that {}.",
        "Please keep in mind that {}.",
        "I wanted you to know that {}.",
        "Let me note that {}.",
        "Please do not forget that {}.",
        "Remember: {}.",
    ),
}
CORRECTIONS: dict[str, tuple[str, ...]] = {
    TRAIN: (
        "Correction: {}.",
        "Actually, {}.",
        "Sorry, {}.",
        "No, {}.",
        "I was wrong: {}.",
        "That was wrong: {}.",
        "I made a mistake: {}.",
        "That has changed: {}.",
        "There is some news: {}.",
        "Wait, {}.",
        "I have to correct myself: {}.",
        "It is different now: {}.",
    ),
    HELDOUT: (
        "Sorry, I was wrong: {}.",
        "Wait, that was wrong: {}.",
        "Sorry, that has changed: {}.",
        "Actually, I made a mistake: {}.",
    ),
}
DIRECT: dict[str, tuple[Frame, ...]] = {
    TRAIN: (
        ("One question: {}?", False),
        ("Question: {}?", False),
        ("Please tell me: {}?", False),
        ("Now tell me: {}?", False),
        ("I have a question. {}?", True),
        ("I forgot it. {}?", True),
        ("I am not sure any more. {}?", True),
        ("Please help me. {}?", True),
        ("So {}?", False),
        ("And {}?", False),
        ("By the way, {}?", False),
        ("{}, please?", True),
    ),
    HELDOUT: (
        ("I have one question: {}?", False),
        ("So tell me: {}?", False),
        ("I forgot. {}?", True),
    ),
}
INDIRECT: dict[str, tuple[str, ...]] = {
    TRAIN: (
        "Do you know {}?",
        "Do you still know {}?",
        "Do you remember {}?",
        "Tell me {}.",
        "Please tell me {}.",
        "Can you tell me {}?",
        "Can you still tell me {}?",
        "Could you say {}?",
        "Could you tell me {}, please?",
        "I forgot {}.",
        "I want to know {}.",
        "I would like to know {}.",
        "I need to know {}.",
        "Say {}.",
        "Let me know {}.",
    ),
    HELDOUT: (
        "Please let me know {}.",
        "Could you tell me {}?",
        "Can you remember {}?",
        "Please say {}.",
        "I still need to know {}.",
    ),
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
