"""Relations of what people undertake: the ship Norvala, project Tarn, the meeting on Monday, the train to Oslin."""

from .relation import Relation
from .subjects import event, project, ride, ship, task
from .wordings import be, called, custom, modal, noun, verb

UNDERTAKINGS: tuple[Relation, ...] = (
    Relation(
        "captain",
        "name",
        ship,
        (
            noun("captain", "who"),
            called("captain"),
            be("under the command", "of", "who", "person"),
            verb("sail", "under", "who", "captain"),
        ),
        role="captain",
    ),
    Relation(
        "destination",
        "name",
        ship,
        (
            noun("destination"),
            verb("sail", "to", "where", "port"),
            be("on the way", "to", "where", "port"),
        ),
        moved=("The plan has changed.",),
    ),
    Relation(
        "cargo",
        "cargo",
        ship,
        (
            noun("cargo"),
            verb("carry", "", "what", "cargo"),
            be("loaded", "with", "what", "cargo"),
        ),
        moved=("The cargo was changed.",),
    ),
    Relation(
        "berth",
        "number",
        ship,
        (
            verb("lie", "at", "where", "berth", "berth {v}"),
            noun("berth number"),
            be("in the harbour", "at", "where", "berth", "berth {v}"),
        ),
    ),
    Relation(
        "leader",
        "name",
        project,
        (
            noun("leader", "who"),
            called("leader"),
            be("led", "by", "who", "person"),
            be("run", "by", "who", "person"),
        ),
        role="leader",
    ),
    Relation(
        "deadline",
        "date",
        task,
        (
            noun("deadline"),
            modal("must", "be finished", "by", "when", "day"),
            be("due", "on", "when", "day"),
        ),
        moved=("The plan has changed.",),
    ),
    Relation(
        "budget",
        "euros",
        task,
        (
            noun("budget"),
            custom(
                "{s} may cost {v} / {v} is how much {s} may cost / the money that {s} may cost is {v}",
                "how much may {s} cost / how much money may {s} cost",
                "how much {s} may cost / how much money {s} may cost",
                "{s} may cost {v}",
                "{s} may now cost {v}",
            ),
            custom(
                "{s} can spend {v} / {v} is how much {s} can spend / the money that {s} can spend is {v}",
                "how much can {s} spend / how much money can {s} spend",
                "how much {s} can spend / how much money {s} can spend",
                "{s} can spend {v}",
                "{s} can now spend {v}",
            ),
        ),
    ),
    Relation(
        "start",
        "time",
        event,
        (
            verb("start", "at", "when", "time"),
            verb("begin", "at", "when", "hour"),
            noun("start", "when"),
        ),
        moved=("The plan has changed.", "{s} was moved."),
    ),
    Relation(
        "venue",
        "room",
        event,
        (
            verb("take place", "in", "where", "room"),
            be("held", "in", "where", "place"),
            noun("place"),
        ),
        moved=("The plan has changed.", "{s} was moved."),
    ),
    Relation(
        "host",
        "name",
        event,
        (
            noun("host", "who"),
            be("organised", "by", "who", "person"),
            be("planned", "by", "who", "person"),
        ),
        role="host",
    ),
    Relation(
        "guests",
        "number",
        event,
        (
            custom(
                "there are {v} guests for {s} / {v} is the number of guests for {s} / "
                "the number of guests for {s} is {v}",
                "how many guests are there for {s} / what is the number of guests for {s}",
                "how many guests there are for {s} / the number of guests for {s}",
                "there are {v} guests for {s}",
                "there are now {v} guests for {s}",
            ),
            custom(
                "{s} has {v} guests / {v} is the number of guests that {s} has / "
                "the number of guests that {s} has is {v}",
                "how many guests does {s} have / what is the number of guests that {s} has",
                "how many guests {s} has / the number of guests that {s} has",
                "{s} has {v} guests",
                "{s} now has {v} guests",
            ),
            custom(
                "{v} people come to {s} / the people who come to {s} are {v} in number / for {s} we expect {v} people",
                "how many people come to {s} / how many people do we expect for {s}",
                "how many people come to {s} / how many people we expect for {s}",
                "{v} people come to {s}",
                "{v} people now come to {s}",
            ),
        ),
    ),
    Relation(
        "departure",
        "time",
        ride,
        (
            verb("leave", "at", "when", "time"),
            verb("depart", "at", "when", "time"),
            noun("departure", "when"),
        ),
        moved=("The timetable has changed.",),
    ),
    Relation(
        "platform",
        "number",
        ride,
        (
            verb("stop", "at", "where", "platform", "platform {v}"),
            noun("platform"),
            verb("wait", "at", "where", "platform", "platform {v}"),
        ),
        moved=("The timetable has changed.",),
    ),
    Relation(
        "length",
        "number",
        ride,
        (
            custom(
                "{s} takes {v} minutes / {v} minutes is how long {s} takes / the time that {s} takes is {v} minutes",
                "how long does {s} take / how many minutes does {s} take",
                "how long {s} takes / how many minutes {s} takes",
                "{s} takes {v} minutes",
                "{s} now takes {v} minutes",
            ),
            custom(
                "{s} needs {v} minutes / {v} minutes is how long {s} needs / the time that {s} needs is {v} minutes",
                "how long does {s} need / how many minutes does {s} need",
                "how long {s} needs / how many minutes {s} needs",
                "{s} needs {v} minutes",
                "{s} now needs {v} minutes",
            ),
            custom(
                "{s} is on the way for {v} minutes / {v} minutes is how long {s} is on the way / "
                "the time that {s} is on the way is {v} minutes",
                "how long is {s} on the way / how many minutes is {s} on the way",
                "how long {s} is on the way / how many minutes {s} is on the way",
                "{s} is on the way for {v} minutes",
                "{s} is now on the way for {v} minutes",
            ),
        ),
        lasting=True,
    ),
)
