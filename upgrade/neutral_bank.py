"""Generic texts that compete with the stored events for a prompt's attention.

Stored texts that merely open like the prompt ("What is the …") would otherwise take its votes. The bank therefore
holds the common openings of questions and requests, and plain statements about nothing in particular. It names no
person, place, number or thing that somebody might store as a fact.
"""

NEUTRAL_BANK: tuple[str, ...] = (
    "What is the best way to do this?",
    "What are some of the things people usually like?",
    "What does it mean when somebody says that?",
    "Who was the first person to think of it?",
    "Who is the one that makes this kind of thing?",
    "Where is it and where does it come from?",
    "When did it happen, and when will it happen again?",
    "How many of them are there in all?",
    "How do I make something like this work?",
    "How does that usually go?",
    "Why is it so, and why does it matter?",
    "Which one of these is the right one?",
    "Is it true that this is how it is done?",
    "Can you help me with something?",
    "Could you explain in a few words what this is about?",
    "Please write a short text about a topic of your choice.",
    "Give me a list of ideas, and tell me which one you would take.",
    "Tell me about something interesting.",
    "Write a sentence that I can use in a message to a friend.",
    "My day was fine, and I am going to have a rest now.",
    "The weather is nice and there is not much to do.",
    "I would like to know more about it.",
    "There is a new one on the table in the other room.",
    "Hello, thank you for your answer.",
)
