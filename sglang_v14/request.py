"""What the memory knows of one request, from its arrival to its last token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from .events import Span
from .hooks.recurrent_layers import RecurrentInputs
from .hooks.recurrent_state import States
from .options import RequestMemory
from .placed import PlacedEvents
from .prompt import PromptPlan
from .reading import Heard
from .recall import NOTHING, Decision

# Recall is reconsidered after this many generated tokens, and whenever their number has doubled.
FIRST_RECONSIDERED = 32


@dataclass(slots=True)
class MemoryRequest:
    """State of one request.

    `sees_from` is the first token that attends to the recalled events, `shift` how far it and all later tokens are
    moved to make room for them. Of a hybrid, `recurrent` holds what its recurrent layers do with the tokens from
    `recurrent_from` on, until the prompt was read; `states` are those at its token `begin`, from which on it is read
    again, and `clean_states` the same without the recall.
    """

    memory: RequestMemory
    token_ids: Sequence[int]
    plan: PromptPlan
    new_events: tuple[Span, ...]
    asking: Tensor
    heard: list[Heard] = field(default_factory=list)
    was_read: bool = False
    decision: Decision = NOTHING
    placed: PlacedEvents | None = None
    sees_from: int = 0
    shift: int = 0
    readings: int = 1
    clean_tokens: int | None = None
    generated: int = 0
    reconsider_at: int = FIRST_RECONSIDERED
    report: dict[str, Any] | None = None
    recurrent: dict[int, list[RecurrentInputs]] = field(default_factory=dict)
    recurrent_from: int | None = None
    clean_states: States | None = None
    states: States | None = None
    begin: int = 0

    @property
    def prefix_limit(self) -> int | None:
        """How much of the prompt may come from the prefix cache: nothing whose queries or keys are wanted."""
        limits = []
        if self.memory.reads:
            limits.append(self.plan.reread_from)
        if self.new_events:
            limits.append(self.new_events[0].start)
        return min(limits, default=None)

    @property
    def insert_limit(self) -> int | None:
        """How much of the request may enter the prefix cache: nothing that was, or may yet be, computed under a
        recall."""
        if self.memory.reads and not self.was_read:
            return self.plan.reread_from
        return self.clean_tokens

    @property
    def listens(self) -> bool:
        """Whether the next generated token's queries will be asked with when recall is reconsidered."""
        return self.memory.reads and self.reconsider_at - self.generated <= FIRST_RECONSIDERED

    def forget_recall(self) -> None:
        """Go on as if nothing had been recalled."""
        self.decision, self.placed, self.shift, self.states = NOTHING, None, 0, None
