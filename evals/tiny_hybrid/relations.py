"""All relations, and the ones that lead from one person to another."""

from .persons import PERSONS
from .relation import Relation
from .things import THINGS
from .undertakings import UNDERTAKINGS

RELATIONS: tuple[Relation, ...] = (*PERSONS, *THINGS, *UNDERTAKINGS)
BRIDGES: tuple[Relation, ...] = tuple(relation for relation in RELATIONS if relation.role)
SECOND_STEPS: tuple[Relation, ...] = tuple(relation for relation in PERSONS if not relation.role)
