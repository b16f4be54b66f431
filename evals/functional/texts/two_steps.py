"""Two-step questions: two statements from two chats, both needed for one answer."""

import msgspec


class TwoStep(msgspec.Struct, frozen=True):
    """`first` names the thing, `second` says something about the name; the question uses neither name nor value."""

    first: str
    second: str
    question: str
    answers: tuple[str, ...]


TWO_STEPS: tuple[TwoStep, ...] = (
    TwoStep(
        "My niece is called Matilda.", "Matilda lives in Prague.", "In which city does my niece live?", ("Prague",)
    ),
    TwoStep(
        "The new engineer is called Kenji.",
        "Kenji comes from Osaka.",
        "Where does the new engineer come from?",
        ("Osaka",),
    ),
    TwoStep(
        "Our landlord is Mr. Brandt.", "Mr. Brandt works as a baker.", "What does our landlord work as?", ("baker",)
    ),
    TwoStep(
        "My best friend is called Olga.",
        "Olga plays the trombone.",
        "What does my best friend play?",
        ("trombone",),
    ),
    TwoStep(
        "The mail server is called Triton.",
        "Triton stands in rack 52.",
        "In which rack does the mail server stand?",
        ("52",),
    ),
    TwoStep(
        "My favourite cafe is the Marigold.",
        "The Marigold is in Willow Street.",
        "In which street is my favourite cafe?",
        ("Willow",),
    ),
    TwoStep(
        "Our favourite hotel is the Raven.",
        "The Raven stands in Lucerne.",
        "In which city does our favourite hotel stand?",
        ("Lucerne",),
    ),
    TwoStep(
        "The new neighbour is called Petra.",
        "Petra paints ceramics.",
        "What does the new neighbour paint?",
        ("ceramics", "ceramic"),
    ),
    TwoStep(
        "The black box belongs to Hugo.",
        "Hugo has the phone number 6628.",
        "Which phone number does the owner of the black box have?",
        ("6628",),
    ),
    TwoStep(
        "Our tour guide is called Selma.",
        "Selma speaks Estonian.",
        "Which language does our tour guide speak?",
        ("Estonian",),
    ),
    TwoStep(
        "The cook of our school is Mr. Popov.",
        "Mr. Popov drives a tractor.",
        "What does the cook of our school drive?",
        ("tractor",),
    ),
    TwoStep(
        "My favourite restaurant is the Heron.",
        "The Heron is open until 22:45.",
        "Until when is my favourite restaurant open?",
        ("22:45", "10:45"),
    ),
    TwoStep(
        "The smallest pupil is called Bruno.",
        "Bruno is afraid of spiders.",
        "What is the smallest pupil afraid of?",
        ("spiders", "spider"),
    ),
    TwoStep(
        "The author of the report is Wanda.",
        "Wanda's office is on floor 31.",
        "On which floor is the office of the author of the report?",
        ("31", "31st"),
    ),
)
