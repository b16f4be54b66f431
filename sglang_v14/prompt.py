"""A prompt as the memory sees it: what of it is content, which events it makes, and from where it is read again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from .content import find_messages
from .events import Span, cut
from .options import MemoryOptions

# A raw completion's first tokens are attention sinks, whatever they say.
RAW_SINK_TOKENS = 4
_NEVER_CONTENT = frozenset({"system"})


@dataclass(frozen=True, slots=True)
class PromptPlan:
    """`events` are the prompt's content in the order of its tokens.

    The last turn is what was said since the assistant last spoke. `reread_from` is the first token that a recall may
    reach: the beginning of the last turn, or of its last `reread_tokens` tokens. `voting` holds the tokens whose
    queries vote.
    """

    length: int
    events: tuple[Span, ...]
    turn_start: int
    reread_from: int
    voting: range | tuple[int, ...]


class PromptReader:
    """Plans prompts by the markers of a model directory."""

    def __init__(self, options: MemoryOptions) -> None:
        self._options = options
        self._markers: Mapping[str, Any] = msgspec.to_builtins(options.markers)
        self._not_content = _NEVER_CONTENT if options.remember_assistant else _NEVER_CONTENT | {"assistant"}

    def plan(self, token_ids: Sequence[int]) -> PromptPlan:
        """Without any message in it, a prompt is raw text: content but for its first tokens."""
        length = len(token_ids)
        messages = find_messages(token_ids, self._markers) if self._markers else []
        if not messages:
            raw = [("text", RAW_SINK_TOKENS, length)] if length > RAW_SINK_TOKENS else []
            return self._planned(token_ids, raw, raw)
        content = [tuple(m) for m in messages if m.role not in self._not_content]
        answered = max((m.end for m in messages if m.role == "assistant"), default=0)
        turn = [tuple(m) for m in messages if m.role not in {"system", "assistant"} and m.start >= answered]
        if not turn:
            # The assistant's own words are to be continued: the turn is what they answer.
            turn = [tuple(m) for m in messages if m.role not in {"system", "assistant"}][-1:]
        return self._planned(token_ids, content, turn)

    def _planned(self, token_ids: Sequence[int], content: list[Any], turn: list[Any]) -> PromptPlan:
        length, options = len(token_ids), self._options
        events = tuple(cut(token_ids, content, options.event_tokens, options.sentence_ends))
        if not turn:
            return PromptPlan(length, events, length, length, ())
        turn_start = turn[0][1]
        reread_from = max(turn_start, length - options.reread_tokens)
        voting = [t for _, start, end in turn for t in range(max(start, reread_from), end)]
        return PromptPlan(length, events, turn_start, reread_from, tuple(voting[-options.vote_tokens :]))
