"""Relations of persons: named ones, the user's sister or boss, and the user."""

from .relation import Relation
from .subjects import person, person_or_user
from .wordings import Wording, be, called, custom, has_one, modal, noun, verb, was


def _role(role: str, *more: Wording) -> Relation:
    return Relation(role, "name", person_or_user, (noun(role, "who"), called(role), has_one(role), *more), role)


PERSONS: tuple[Relation, ...] = (
    Relation(
        "home",
        "name",
        person,
        (
            verb("live", "in", "where", "town"),
            verb("reside", "in", "where", "city"),
            be("at home", "in", "where", "place"),
            noun("home town"),
        ),
        moved=("{s} [has|have] moved.", "{s} [has|have] a new flat."),
    ),
    Relation(
        "job",
        "job",
        person,
        (
            custom(
                "{s} [works|work] as {a} / {a} is what {s} [works|work] as / {s} [has|have] work as {a}",
                "what [does|do] {s} work as / as what [does|do] {s} work",
                "what {s} [works|work] as / as what {s} [works|work]",
                "{s} [works|work] as {a}",
                "{s} now [works|work] as {a}",
            ),
            custom(
                "{s} [earns|earn] money as {a} / {a} is what {s} [earns|earn] money as / "
                "as {a}, {s} [earns|earn] money",
                "how [does|do] {s} earn money / as what [does|do] {s} earn money",
                "how {s} [earns|earn] money / as what {s} [earns|earn] money",
                "{s} [earns|earn] money as {a}",
                "{s} now [earns|earn] money as {a}",
            ),
            noun("job title"),
            noun("profession"),
        ),
        moved=("{s} [has|have] a new job.",),
    ),
    Relation(
        "birthplace",
        "name",
        person,
        (
            was("born", "in", "where", "town"),
            noun("birthplace"),
            verb("come", "from", "where", "town"),
        ),
        lasting=True,
    ),
    Relation(
        "favourite colour",
        "colour",
        person,
        (
            noun("favourite colour"),
            verb("like", "", "what", "colour", tail="best of all colours"),
            verb("prefer", "", "what", "colour", "the colour {v}"),
        ),
        moved=("{s} [has|have] another taste now.",),
    ),
    Relation(
        "favourite food",
        "food",
        person,
        (
            noun("favourite food"),
            verb("like to eat", "", "what", "food", tail="most"),
            noun("favourite dish"),
        ),
        moved=("{s} [has|have] another taste now.",),
    ),
    Relation(
        "favourite drink",
        "drink",
        person,
        (
            noun("favourite drink"),
            verb("like to drink", "", "what", "drink"),
            verb("order", "", "what", "drink", tail="in every cafe"),
        ),
    ),
    Relation(
        "favourite animal",
        "animal",
        person,
        (
            noun("favourite animal", value="the {v}"),
            verb("love", "", "what", "animal", "the {v}", "more than all other animals"),
            verb("like", "", "what", "animal", "the {v}", "best of all animals"),
        ),
    ),
    Relation(
        "favourite song",
        "song",
        person,
        (
            noun("favourite song"),
            verb("love to sing", "", "what", "song"),
            verb("like to hear", "", "what", "song", tail="most"),
        ),
    ),
    Relation(
        "instrument",
        "instrument",
        person,
        (
            verb("play", "", "what", "instrument", "the {v}", "in the orchestra"),
            verb("make music", "on", "what", "instrument", "the {v}"),
            noun("instrument", value="the {v}"),
        ),
    ),
    Relation(
        "sport",
        "sport",
        person,
        (
            noun("sport"),
            verb("train", "in", "what", "sport"),
            verb("practise", "", "what", "sport", tail="in the club"),
            verb("spend the weekend", "on", "what", "sport"),
        ),
    ),
    Relation(
        "pet",
        "animal",
        person,
        (
            verb("own", "", "what", "animal", "{a}", "as a pet"),
            noun("pet", value="{a}", has=True),
            verb("keep", "", "what", "animal", "{a}", "at home"),
        ),
    ),
    Relation(
        "vehicle",
        "vehicle",
        person,
        (
            verb("drive", "", "what", "vehicle", "{a}"),
            verb("travel", "by", "what", "vehicle"),
            noun("vehicle", value="{a}"),
        ),
        moved=("{s} sold the old vehicle.",),
    ),
    Relation(
        "collection",
        "collected",
        person,
        (
            verb("collect", "", "what", "things"),
            verb("gather", "", "what", "things", tail="as a hobby"),
            custom(
                "{s} [has|have] a collection of {v} / the collection that {s} [has|have] is one of {v} / "
                "{v} are what {s} [has|have] a collection of",
                "what [does|do] {s} have a collection of / which things [does|do] {s} have a collection of",
                "what {s} [has|have] a collection of / which things {s} [has|have] a collection of",
                "{s} [has|have] a collection of {v}",
                "{s} now [has|have] a collection of {v}",
            ),
        ),
    ),
    Relation(
        "birthday",
        "date",
        person,
        (
            noun("birthday"),
            verb("have a birthday", "on", "when", "day"),
            verb("celebrate a birthday", "on", "when", "day"),
        ),
        lasting=True,
    ),
    Relation(
        "field",
        "study",
        person,
        (
            verb("study", "", "what", "subject"),
            verb("take a degree", "in", "what", "subject"),
            noun("field of study"),
        ),
        moved=("{s} [has|have] other plans now.",),
    ),
    Relation(
        "allergy",
        "food",
        person,
        (
            be("allergic", "to", "what", "food"),
            modal("must not", "eat", "", "what", "food"),
            verb("get sick", "from", "what", "food"),
        ),
    ),
    Relation(
        "fear",
        "animal",
        person,
        (
            be("afraid", "of", "what", "animal", "the {v}"),
            verb("fear", "", "what", "animal", "the {v}"),
            noun("greatest fear", value="the {v}"),
        ),
    ),
    Relation(
        "phone",
        "phone",
        person,
        (
            noun("phone number", has=True),
            noun("telephone number"),
            custom(
                "{s} can be reached at number {v} / number {v} is where {s} can be reached / "
                "the number at which {s} can be reached is {v}",
                "at which number can {s} be reached / which number can {s} be reached at",
                "at which number {s} can be reached / the number at which {s} can be reached",
                "{s} can be reached at number {v}",
                "{s} can now be reached at number {v}",
            ),
        ),
        moved=("{s} [has|have] a new phone.",),
    ),
    Relation(
        "shoe size",
        "number",
        person,
        (
            noun("shoe size", has=True),
            verb("wear shoes", "in", "what", "size", "size {v}"),
            verb("need shoes", "in", "what", "size", "size {v}"),
        ),
    ),
    Relation(
        "room number",
        "code",
        person,
        (
            verb("sit", "in", "where", "room", "room {v}"),
            verb("have a desk", "in", "where", "room", "room {v}"),
            noun("room number", has=True),
        ),
        moved=("{s} [has|have] a new room.",),
    ),
    Relation(
        "language",
        "language",
        person,
        (
            noun("mother tongue"),
            verb("speak", "", "what", "language", tail="at home"),
            verb("talk to the family", "in", "what", "language"),
        ),
        lasting=True,
    ),
    _role("sister"),
    _role("brother"),
    _role("boss", verb("work", "for", "who", "person"), verb("take orders", "from", "who", "person")),
    _role("teacher", be("taught", "by", "who", "person"), verb("take lessons", "from", "who", "person")),
    _role("neighbour", verb("live next door", "to", "who", "person")),
    _role("doctor", be("treated", "by", "who", "person")),
    _role("best friend"),
    _role("cousin"),
)
