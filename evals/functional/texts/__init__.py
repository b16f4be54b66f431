"""What the suite tells and asks."""

from collections.abc import Callable

import msgspec

from .chatter import CHATTER
from .corrections import CORRECTIONS, Correction
from .documents import harbour_log
from .facts import FACTS, Fact
from .tenants import TENANTS, Tenants
from .two_steps import TWO_STEPS, TwoStep
from .unrelated import UNRELATED, Unrelated


class Texts(msgspec.Struct, frozen=True):
    """One set of texts. No value stands in the text of another item.

    `document(tokens, seed, sentence)` gives a text of about so many tokens with the sentence in its middle; the same
    seed gives the same text.
    """

    facts: tuple[Fact, ...]
    corrections: tuple[Correction, ...]
    two_steps: tuple[TwoStep, ...]
    unrelated: tuple[Unrelated, ...]
    tenants: tuple[Tenants, ...]
    chatter: tuple[str, ...]
    document: Callable[[int, int, str | None], str]


ENGLISH = Texts(FACTS, CORRECTIONS, TWO_STEPS, UNRELATED, TENANTS, CHATTER, harbour_log)
