"""Facts: what one chat tells and another asks.

Every value is short, stands in no other table of the suite and cannot be guessed; `paraphrase` asks for the same value
in other words.
"""

import msgspec


class Fact(msgspec.Struct, frozen=True):
    """A statement, the question for it in similar words, and the answers that count as right."""

    key: str
    statement: str
    question: str
    answers: tuple[str, ...]
    paraphrase: str | None = None


FACTS: tuple[Fact, ...] = (
    Fact("dog", "My dog is called Rumba.", "What is my dog called?", ("Rumba",), "By which name does my puppy go?"),
    Fact(
        "cat", "The name of my cat is Pixel.", "What is the name of my cat?", ("Pixel",), "What do we call our kitten?"
    ),
    Fact("locker", "My locker number is 417.", "What is my locker number?", ("417",)),
    Fact(
        "boat",
        "My boat is painted turquoise.",
        "What colour is my boat painted?",
        ("turquoise",),
        "Which colour does my ship have?",
    ),
    Fact(
        "brother",
        "My brother Tobias works as a plumber.",
        "What does my brother Tobias work as?",
        ("plumber",),
        "How does Tobias earn his money?",
    ),
    Fact(
        "sister",
        "My sister Clara lives in Oslo.",
        "In which city does my sister Clara live?",
        ("Oslo",),
        "Where is Clara at home?",
    ),
    Fact(
        "piano",
        "The piano teacher of my daughter is Mrs. Hartwell.",
        "Who is the piano teacher of my daughter?",
        ("Hartwell",),
        "Who gives my girl lessons on the keyboard?",
    ),
    Fact(
        "garage",
        "The code for the garage door is 8352.",
        "What is the code for the garage door?",
        ("8352",),
        "Which digits let me park the car inside?",
    ),
    Fact(
        "tea",
        "The tea that I like best is rooibos.",
        "Which tea do I like best?",
        ("rooibos",),
        "What is my favourite hot drink?",
    ),
    Fact("plant", "Our office plant is named Herbert.", "What is our office plant named?", ("Herbert",)),
    Fact(
        "room",
        "The name of the meeting room is Saturn.",
        "What is the name of the meeting room?",
        ("Saturn",),
    ),
    Fact(
        "aunt",
        "My aunt was born in Lisbon.",
        "Where was my aunt born?",
        ("Lisbon",),
    ),
    Fact(
        "project",
        "The project at work has the code name Firefly.",
        "What is the code name of the project at work?",
        ("Firefly",),
    ),
    Fact(
        "neighbour",
        "My neighbour keeps alpacas on his farm.",
        "Which animals does my neighbour keep on his farm?",
        ("alpacas", "alpaca"),
        "Which creatures live on the land next door?",
    ),
    Fact(
        "cellar",
        "The key to the cellar hangs behind the mirror.",
        "Where does the key to the cellar hang?",
        ("mirror",),
        "Where do I look for what opens the basement?",
    ),
    Fact(
        "grandfather",
        "My grandfather worked as a clockmaker.",
        "What did my grandfather work as?",
        ("clockmaker", "clock maker"),
        "What was my grandpa's trade?",
    ),
    Fact(
        "network",
        "The password of the guest network is bluewhale.",
        "What is the password of the guest network?",
        ("bluewhale", "blue whale"),
        "What do visitors type in to get on the wireless?",
    ),
    Fact(
        "gate",
        "My flight to Canada leaves from gate 27.",
        "From which gate does my flight to Canada leave?",
        ("27",),
    ),
    Fact(
        "bicycle",
        "My bicycle comes from Utrecht.",
        "Where does my bicycle come from?",
        ("Utrecht",),
        "In which city was my bike bought?",
    ),
    Fact(
        "holiday",
        "Our next holiday will be in Iceland.",
        "Where will our next holiday be?",
        ("Iceland",),
        "To which country are we going to travel?",
    ),
    Fact(
        "doctor",
        "My doctor is called Dr. Okafor.",
        "What is my doctor called?",
        ("Okafor",),
        "Who is my physician?",
    ),
    Fact(
        "daughter",
        "My daughter plays the bassoon.",
        "Which instrument does my daughter play?",
        ("bassoon",),
        "What does my girl practise for the school orchestra?",
    ),
    Fact(
        "son",
        "My son collects seashells.",
        "What does my son collect?",
        ("seashells", "shells"),
        "What is the hobby of my boy?",
    ),
    Fact(
        "workshop",
        "The rent for the workshop is 640 euros a month.",
        "How much is the rent for the workshop?",
        ("640",),
        "What do I pay every month for the place where I build things?",
    ),
    Fact(
        "allergy",
        "My wife is allergic to walnuts.",
        "What is my wife allergic to?",
        ("walnuts", "walnut"),
        "Which food is bad for my spouse?",
    ),
    Fact("parrot", "The parrot of my uncle is called Admiral.", "What is the parrot of my uncle called?", ("Admiral",)),
    Fact("team", "Our football team is called the Otters.", "What is our football team called?", ("Otters",)),
    Fact("computer", "My first computer was an Amiga.", "What was my first computer?", ("Amiga",)),
    Fact(
        "lighthouse",
        "The lighthouse keeper is called Magnus.",
        "What is the lighthouse keeper called?",
        ("Magnus",),
    ),
    Fact(
        "cake",
        "The birthday cake for Nina will be made with pistachio.",
        "What will the birthday cake for Nina be made with?",
        ("pistachio", "pistachios"),
    ),
    Fact(
        "boots",
        "The boots of my father are size 43.",
        "Which size are the boots of my father?",
        ("43",),
        "How big are the feet of my dad?",
    ),
    Fact(
        "boss",
        "My boss is called Ms. Lindqvist.",
        "What is my boss called?",
        ("Lindqvist",),
        "Who is in charge of me at work?",
    ),
    Fact(
        "bus",
        "The bus to the stadium is number 86.",
        "What number is the bus to the stadium?",
        ("86",),
        "Which line takes me to the match?",
    ),
    Fact("horse", "The horse in our stable is called Comet.", "What is the horse in our stable called?", ("Comet",)),
    Fact(
        "library",
        "The library card has the number 5093.",
        "What number does the library card have?",
        ("5093",),
    ),
    Fact("statue", "The statue in our park shows a dolphin.", "What does the statue in our park show?", ("dolphin",)),
    Fact(
        "cousin",
        "My cousin Rosa moved to Nairobi.",
        "Where did my cousin Rosa move to?",
        ("Nairobi",),
        "In which city can I visit Rosa now?",
    ),
    Fact(
        "spice",
        "The cake recipe of my grandmother needs cardamom.",
        "Which spice does the cake recipe of my grandmother need?",
        ("cardamom",),
        "What must I add when I bake like my grandma?",
    ),
    Fact(
        "curtains",
        "The curtains in the bedroom are purple.",
        "What colour are the curtains in the bedroom?",
        ("purple",),
    ),
    Fact(
        "band",
        "Our band is called Copperhead.",
        "What is our band called?",
        ("Copperhead",),
        "Under which title does our group make music?",
    ),
    Fact(
        "printer",
        "The printer in the office is named Ferdinand.",
        "What is the printer in the office named?",
        ("Ferdinand",),
    ),
    Fact(
        "thesis",
        "My thesis is about glaciers.",
        "What is my thesis about?",
        ("glaciers", "glacier"),
        "What is the topic of my research?",
    ),
    Fact("ferry", "The name of the ferry captain is Ivanka.", "What is the name of the ferry captain?", ("Ivanka",)),
    Fact(
        "roommate",
        "My roommate studies geology.",
        "What does my roommate study?",
        ("geology",),
        "Which degree does the person I share my flat with work on?",
    ),
    Fact("ticket", "The museum ticket cost 23 dollars.", "How much did the museum ticket cost?", ("23",)),
    Fact(
        "goldfish",
        "The goldfish of Emma is called Neptune.",
        "What is the goldfish of Emma called?",
        ("Neptune",),
        "Which name did Emma give her fish?",
    ),
    Fact(
        "chess",
        "The winner of our chess club is Anatol.",
        "Who is the winner of our chess club?",
        ("Anatol",),
        "Which member plays the board game best?",
    ),
    Fact(
        "mill",
        "The old mill is owned by the Petrov family.",
        "Who owns the old mill?",
        ("Petrov",),
        "To whom does the ancient windmill belong?",
    ),
    Fact(
        "soup",
        "The secret ingredient of the soup is ginger.",
        "What is the secret ingredient of the soup?",
        ("ginger",),
    ),
)
