"""Two users who tell different values for the same question: whose answer is whose must never be mixed up."""

import msgspec


class Tenants(msgspec.Struct, frozen=True):
    """`statements[i]` is told in namespace i only; `answers[i]` are the answers right there and nowhere else."""

    statements: tuple[str, str]
    question: str
    answers: tuple[tuple[str, ...], tuple[str, ...]]


TENANTS: tuple[Tenants, ...] = (
    Tenants(
        ("My bank card ends with 1873.", "My bank card ends with 6540."),
        "What does my bank card end with?",
        (("1873",), ("6540",)),
    ),
    Tenants(
        ("The name of my lawyer is Castellan.", "The name of my lawyer is Winslow."),
        "What is the name of my lawyer?",
        (("Castellan",), ("Winslow",)),
    ),
    Tenants(
        ("The safe is hidden in the chimney.", "The safe is hidden in the attic."),
        "Where is the safe hidden?",
        (("chimney",), ("attic",)),
    ),
    Tenants(
        ("Our new product is called Sunbeam.", "Our new product is called Granite."),
        "What is our new product called?",
        (("Sunbeam",), ("Granite",)),
    ),
    Tenants(
        ("I was born in Helsinki.", "I was born in Santiago."), "Where was I born?", (("Helsinki",), ("Santiago",))
    ),
    Tenants(
        ("My train ticket has the number 3720.", "My train ticket has the number 5180."),
        "What number does my train ticket have?",
        (("3720",), ("5180",)),
    ),
)
