"""Relations of things: the user's bike, the cellar door, an animal's name."""

from .relation import Relation
from .subjects import account, animal, any_thing, door, nameable, thing, vehicle
from .wordings import be, custom, noun, verb, was

_PAINT = ("{s} was painted.", "{s} [has|have] a new look.")

THINGS: tuple[Relation, ...] = (
    Relation(
        "colour",
        "colour",
        thing,
        (
            noun("colour", has=True),
            be("painted", "", "what", "colour"),
            verb("have", "", "what", "colour", "the colour {v}", "on the outside"),
            custom(
                "{s} is {v} / the colour in which {s} is painted is {v} / {v} is what {s} is painted in",
                "what colour is {s} / in which colour is {s}",
                "what colour {s} is / in which colour {s} is",
                "{s} is {v}",
                "{s} is now {v}",
            ),
        ),
        moved=_PAINT,
    ),
    Relation(
        "material",
        "material",
        thing,
        (
            be("made", "of", "what", "material"),
            noun("material"),
            verb("consist", "of", "what", "material"),
        ),
        lasting=True,
    ),
    Relation(
        "place",
        "place",
        thing,
        (
            be("kept", "", "where", "place"),
            be("hidden", "", "where", "place"),
            be("stored", "", "where", "place"),
            custom(
                "you can find {s} {v} / {v} is where you can find {s} / {s} can be found {v} / "
                "the place where {s} can be found is {v}",
                "where can I find {s} / where can {s} be found / in which place can I find {s}",
                "where I can find {s} / where {s} can be found / the place where {s} can be found",
                "you can find {s} {v} / {s} can be found {v}",
                "you can now find {s} {v} / {s} can now be found {v}",
            ),
        ),
        moved=("{s} was moved.", "I put {s} somewhere else."),
    ),
    Relation(
        "price",
        "euros",
        thing,
        (
            noun("price"),
            custom(
                "{s} costs {v} / {v} is how much {s} costs / the money that {s} costs is {v}",
                "how much does {s} cost / how much money does {s} cost",
                "how much {s} costs / how much money {s} costs",
                "{s} costs {v}",
                "{s} now costs {v}",
            ),
            custom(
                "{s} sells for {v} / {v} is how much {s} sells for / the price that {s} sells for is {v}",
                "how much does {s} sell for / which price does {s} sell for",
                "how much {s} sells for / which price {s} sells for",
                "{s} sells for {v}",
                "{s} now sells for {v}",
            ),
        ),
        moved=("The price has changed.",),
    ),
    Relation(
        "weight",
        "kilos",
        thing,
        (
            noun("weight", has=True),
            custom(
                "{s} weighs {v} / {v} is how much {s} weighs / the scale shows {v} for {s}",
                "how much does {s} weigh / what does {s} weigh",
                "how much {s} weighs / what {s} weighs",
                "{s} weighs {v}",
                "{s} now weighs {v}",
            ),
            custom(
                "{s} has a weight of {v} / {v} is how heavy {s} is / {s} is {v} in weight",
                "how heavy is {s} / what weight does {s} have",
                "how heavy {s} is / the weight that {s} has",
                "{s} has a weight of {v}",
                "{s} now has a weight of {v}",
            ),
        ),
        lasting=True,
    ),
    Relation(
        "capacity",
        "litres",
        vehicle,
        (
            noun("capacity", of="of the tank of"),
            custom(
                "{s} holds {v} of fuel / {v} of fuel is how much {s} holds / the fuel that {s} holds is {v}",
                "how much fuel does {s} hold / how many litres of fuel does {s} hold",
                "how much fuel {s} holds / how many litres of fuel {s} holds",
                "{s} holds {v} of fuel",
                "{s} now holds {v} of fuel",
            ),
            custom(
                "{s} has room for {v} of fuel / {v} of fuel is how much {s} has room for / "
                "there is room for {v} of fuel in {s}",
                "how much fuel does {s} have room for / how many litres of fuel does {s} have room for",
                "how much fuel {s} has room for / how many litres of fuel {s} has room for",
                "{s} has room for {v} of fuel",
                "{s} now has room for {v} of fuel",
            ),
        ),
        lasting=True,
    ),
    Relation(
        "origin",
        "name",
        thing,
        (
            was("made", "in", "where", "town"),
            was("built", "in", "where", "city"),
            verb("come", "from", "where", "town"),
        ),
        lasting=True,
    ),
    Relation(
        "brand",
        "name",
        thing,
        (
            noun("brand", has=True),
            noun("maker"),
            custom(
                "{s} is a product of the company {v} / {v} is the company that makes {s} / "
                "the company behind {s} is {v}",
                "which company makes {s} / which company is behind {s}",
                "which company makes {s} / which company is behind {s}",
                "{s} is a product of the company {v}",
                "{s} is now a product of the company {v}",
            ),
        ),
        lasting=True,
    ),
    Relation(
        "owner",
        "name",
        any_thing,
        (
            noun("owner", "who"),
            verb("belong", "to", "who", "person"),
            be("owned", "by", "who", "person"),
        ),
        role="owner",
        moved=("{s} was sold.",),
    ),
    Relation(
        "door code",
        "code",
        door,
        (
            noun("door code", has=True),
            verb("open", "with", "what", "number", "the number {v}"),
            noun("code", of="for"),
        ),
        moved=("The code was changed.", "{s} [has|have] a new lock."),
    ),
    Relation(
        "password",
        "password",
        account,
        (
            noun("password", of="for"),
            noun("password"),
            noun("secret word"),
            custom(
                "{s} opens with the password {v} / the word that unlocks {s} is {v} / you unlock {s} with {v}",
                "which word unlocks {s} / with which password does {s} open",
                "which word unlocks {s} / with which password {s} opens",
                "the word that unlocks {s} is {v}",
                "the word that unlocks {s} is now {v}",
            ),
        ),
        moved=("The password was changed.",),
    ),
    Relation(
        "name",
        "name",
        nameable,
        (
            custom(
                "{s} is called {v} / {v} is what {s} is called / people call {s} {v}",
                "what is {s} called / what do we call {s}",
                "what {s} is called / what we call {s}",
                "{s} is called {v}",
                "{s} is now called {v}",
            ),
            noun("name", has=True),
            custom(
                "{s} goes by the name {v} / {v} is the name that {s} goes by / the name that {s} goes by is {v}",
                "by which name does {s} go / which name does {s} go by",
                "by which name {s} goes / which name {s} goes by",
                "{s} goes by the name {v}",
                "{s} now goes by the name {v}",
            ),
        ),
        moved=("{s} [has|have] a new name.",),
    ),
    Relation(
        "pet name",
        "name",
        animal,
        (
            custom(
                "{s} is named {v} / {v} is what {s} is named / we have named {s} {v}",
                "what is {s} named / by which name do we call {s}",
                "what {s} is named / by which name we call {s}",
                "{s} is named {v}",
                "{s} is now named {v}",
            ),
            noun("name", has=True),
            verb("listen", "to", "what", "name", "the name {v}"),
        ),
    ),
    Relation(
        "feed",
        "food",
        animal,
        (
            verb("eat", "", "what", "food", tail="every morning"),
            be("fed", "with", "what", "food"),
            noun("feed"),
        ),
        moved=("{s} was sick for a week.",),
    ),
)
