"""Corrections: a statement, a later one that replaces it, and a question for the present value."""

import msgspec


class Correction(msgspec.Struct, frozen=True):
    """Two statements told in this order, in two chats, and the question asked in a third."""

    old_statement: str
    new_statement: str
    question: str
    old_answers: tuple[str, ...]
    new_answers: tuple[str, ...]


CORRECTIONS: tuple[Correction, ...] = (
    Correction(
        "My phone number ends with 7719.",
        "I have a new phone number. My phone number now ends with 3046.",
        "What does my phone number end with?",
        ("7719",),
        ("3046",),
    ),
    Correction(
        "The party for Leon will be in the garden.",
        "The place has changed. The party for Leon will now be at the zoo.",
        "Where will the party for Leon be?",
        ("garden",),
        ("zoo",),
    ),
    Correction(
        "My favourite colour is orange.",
        "I changed my mind. My favourite colour is now silver.",
        "What is my favourite colour?",
        ("orange",),
        ("silver",),
    ),
    Correction(
        "The manager of the shop is Mr. Baxter.",
        "The shop has a new manager. The manager of the shop is now Mrs. Delgado.",
        "Who is the manager of the shop?",
        ("Baxter",),
        ("Delgado",),
    ),
    Correction(
        "Karl lives in Madrid.",
        "Karl has moved. Karl now lives in Dublin.",
        "Where does Karl live?",
        ("Madrid",),
        ("Dublin",),
    ),
    Correction(
        "The door code of the office is 2264.",
        "The door code was changed. The door code of the office is now 9157.",
        "What is the door code of the office?",
        ("2264",),
        ("9157",),
    ),
    Correction(
        "Our train leaves from platform 14.",
        "The platform has changed. Our train now leaves from platform 38.",
        "From which platform does our train leave?",
        ("14",),
        ("38",),
    ),
    Correction(
        "The dish for Sunday is lasagna.",
        "We changed the plan. The dish for Sunday is now goulash.",
        "What is the dish for Sunday?",
        ("lasagna",),
        ("goulash",),
    ),
    Correction(
        "Simon drives a Volvo.",
        "Simon sold his old car. Simon now drives a Honda.",
        "Which car does Simon drive?",
        ("Volvo",),
        ("Honda",),
    ),
    Correction(
        "The name of our ship is Albatross.",
        "Our ship was renamed. The name of our ship is now Mermaid.",
        "What is the name of our ship?",
        ("Albatross",),
        ("Mermaid",),
    ),
    Correction(
        "The spare key is in the teapot.",
        "I put the key somewhere else. The spare key is now in the cupboard.",
        "Where is the spare key?",
        ("teapot",),
        ("cupboard",),
    ),
    Correction(
        "My daughter Ella wants to become a pilot.",
        "Ella has other plans. My daughter Ella now wants to become a dentist.",
        "What does my daughter Ella want to become?",
        ("pilot",),
        ("dentist",),
    ),
    Correction(
        "The price of the sofa is 480 dollars.",
        "The sofa is on sale. The price of the sofa is now 315 dollars.",
        "What is the price of the sofa?",
        ("480",),
        ("315",),
    ),
    Correction(
        "Our drummer is called Felix.",
        "The band has a new drummer. Our drummer is now called Yusuf.",
        "What is our drummer called?",
        ("Felix",),
        ("Yusuf",),
    ),
    Correction(
        "The conference takes place in Geneva.",
        "The conference was moved. The conference now takes place in Athens.",
        "Where does the conference take place?",
        ("Geneva",),
        ("Athens",),
    ),
    Correction(
        "The school pet is a hamster.",
        "There is a new school pet. The school pet is now a tortoise.",
        "What is the school pet?",
        ("hamster",),
        ("tortoise",),
    ),
)
