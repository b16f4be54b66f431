"""Small talk with short replies, and sentences that tell nothing worth asking for."""

from random import Random

from .words import name, pick

SMALL_TALK: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (
        ("Hello.", "Hi.", "Hello there.", "Good morning.", "Good evening.", "Hi there.", "Good afternoon."),
        ("Hello. How can I help you?", "Hi. What can I do for you?", "Hello. It is nice to hear from you."),
    ),
    (
        ("Thank you.", "Thanks.", "Thanks a lot.", "Thank you very much.", "Many thanks.", "Thank you for your help."),
        ("You are welcome.", "I am glad to help.", "You are very welcome."),
    ),
    (
        ("How are you?", "How are you today?", "Are you well?", "How do you do?"),
        ("I am fine, thank you.", "I am well, thank you for asking."),
    ),
    (
        ("Goodbye.", "Bye.", "See you later.", "Good night.", "See you tomorrow.", "I have to go now."),
        ("Goodbye.", "See you later.", "Goodbye, and have a nice day."),
    ),
    (
        ("Who are you?", "What are you?", "Are you a person?", "Are you a robot?"),
        ("I am an assistant that answers questions.", "I am a small assistant."),
    ),
    (
        ("What can you do?", "How can you help me?", "What are you good at?", "Can you help me?"),
        ("I can remember what you tell me and answer questions.", "You can tell me things and ask me later."),
    ),
    (
        ("I am tired today.", "I slept badly.", "It was a long day.", "I need a break.", "I am very sleepy."),
        ("I hope that you can rest soon.", "Then take a short break."),
    ),
    (
        ("I am hungry.", "It is time for lunch.", "I will make some dinner.", "I am going to eat something."),
        ("Enjoy your meal.", "I hope that it tastes good."),
    ),
    (
        ("It is raining outside.", "What a grey day.", "It is so cold today.", "The wind is strong today."),
        ("Then it is a good day to stay inside.", "I hope that the weather gets better."),
    ),
    (
        ("The sun is shining.", "What a lovely day.", "It is warm outside.", "The weather is great today."),
        ("That sounds very nice.", "Enjoy the good weather."),
    ),
    (
        ("Tell me a joke.", "Do you know a joke?", "Say something funny.", "Make me laugh."),
        ("Why did the chicken cross the road? To get to the other side.", "What has hands but cannot clap? A clock."),
    ),
    (
        ("Say something nice.", "I need a kind word.", "Cheer me up.", "I feel a bit sad."),
        ("You are doing well.", "Every day is a new start."),
    ),
    (
        ("I am happy today.", "I had a good day.", "Today everything went well.", "I feel great."),
        ("I am glad to hear that.", "That is good news."),
    ),
    (
        ("Let us talk about something else.", "Let us change the subject.", "Now to something else.", "Never mind."),
        ("All right.", "Of course. What is on your mind?"),
    ),
    (
        ("Give me a tip for better sleep.", "How can I sleep better?", "What helps against bad sleep?"),
        ("Go to bed at the same hour every night.", "Read a quiet book before you sleep."),
    ),
    (
        ("What should I do when I am bored?", "I am bored.", "There is nothing to do."),
        ("You could go for a walk.", "You could read a good book."),
    ),
    (
        ("Is it good to walk every day?", "Should I walk more?", "Is walking healthy?"),
        ("Yes, a walk every day is good for you.", "Yes, walking is healthy."),
    ),
    (
        ("Are you there?", "Are you still there?", "Can you hear me?", "Do you read this?"),
        ("Yes, I am here.", "I am here. What can I do for you?"),
    ),
    (
        ("You are very helpful.", "You are nice.", "Well done.", "Good work.", "Great, that helps."),
        ("Thank you, that is kind.", "I am glad to hear that."),
    ),
    (
        ("I will be back soon.", "Give me a minute.", "One moment, please.", "Please wait a moment."),
        ("Take your time.", "Of course, I will wait."),
    ),
    (
        ("Do you like music?", "Do you like books?", "Do you like the sea?", "Do you have hobbies?"),
        ("I like to answer questions.", "I am only an assistant, but I like to listen."),
    ),
    (
        (
            "I am going for a walk.",
            "I am going to read a book.",
            "I am going to clean the house.",
            "I am going to rest.",
        ),
        ("Have a good time.", "That sounds like a good plan."),
    ),
)

_WEATHER = (
    "The rain stopped {w}",
    "A light wind blew from the sea {w}",
    "The sky was clear {w}",
    "Thick fog lay over the fields {w}",
    "The sun came out {w}",
    "Dark clouds stood over the hills {w}",
    "It was very quiet outside {w}",
    "The first stars could be seen {w}",
    "It was too warm for a coat {w}",
    "Some snow fell on the roofs {w}",
    "The birds were loud {w}",
    "A dog barked in the street {w}",
)
_HOW_LONG = ("for a short time", "all day long", "the whole week")
_WHEN = (
    "in the morning",
    "after lunch",
    "before noon",
    "in the evening",
    "late at night",
    "when we got up",
    "as on the day before",
    "after the bells had rung",
)
_SEEN = _WHEN + _HOW_LONG
_DID = (
    "swept the yard",
    "wrote a long letter",
    "read the news to the others",
    "went for a walk along the water",
    "repaired a broken chair",
    "laughed about an old story",
    "waited at the gate for a while",
    "opened all the windows",
    "cleaned the floor",
    "talked about the weather",
    "carried water up the stairs",
    "looked for a lost glove",
    "said very little",
    "told a story that nobody believed",
    "took a short break",
    "lit the fire",
    "washed the dishes",
    "counted the visitors",
    "fell asleep over a book",
)
_GENERAL = (
    "Nothing else happened worth a note.",
    "The rest of the day was quiet.",
    "Nobody had a question.",
    "We all agreed on this.",
    "There was a short break after that.",
    "Some of us were tired by then.",
    "The talk went on for a long time.",
    "Everybody went home early.",
    "This was said more than once.",
    "The door stood open all the time.",
    "A few people came late.",
    "More about this will follow another day.",
    "The list was read aloud and put away.",
    "All of it was written down with care.",
)


def small_talk(rng: Random) -> tuple[str, str]:
    """What the user says, and a reply."""
    said, replies = pick(rng, SMALL_TALK)
    return pick(rng, said), pick(rng, replies)


def filler(rng: Random, split: str) -> str:
    """One sentence without a fact."""
    draw = rng.random()
    if draw < 0.3:
        return f"{pick(rng, _WEATHER).format(w=pick(rng, _SEEN))}."
    if draw < 0.8:
        return (
            f"{name(rng, split)} {pick(rng, _DID)} {pick(rng, _WHEN)}."
            if draw < 0.6
            else (f"{name(rng, split)} and {name(rng, split)} {pick(rng, _DID)}.")
        )
    return pick(rng, _GENERAL)
