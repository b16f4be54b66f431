"""Finds a chat template's marker tokens by rendering sentinel messages through it.

A chat is rendered several times, each time with one message's text replaced by another sentinel. The tokens before
the text that are the same in every rendering are always the template's, and so are the tokens behind it: no offsets
and no reading of the template's source. The tokens between two texts are then divided into the first role's end and
the second's start.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sglang_v14.content import find_messages

Marker = dict[str, list[int]]
Chat = tuple[tuple[str, str], ...]

# Different first and last characters: letters of both cases, digits, punctuation, symbols, other scripts. White space
# at the edges is left to `find_messages`, since a text that begins or ends with it is rare and some templates strip
# it.
SENTINELS = (
    "Maple drifts over water",
    "teal lantern Q",
    "7 of 19",
    "(a) quoted?",
    '"Birds!"',
    "- point.",
    "über café",
    "水曜日。",
    "<b>bold</b>",
    "*stars*",
)
ROLES = ("user", "assistant", "system", "tool")
_SHAPES: tuple[tuple[str, ...], ...] = (
    ("user",),
    ("user", "assistant"),
    ("user", "assistant", "user"),
    ("user", "assistant", "user", "assistant", "user"),
    ("system", "user"),
    ("system", "user", "assistant", "user"),
    ("user", "call", "tool"),
    ("user", "call", "tool", "tool"),
    ("user", "call", "tool", "assistant", "user"),
)
_BASE_TEXTS = ("plum seven", "iron kettle", "grey owls", "wide river", "soft chalk")


class Template:
    """A tokenizer's chat template, rendered to token ids as a server renders it."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        template = getattr(tokenizer, "chat_template", None)
        if isinstance(template, dict):
            template = template.get("default")
        self.source: str | None = template or None

    def render(self, chat: Chat, ask: bool = False) -> list[int] | None:
        """Token ids of the chat, or None when the template refuses it; `ask` adds the prompt for an answer."""
        if self.source is None:
            return None
        messages: list[dict[str, Any]] = []
        for number, (role, text) in enumerate(chat):
            if role == "call":
                call = {"type": "function", "function": {"name": "look", "arguments": {"n": number}}}
                messages.append({"role": "assistant", "content": text, "tool_calls": [{"id": "a1b2c3d4e", **call}]})
            elif role == "tool":
                messages.append({"role": "tool", "name": "look", "tool_call_id": "a1b2c3d4e", "content": text})
            else:
                messages.append({"role": role, "content": text})
        try:
            text = self._tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=ask)
        # A template is a program of the checkpoint's author: whatever it raises means that it does not take this chat.
        except Exception:
            return None
        return list(self._tokenizer(text, add_special_tokens=False).input_ids)

    def knows(self, role: str) -> bool:
        """Whether the template has a form of its own for the role; only `tool` is not in every template."""
        return role != "tool" or re.search(r"""["']tool["']""", self.source or "") is not None

    def around_user_text(self) -> tuple[list[int], list[int]] | None:
        """The tokens before and behind the user's text in a chat of one message; None when it cannot be rendered."""
        probe = _Probe(self, ("user",), ask=True)
        return (probe.gaps()[0], probe.gaps()[1]) if probe.usable else None


class _Probe:
    """One chat's tokens and where the text of each of its messages stands in them."""

    def __init__(self, template: Template, roles: Sequence[str], ask: bool) -> None:
        self.roles = roles
        self.ask = ask
        self.chat: Chat = tuple((role, _BASE_TEXTS[number]) for number, role in enumerate(roles))
        base = template.render(self.chat, ask)
        self.tokens: list[int] = base or []
        self.spans: list[tuple[int, int]] = []
        self.usable = base is not None
        for number in range(len(roles)) if self.usable else ():
            renderings = [self.tokens]
            for sentinel in SENTINELS:
                changed = (*self.chat[:number], (roles[number], sentinel), *self.chat[number + 1 :])
                rendering = template.render(changed, ask)
                if rendering is not None:
                    renderings.append(rendering)
            before, behind = len(_common_prefix(renderings)), len(_common_suffix(renderings))
            # All renderings alike: the template does not show this message (a dropped system or tool message).
            self.usable = self.usable and len(renderings) > 1 and before < len(self.tokens)
            self.spans.append((before, len(self.tokens) - behind))
        starts_and_ends = [edge for span in self.spans for edge in span]
        self.usable = self.usable and starts_and_ends == sorted(starts_and_ends)

    def gaps(self) -> list[list[int]]:
        """The template's tokens before the first text, between the texts, and behind the last."""
        edges = [0, *(edge for span in self.spans for edge in span), len(self.tokens)]
        return [self.tokens[edges[i] : edges[i + 1]] for i in range(0, len(edges), 2)]


def find_markers(tokenizer: Any) -> tuple[dict[str, Marker], list[int]]:
    """The `markers` and `begin` of the memory options for a tokenizer with its chat template.

    Without a chat template the markers are empty and `begin` holds the tokens that the tokenizer itself puts first.
    Roles that the template does not know, or whose messages cannot be told from another role's, are left out.
    """
    template = Template(tokenizer)
    if template.source is None:
        bare = [list(tokenizer(text).input_ids) for text in SENTINELS]
        return {}, _common_prefix(bare)
    probes = [_Probe(template, shape, ask) for shape in _SHAPES for ask in (False, True)]
    probes = [probe for probe in probes if probe.usable and all(template.knows(role) for role in probe.roles)]
    starts = {role: _without_opening(_start(role, probes), probes) for role in ROLES}
    markers: dict[str, Marker] = {}
    for role in ROLES:
        if not starts[role]:
            continue
        candidate = {**markers, role: {"start": starts[role], "end": _end(role, probes, starts)}}
        if all(_recovers(candidate, probe) for probe in probes if set(probe.roles) <= {*candidate, "call"}):
            markers = candidate
    return {role: markers[role] for role in ("system", *ROLES) if role in markers}, _begin(markers, probes)


def _without_opening(start: list[int], probes: Sequence[_Probe]) -> list[int]:
    """A role that only ever comes first (system) has the prompt's BOS in its start: taken off, if anything is left."""
    first_user = next((probe.gaps()[0] for probe in probes if probe.roles == ("user",)), [])
    user = _start("user", probes)
    opening = _common_prefix([first_user[: len(first_user) - len(user)], *(probe.tokens for probe in probes)])
    return start[len(opening) :] or start if _begins(start, opening) else start


def _start(role: str, probes: Sequence[_Probe]) -> list[int]:
    """The tokens right before every text of the role, without what the message before it ends with."""
    whole, own = [], []
    for probe in probes:
        for number, (name, gap) in enumerate(zip(probe.roles, probe.gaps()[:-1], strict=True)):
            if name == role:
                tail = _tail(probe.roles[number - 1], probes) if number else []
                whole.append(gap)
                own.append(gap[len(tail) :] if _begins(gap, tail) else gap)
    return _agreed(own, _common_suffix) or _agreed(whole, _common_suffix)


def _end(role: str, probes: Sequence[_Probe], starts: Mapping[str, list[int]]) -> list[int]:
    """The tokens right behind every text of the role, without the next message's start where something else is left."""
    ends = [_tail(role, probes)]
    for probe in probes:
        following = [*probe.roles[1:], "assistant"]
        for name, next_role, gap in zip(probe.roles, following, probe.gaps()[1:], strict=True):
            start = starts.get(next_role, [])
            if name == role:
                ends.append(gap[: -len(start)] if start and gap[-len(start) :] == start else gap)
                ends.append(gap)
    return _agreed([end for end in ends if end], _common_prefix)


def _tail(role: str, probes: Sequence[_Probe]) -> list[int]:
    """What the template puts behind a last text of the role, as far as it also stands behind others."""
    last = [probe.gaps()[-1] for probe in probes if probe.roles[-1] == role and not probe.ask]
    inside = [
        gap for probe in probes for name, gap in zip(probe.roles, probe.gaps()[1:], strict=True) if name == role and gap
    ]
    return _common_prefix([*last, *inside]) if last else []


def _agreed(sequences: Sequence[list[int]], common: Callable[[Sequence[list[int]]], list[int]]) -> list[int]:
    """What the sequences have in common, passing over those that would leave nothing.

    The first ones count most: a template that puts the system text into the first user turn has no common start for
    both.
    """
    agreed: list[int] = []
    for sequence in sequences:
        both = common([agreed, sequence]) if agreed else sequence
        if both:
            agreed = list(both)
    return agreed


def _recovers(markers: dict[str, Marker], probe: _Probe) -> bool:
    """Whether the markers find the probe's messages, each in its own span."""
    known = [(role, span) for role, span in zip(probe.roles, probe.spans, strict=True) if role in markers]
    found = [message for message in find_messages(probe.tokens, markers)]
    for role, (start, end) in known:
        if not any(message.role == role and message.start <= start and end <= message.end for message in found):
            return False
    texts = [span for _, span in known]
    return all(sum(message.start < end and start < message.end for start, end in texts) <= 1 for message in found)


def _begin(markers: dict[str, Marker], probes: Sequence[_Probe]) -> list[int]:
    """The tokens that start every chat, up to the first role's start (BOS, as a rule)."""
    begin = _common_prefix([probe.tokens for probe in probes])
    for position in range(len(begin)):
        rest = [probe.tokens[position:] for probe in probes]
        if any(_begins(tokens, marker["start"]) for tokens in rest for marker in markers.values()):
            return begin[:position]
    return begin


def _begins(tokens: Sequence[int], prefix: Sequence[int]) -> bool:
    return list(tokens[: len(prefix)]) == list(prefix)


def _common_prefix(sequences: Iterable[Sequence[int]]) -> list[int]:
    prefix: list[int] = []
    for tokens in zip(*sequences, strict=False):
        if len(set(tokens)) != 1:
            break
        prefix.append(tokens[0])
    return prefix


def _common_suffix(sequences: Iterable[Sequence[int]]) -> list[int]:
    return _common_prefix([list(reversed(sequence)) for sequence in sequences])[::-1]
