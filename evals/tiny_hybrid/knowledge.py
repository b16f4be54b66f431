"""General knowledge: what a child knows, with questions for training and one held-out phrasing for every fact."""

import zlib
from collections.abc import Iterator
from typing import NamedTuple

from .words import HELDOUT, TRAIN


class Known(NamedTuple):
    """`questions` by split; the answer is a full sentence that contains one of `accept`."""

    questions: dict[str, tuple[str, ...]]
    answer: str
    accept: tuple[str, ...]


class _Group(NamedTuple):
    """Facts of one kind: `{x}` is asked for, `{y}` the answer. `pairs` are "x=y", separated by commas."""

    questions: str
    answer: str
    pairs: str


_GROUPS = (
    _Group(
        "What is the capital of {x}? / Which city is the capital of {x}? / Tell me the capital of {x}. / "
        "Do you know the capital of {x}? / What is the name of the capital of {x}?",
        "The capital of {x} is {y}.",
        "France=Paris, Germany=Berlin, Italy=Rome, Spain=Madrid, England=London, Japan=Tokyo, Russia=Moscow, "
        "China=Beijing, Greece=Athens, Egypt=Cairo, Austria=Vienna, Portugal=Lisbon",
    ),
    _Group(
        "What is the opposite of {x}? / Which word is the opposite of {x}? / Tell me the opposite of {x}. / "
        "Do you know the opposite of {x}? / Which word means the opposite of {x}?",
        "The opposite of {x} is {y}.",
        "hot=cold, big=small, long=short, young=old, fast=slow, happy=sad, full=empty, day=night, rich=poor, wet=dry, "
        "hard=soft, early=late, loud=quiet, open=closed",
    ),
    _Group(
        "What is {x}? / How much is {x}? / Can you add for me: {x}? / Tell me how much {x} is. / "
        "Do you know how much {x} is?",
        "{x} is {y}.",
        "1 plus 1=2, 2 plus 2=4, 2 plus 3=5, 3 plus 3=6, 4 plus 3=7, 4 plus 4=8, 5 plus 4=9, 5 plus 5=10",
    ),
    _Group(
        "How many legs does {x} have? / What is the number of legs of {x}? / Tell me how many legs {x} has. / "
        "Do you know how many legs {x} has? / On how many legs does {x} walk?",
        "{x} has {y} legs.",
        "a spider=eight, an ant=six, a bee=six, a cow=four, a hen=two, an elephant=four",
    ),
    _Group(
        "What colour is {x}? / Which colour does {x} have? / What is the colour of {x}? / "
        "Do you know the colour of {x}? / "
        "Tell me what colour {x} is.",
        "The colour of {x} is {y}.",
        "grass=green, snow=white, blood=red, a lemon=yellow, the sky on a sunny day=blue, a ripe banana=yellow, "
        "fresh milk=white, a leaf in spring=green",
    ),
    _Group(
        "How many {x}? / Do you know how many {x}? / Tell me how many {x}. / Can you tell me how many {x}? / "
        "I want to know how many {x}.",
        "There are {y} {z}.",
        "days there are in a week=seven, months there are in a year=twelve, hours there are in a day=twenty-four, "
        "minutes there are in an hour=sixty, seconds there are in a minute=sixty, seasons there are in a year=four, "
        "letters there are in the alphabet=twenty-six, fingers there are on one hand=five, "
        "sides there are on a triangle=three, wheels there are on a car=four",
    ),
    _Group(
        "What sound does {x} make? / Which sound does {x} make? / Tell me the sound of {x}. / "
        "Do you know the sound of {x}? / "
        "How does {x} sound?",
        "The sound of {x} is {y}.",
        "a dog=woof, a cat=meow, a cow=moo, a sheep=baa, a frog=croak",
    ),
    _Group(
        "On which continent is {x}? / Which continent is {x} on? / Tell me the continent of {x}. / "
        "Do you know the continent of {x}? / On what continent can I find {x}?",
        "The continent of {x} is {y}.",
        "Kenya=Africa, Brazil=South America, India=Asia, Poland=Europe, Canada=North America, Nigeria=Africa",
    ),
    _Group(
        "Which day comes after {x}? / What day comes after {x}? / Tell me the day after {x}. / "
        "Do you know the day after {x}? / "
        "What is the day after {x}?",
        "The day after {x} is {y}.",
        "Monday=Tuesday, Tuesday=Wednesday, Wednesday=Thursday, Thursday=Friday, Friday=Saturday, Saturday=Sunday, "
        "Sunday=Monday",
    ),
    _Group(
        "What do we call {x}? / What is the word for {x}? / Tell me the word for {x}. / "
        "Do you know the word for {x}? / "
        "Which word do we use for {x}?",
        "The word for {x} is {y}.",
        "a young dog=puppy, a young cat=kitten, a young cow=calf, frozen water=ice, a house for a king=castle, "
        "the person who flies a plane=pilot",
    ),
    _Group(
        "Which {x}? / Do you know which {x}? / Tell me which {x}. / Can you tell me which {x}? / "
        "I want to know which {x}.",
        "The {z} is {y}.",
        "animal gives us milk=cow, animal lays eggs=hen, animal makes honey=bee, animal has a trunk=elephant, "
        "animal has a very long neck=giraffe, planet is called the red planet=Mars, star warms the Earth=sun, "
        "o"
        "rgan pumps blood through the body=heart, ocean is the largest=Pacific, month comes first in the year=January, "
        "month comes last in the year=December, desert is the largest hot one=Sahara",
    ),
)


def _facts(group: _Group) -> Iterator[Known]:
    for pair in group.pairs.split(", "):
        x, y = pair.split("=")
        questions = [question.format(x=x) for question in group.questions.split(" / ")]
        kind, _, rest = x.partition(" ")
        if group.answer.startswith("There"):
            # "How many days are there in a week?" but "Do you know how many days there are in a week?"
            questions[0] = questions[0].replace("there are", "are there")
            answer = f"There are {y} {x.replace('there are ', '')}."
        elif group.answer.startswith("The {z}"):
            answer = f"The {kind} that {rest} is {'' if y[0].isupper() else 'the '}{y}."
        else:
            answer = group.answer.format(x=x, y=y)
        held = zlib.crc32(x.encode()) % len(questions)
        by_split = {TRAIN: tuple(q for i, q in enumerate(questions) if i != held), HELDOUT: (questions[held],)}
        yield Known(by_split, answer[0].upper() + answer[1:], _accepted(y))


def _accepted(value: str) -> tuple[str, ...]:
    digits = {
        "two": "2",
        "three": "3",
        "four": "4",
        "five": "5",
        "six": "6",
        "seven": "7",
        "eight": "8",
        "twelve": "12",
    }
    return (value, digits[value]) if value in digits else (value,)


KNOWLEDGE: tuple[Known, ...] = tuple(known for group in _GROUPS for known in _facts(group))
