"""The episodic memory of one model: what is read, remembered and recalled."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import torch
import xxhash
from torch import Tensor

from memory_store import BackgroundWriter, Event, EventStore, StoreError, Ticket

from .engrams.engram import EngramForm
from .engrams.gated_delta import transition
from .events import Span
from .heads import VotingHeads
from .hooks.model_view import ModelView
from .hooks.recurrent_layers import RecurrentInputs
from .hooks.recurrent_state import States
from .index import Bank, Cue, Entry, Index, pack
from .options import MemoryOptions, RequestMemory
from .placed import EventBody, PlacedEvents
from .prompt import PromptPlan, PromptReader
from .reading import Heard
from .recall import Decision, Recalled, bias_of, decide
from .remember import Snapshot, entry_of, events_of, storage_dtype, window_behind
from .request import MemoryRequest
from .rope import NoRope, Rope

logger = logging.getLogger("sglang_v14")

MAX_QUEUED_BYTES = 4 << 30
# The vote looks at a long turn's later tokens as if they stood this near to its beginning: matching fades with
# distance.
_FARTHEST_VOTE = 64


class EpisodicMemory:
    """Joins a store, its resident index and the model."""

    def __init__(
        self,
        view: ModelView,
        options: MemoryOptions,
        store: EventStore,
        bank: Callable[[VotingHeads], Bank | None],
        *,
        max_recalled_tokens: int,
    ) -> None:
        self.view, self.options, self.store = view, options, store
        self.ropes: dict[int, Rope | NoRope] = _ropes(view)
        self.heads = VotingHeads(options.voting_heads, dict(view.layers), self.ropes)
        self.max_recalled_tokens = max_recalled_tokens
        self.engram_form = EngramForm(
            options.engram_rank,
            options.engram_components,
            options.engram_dtype,
            options.engram_carry_rank,
            options.engram_convolution,
        )
        self._bank = bank(self.heads)
        self._prompts = PromptReader(options)
        self._indexes: dict[str, Index] = {}
        self._written: deque[Event] = deque()
        self._queued: dict[tuple[str, bytes], Ticket] = {}
        self._broken: set[type[Exception]] = set()
        self.writer = BackgroundWriter(store, MAX_QUEUED_BYTES, on_written=self._written.extend)

    # Requests

    def expect(self, memory: RequestMemory, token_ids: Sequence[int]) -> MemoryRequest | None:
        """Plan a request; None when the memory has nothing to do with it, or cannot be reached."""
        try:
            index = self.index(memory.namespace)
        except StoreError as error:
            self._report_broken(error)
            return None
        plan = self._prompts.plan(token_ids)
        new = ()
        if memory.writes:
            new = tuple(span for span in plan.events if self._is_new(memory.namespace, index, plan, span, token_ids))
            self._tell_again(
                memory.namespace, [s.id for s in plan.events if s.start >= plan.turn_start and s.id in index]
            )
        asking = {t for span in new for t in range(span.start, span.end)}
        if memory.reads:
            asking.update(plan.voting)
        if not asking:
            return None
        return MemoryRequest(memory, token_ids, plan, new, torch.tensor(sorted(asking)))

    def _is_new(self, namespace: str, index: Index, plan: PromptPlan, span: Span, token_ids: Sequence[int]) -> bool:
        if span.id in index or self._is_queued(namespace, span.id):
            return False
        # A client that cuts its history, or changes something in it, does not tell all the rest of it again.
        again = span.start < plan.turn_start and index.told_at(pack(token_ids[span.start : span.end])) is not None
        return not again

    def _is_queued(self, namespace: str, event_id: bytes) -> bool:
        ticket = self._queued.get((namespace, event_id))
        return ticket is not None and not ticket.done

    def _tell_again(self, namespace: str, ids: list[bytes]) -> None:
        if not ids:
            return
        now = time.time()
        for event_id in ids:
            if (entry := self._indexes[namespace].entry(event_id)) is not None:
                entry.created_at = now
        self.writer.call(lambda: self.store.refresh(namespace, ids, now))

    def index(self, namespace: str) -> Index:
        """The namespace's events, with all that were written until now. Raises `StoreError` when they cannot be
        read."""
        while self._written:
            event = self._written.popleft()
            self._queued.pop((event.namespace, event.id), None)
            if event.namespace in self._indexes and (entry := entry_of(event, self.heads)) is not None:
                self._indexes[event.namespace].add([entry])
        if namespace not in self._indexes:
            index = Index(self.heads, self._bank)
            entries = [
                entry for head in self.store.heads(namespace) if (entry := self._entry(namespace, head)) is not None
            ]
            index.add(sorted(entries, key=lambda entry: entry.created_at))
            self._indexes[namespace] = index
        return self._indexes[namespace]

    def _entry(self, namespace: str, head: Any) -> Entry | None:
        if (entry := entry_of(head, self.heads)) is not None:
            return entry
        try:
            return entry_of(head, self.heads, self.store.body(namespace, head.id))
        except (StoreError, KeyError) as error:
            self._report_broken(error)
            return None

    # Remembering

    def remember(self, request: MemoryRequest, heard: Heard, table_row: int) -> None:
        """Queue the request's new events to be stored, as they stand in the K/V pool now."""
        if not request.new_events:
            return
        tokens = torch.cat([torch.arange(span.start, span.end) for span in request.new_events])
        heard = heard.of(tokens)
        layers = tuple(self.view.layers)
        slots = self.view.slots(table_row, 0, request.plan.length)[tokens]
        dtype = storage_dtype(self.view.kv_dtype)
        snapshot = Snapshot(
            namespace=request.memory.namespace,
            conversation=xxhash.xxh3_128_digest(request.plan.events[0].id),
            created_at=time.time(),
            token_ids=request.token_ids,
            spans=request.new_events,
            layers=layers,
            positions=tokens,
            keys=torch.stack([self.view.keys(layer, slots) for layer in layers]).cpu(),
            values=torch.stack([self.view.values(layer, slots) for layer in layers]).cpu(),
            queries=heard.queries.cpu(),
            lse=heard.lse.cpu(),
            recurrent=self._recurrent(request, tokens),
            window_width=self.view.window_width if self.keeps_states else 0,
        )
        ticket = self.writer.submit(
            lambda: events_of(snapshot, self.heads, self.ropes, dtype, self.engram_form), snapshot.size_bytes
        )
        self._queued.update({(snapshot.namespace, span.id): ticket for span in snapshot.spans})
        if ticket.done and ticket.error is not None:
            self._report_broken(ticket.error)

    @property
    def keeps_states(self) -> bool:
        """Whether what recurrent layers do is remembered and recalled."""
        return self.view.is_hybrid and self.options.engram_rank > 0

    def _recurrent(self, request: MemoryRequest, tokens: Tensor) -> tuple[RecurrentInputs, ...]:
        if not self.keeps_states or request.recurrent_from is None:
            return ()
        at = tokens - request.recurrent_from
        layers = (RecurrentInputs.joined(request.recurrent[layer]) for layer in self.view.recurrent_layers)
        return tuple(layer.of(at) for layer in layers)

    # Recalling

    def states_at(self, request: MemoryRequest, before: States, start: int, end: int) -> States:
        """The request's states at its token `end`, clean, when they were `before` at `start`."""
        assert request.recurrent_from is not None
        tokens = slice(start - request.recurrent_from, end - request.recurrent_from)
        temporal, window = before.temporal.clone(), before.window.clone()
        for i, layer in enumerate(self.view.recurrent_layers):
            inputs = RecurrentInputs.joined(request.recurrent[layer]).of(tokens)
            if len(inputs.keys):
                temporal[i] = transition(inputs.keys, inputs.values, inputs.log_decay, inputs.write).after(temporal[i])
                window[i] = window_behind(window[i], inputs.window)
        return States(temporal, window)

    def with_engrams(self, states: States, placed: PlacedEvents) -> States:
        """States behind the recalled events, when `states` were those in front of them."""
        temporal, window = states
        for engram in placed.engrams:
            temporal = engram.after(temporal)
            window = window if engram.window is None else engram.window.to(window.dtype)
        return States(temporal, window)

    def vote(self, request: MemoryRequest, heard: Heard) -> Decision:
        """What the prompt's own queries recall."""
        index = self.index(request.memory.namespace)
        cue = self._cue(heard, heard.tokens - request.plan.turn_start)
        return decide(index, cue, request.token_ids, self.options)

    def vote_again(self, request: MemoryRequest, heard: Heard) -> Decision:
        """What the prompt recalls when it was read with its recall in place: what it has, and perhaps more."""
        index = self.index(request.memory.namespace)
        cue = self._cue(heard, heard.tokens - request.plan.turn_start)
        more = decide(index, cue, request.token_ids, self.options, already=request.decision.ids, found_by="reading")
        room = self.options.max_events - len(request.decision.recalled)
        recalled = more.recalled[-room:] if room > 0 else ()
        return Decision((*recalled, *request.decision.recalled), more.best or request.decision.best)

    def vote_on_answer(self, request: MemoryRequest, heard: Heard, text: Sequence[int]) -> Decision:
        """What the latest generated tokens recall on top of what was recalled already."""
        index = self.index(request.memory.namespace)
        cue = self._cue(heard, torch.arange(len(heard.tokens)))
        return decide(index, cue, text, self.options, already=request.decision.ids, found_by="answer")

    def _cue(self, heard: Heard, places: Tensor) -> Cue:
        queries = self.heads.rope.undo(heard.queries.float(), heard.positions)
        positions = self.options.vote_gap_tokens + places.clamp(0, _FARTHEST_VOTE)
        return Cue(queries.cpu(), heard.lse.cpu(), positions.cpu())

    def room(self, request: MemoryRequest, req: Any) -> int:
        """How far the request's positions can be moved before its answer would leave the rotary table."""
        longest = request.plan.length + (req.sampling_params.max_new_tokens or 0)
        return min(rope.positions for rope in self.ropes.values()) - longest - 1

    def place(self, decision: Decision, end: int) -> tuple[Decision, PlacedEvents | None]:
        """Fetch the decision's events and put them in front of position `end`.

        Events that the store cannot give are left out of the decision that comes back.
        """
        recalled, bodies = [], []
        tokens = 0
        for one in reversed(decision.recalled):
            tokens += len(one.entry.token_ids)
            if tokens <= self.max_recalled_tokens and (body := self._body(one)) is not None:
                recalled.insert(0, one)
                bodies.insert(0, body)
        decision = Decision(tuple(recalled), decision.best)
        if not bodies:
            return decision, None
        dtype = torch.float32 if self.view.kv_dtype.itemsize == 1 else self.view.kv_dtype
        placed = PlacedEvents(
            bodies, bias_of(recalled), end, self.ropes, dtype, self.view.device, self.options.recall_gap_tokens
        )
        return decision, placed

    def _body(self, recalled: Recalled) -> EventBody | None:
        entry = recalled.entry
        try:
            body = EventBody.from_blocks(self.store.body(entry.namespace, entry.id))
        except (StoreError, KeyError) as error:
            self._report_broken(error)
            return None
        return body

    def used(self, namespace: str, decision: Decision) -> None:
        """Note in the store that events were of use."""
        if ids := [one.entry.id for one in decision.recalled]:
            now = time.time()
            self.writer.call(lambda: self.store.touch(namespace, ids, now))

    def close(self) -> None:
        """Store what is queued and release the store."""
        if not self.writer.close(timeout_seconds=30):
            logger.warning("The memory could not be stored in time; what was told last may be missing.")
        self.store.close()

    def _report_broken(self, error: Exception) -> None:
        if type(error) not in self._broken:
            self._broken.add(type(error))
            logger.error("Going on without part of the memory: %s", error)


def _ropes(view: ModelView) -> dict[int, Rope | NoRope]:
    ropes: dict[int, Rope | NoRope] = {}
    by_table: dict[int, Rope] = {}
    for layer_id, layer in view.layers.items():
        if layer.cos_sin is None:
            ropes[layer_id] = NoRope()
            continue
        key = layer.cos_sin.data_ptr()
        if key not in by_table:
            by_table[key] = Rope(layer.cos_sin.cpu(), interleaved=layer.interleaved)
        ropes[layer_id] = by_table[key]
    return ropes
