"""The resident index: what of a namespace's events is needed for voting."""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from .heads import VotingHeads
from .vote import margins, total_lse, votes


@dataclass(slots=True)
class Entry:
    """An event in the index. `queries` `[tokens, heads, dim]` (not rotated) and `lse_own` `[heads, tokens]` are its
    own cue."""

    id: bytes
    namespace: str
    token_ids: tuple[int, ...]
    role: str
    created_at: float
    keys: Tensor
    queries: Tensor | None = None
    lse_own: Tensor | None = None
    packed: bytes = field(init=False)

    def __post_init__(self) -> None:
        self.packed = pack(self.token_ids)


def pack(token_ids: Sequence[int]) -> bytes:
    """Token ids as bytes in which a run of tokens is a run of bytes."""
    return struct.pack(f"<{len(token_ids)}i", *token_ids)


def stands_in(packed: bytes, text: bytes) -> bool:
    """Whether the packed tokens are a run of the packed `text`."""
    at = text.find(packed)
    while at >= 0 and at % 4:
        at = text.find(packed, at + 1)
    return at >= 0


@dataclass(frozen=True, slots=True)
class Cue:
    """Queries that ask the memory: `[tokens, heads, dim]`, not rotated, to stand at `positions` `[tokens]` behind the
    events.

    `lse_own` `[heads, tokens]` is their attention to what they were read with.
    """

    queries: Tensor
    lse_own: Tensor
    positions: Tensor


class Bank:
    """Neutral texts that compete in every vote: their token ids, one text behind the other, keys `[tokens, key_rows,
    dim]`, not rotated, and the texts' lengths."""

    def __init__(self, heads: VotingHeads, token_ids: Sequence[int], keys: Tensor, lengths: Sequence[int]) -> None:
        self._keys = torch.cat([_placed(heads, text) for text in keys.float().split(list(lengths))], dim=1)
        self._heads, self._texts = heads, len(lengths)
        self._texts_with: Counter[int] = Counter()
        first = 0
        for length in lengths:
            self._texts_with.update(set(token_ids[first : first + length]))
            first += length

    def weight(self, token: int) -> float:
        """How much a token says: its inverse document frequency over the bank (Spärck Jones 1972), smoothed."""
        return math.log((1 + self._texts) / (1 + self._texts_with[token]))

    def lse(self, queries: Tensor) -> Tensor:
        """The attention `[heads, tokens]` that rotated queries pay to the whole bank."""
        return total_lse(queries, self._keys, self._heads.key_row, self._heads.scale)


class Index:
    """The events of one namespace, in the order in which they were added."""

    def __init__(self, heads: VotingHeads, bank: Bank | None = None) -> None:
        self._heads, self._bank = heads, bank
        self.entries: list[Entry] = []
        self._by_id: dict[bytes, int] = {}
        self._by_text: dict[bytes, list[int]] = {}
        self._keys = torch.empty(len(heads.key_rows), 0, heads.dim)
        self._event_of_key = torch.empty(0, dtype=torch.long)
        self._used = 0

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, event_id: bytes) -> bool:
        return event_id in self._by_id

    def entry(self, event_id: bytes) -> Entry | None:
        number = self._by_id.get(event_id)
        return None if number is None else self.entries[number]

    def told_at(self, packed: bytes) -> float | None:
        """When a text was told last, whatever the conversation; None if it never was."""
        same = self._by_text.get(packed)
        return max(self.entries[number].created_at for number in same) if same else None

    def add(self, entries: Iterable[Entry]) -> None:
        """Add events; one that is there already keeps its keys and takes the newer time."""
        for entry in entries:
            if (known := self.entry(entry.id)) is not None:
                known.created_at = max(known.created_at, entry.created_at)
                continue
            keys = _placed(self._heads, entry.keys.float())
            end = self._used + keys.shape[1]
            if end > self._keys.shape[1]:
                self._grow(end)
            self._keys[:, self._used : end] = keys
            self._event_of_key[self._used : end] = len(self.entries)
            self._used = end
            self._by_id[entry.id] = len(self.entries)
            self._by_text.setdefault(entry.packed, []).append(len(self.entries))
            self.entries.append(entry)

    def _grow(self, least: int) -> None:
        rows, room, dim = self._keys.shape
        room = max(least, 2 * room, 1024)
        keys, event_of_key = self._keys.new_empty(rows, room, dim), self._event_of_key.new_empty(room)
        keys[:, : self._used] = self._keys[:, : self._used]
        event_of_key[: self._used] = self._event_of_key[: self._used]
        self._keys, self._event_of_key = keys, event_of_key

    def discard(self, event_ids: Iterable[bytes]) -> None:
        """Forget events."""
        gone = set(event_ids) & self._by_id.keys()
        if not gone:
            return
        kept = [entry for entry in self.entries if entry.id not in gone]
        self.entries, self._by_id, self._by_text, self._used = [], {}, {}, 0
        self.add(kept)

    def votes(self, cue: Cue, top_heads: int, bank_bias: float = 0.0) -> Tensor:
        """Every event's vote `[events]` for a cue; `bank_bias` in nats weighs the bank against it. See `vote`."""
        heads = self._heads
        queries = heads.rope.apply(cue.queries.float(), cue.positions)
        rest = cue.lse_own.float()
        if self._bank is not None:
            rest = torch.logaddexp(rest, self._bank.lse(queries) + bank_bias)
        keys, event_of_key = self._keys[:, : self._used], self._event_of_key[: self._used]
        margin = margins(queries, keys, heads.key_row, event_of_key, len(self.entries), rest, heads.scale)
        return votes(margin, top_heads)

    def overlap(self, a: Entry, b: Entry) -> float:
        """How much of what the shorter event says the other one says too: 0 to 1, tokens weighed by what they say."""
        smaller = min(set(a.token_ids), set(b.token_ids), key=self._says)
        return self.share(b if smaller == set(a.token_ids) else a, smaller)

    def share(self, entry: Entry, tokens: set[int]) -> float:
        """How much of what `tokens` say the event says: 0 to 1."""
        whole = self._says(tokens)
        return self._says(tokens & set(entry.token_ids)) / whole if whole > 0 else 0.0

    def _says(self, tokens: set[int]) -> float:
        return float(len(tokens)) if self._bank is None else sum(map(self._bank.weight, tokens))


def _placed(heads: VotingHeads, keys: Tensor) -> Tensor:
    """Keys `[tokens, key_rows, dim]` as `[key_rows, tokens, dim]`, rotated to just before a prompt that begins at
    position 0."""
    return heads.rope.apply(keys, torch.arange(-keys.shape[0], 0)).transpose(0, 1)
