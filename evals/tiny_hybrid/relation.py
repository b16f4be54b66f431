"""What a relation is: who it is about, what kind of value it has and how it is worded."""

from dataclasses import dataclass

from .subjects import Draw
from .wordings import Wording


@dataclass(frozen=True)
class Relation:
    """`role` is set where the value is a person who can be spoken of as "the {role} of ..."; `lasting` cannot change.

    `moved` are sentences that may stand in front of a correction.
    """

    key: str
    value: str
    subject: Draw
    wordings: tuple[Wording, ...]
    role: str = ""
    lasting: bool = False
    moved: tuple[str, ...] = ()
