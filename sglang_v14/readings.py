"""The readings of a forward: first a clean one, then, where something is recalled, others with the recalled events in
place."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from .episodic import EpisodicMemory
from .hooks.forward import Forward, Part, Row
from .hooks.recurrent_layers import RecurrentInputs
from .placed import PlacedEvents
from .profile import Profile
from .reading import Heard, Reading, RequestReading
from .recall import NOTHING, Decision
from .request import MemoryRequest
from .trace import Trace

logger = logging.getLogger("sglang_v14")


class Readings:
    """Runs the forwards of a model that has a memory."""

    def __init__(self, memory: EpisodicMemory, trace: Trace, profile: Profile) -> None:
        self._memory, self._trace, self._profile = memory, trace, profile
        self._reading: Reading | None = None

    def attended(self, layer_id: int, queries: Tensor, output: Tensor, lse: Tensor | None) -> None:
        """See `hooks.engine.Listener.attended`."""
        if self._reading is not None:
            with self._profile.section("attention"):
                self._reading.attended(layer_id, queries, output, lse)

    def recurred(self, layer_id: int, inputs: RecurrentInputs) -> None:
        """See `hooks.engine.Listener.recurred`."""
        if self._reading is not None:
            self._reading.recurred(layer_id, inputs)

    def forward(self, forward: Forward, requests: Sequence[MemoryRequest | None]) -> Any:
        """Run `forward`, whose i-th request is `requests[i]` (None: without memory)."""
        if not any(requests):
            return forward.run()
        return self._decode(forward, requests) if forward.is_decode else self._prefill(forward, requests)

    @contextmanager
    def _listening(self, rows: Sequence[Row], readings: Sequence[RequestReading | None]) -> Iterator[None]:
        spans = [(row.end - row.start, reading) for row, reading in zip(rows, readings, strict=True)]
        reading = Reading(self._memory.view.layers, self._memory.heads, spans)
        self._reading = reading if reading else None
        try:
            yield
        finally:
            self._reading = None

    # Prefill

    def _prefill(self, forward: Forward, requests: Sequence[MemoryRequest | None]) -> Any:
        readings = [self._first_reading(row, request) for row, request in zip(forward.rows, requests, strict=True)]
        started = time.perf_counter()
        with self._listening(forward.rows, readings):
            output = forward.run(may_read_again=True)
        first_seconds = time.perf_counter() - started
        recalling: list[tuple[Row, MemoryRequest]] = []
        for row, request, reading in zip(forward.rows, requests, readings, strict=True):
            if request is None:
                continue
            self._hear(request, reading)
            if row.end < request.plan.length:
                self._keep_states(forward, row, request)
                continue
            if not request.was_read:
                self._first_decision(forward, row, request, first_seconds)
                request.heard.clear()
                request.recurrent.clear()
            if request.placed is not None:
                recalling.append((row, request))
        return self._read_again(forward, recalling, output) if recalling else output

    def _first_reading(self, row: Row, request: MemoryRequest | None) -> RequestReading | None:
        if request is None or request.was_read:
            return None
        asking = request.asking[(request.asking >= row.start) & (request.asking < row.end)]
        reading = RequestReading(row.start, row.end, asking=asking if len(asking) else None)
        if self._memory.keeps_states:
            if request.recurrent_from is None:
                request.recurrent_from = row.start
            reading.recurrent = request.recurrent
        return reading

    def _keep_states(self, forward: Forward, row: Row, request: MemoryRequest) -> None:
        """Of a hybrid's prompt in several chunks: keep the states in front of what may be read again.

        What is computed from there on stays out of the prefix cache, so that it may be replaced.
        """
        begin = request.plan.reread_from
        if not request.memory.reads or not self._memory.keeps_states or not row.start <= begin < row.end:
            return
        before = forward.states_before(row)
        if before is None or not forward.can_read_in_part or self._memory.options.engram_place == "prompt":
            return
        request.clean_states = self._memory.states_at(request, before, row.start, begin)
        request.begin = begin
        forward.keep_private(row)

    def _hear(self, request: MemoryRequest, reading: RequestReading | None, positions: Tensor | None = None) -> None:
        if reading is None or reading.asking is None or reading.queries is None or reading.lse is None:
            return
        at = reading.asking if positions is None else positions
        request.heard.append(Heard(reading.asking, at, reading.queries, reading.lse))

    def _first_decision(self, forward: Forward, row: Row, request: MemoryRequest, first_seconds: float) -> None:
        request.was_read = True
        try:
            heard = Heard.joined(request.heard)
            if len(heard.tokens) != len(request.asking):
                raise RuntimeError(f"{len(request.asking) - len(heard.tokens)} tokens of the prompt were not read")
            if request.memory.writes:
                with self._profile.section("remember"):
                    self._memory.remember(request, heard, row.table_row)
            if request.memory.reads and request.plan.voting:
                started = time.perf_counter()
                with self._profile.section("vote"):
                    decision = self._memory.vote(request, heard.of(torch.tensor(request.plan.voting)))
                self._take_place(forward, row, request, decision)
                seconds = time.perf_counter() - started
                self._trace.decided(forward.reqs[row.index], request, "prompt", first_seconds, seconds)
        except Exception:
            # Whatever happens to the memory, the request is answered.
            logger.exception("Request %s goes on without memory.", forward.reqs[row.index].rid)
            request.forget_recall()

    def _take_place(self, forward: Forward, row: Row, request: MemoryRequest, decision: Decision) -> None:
        """Put a decision's events in front of the part that is read again."""
        if request.begin < row.start and not forward.can_read_in_part:
            request.clean_states = None
        request.sees_from = forward.first_rereadable(row, request.plan.reread_from)
        if request.clean_states is not None:
            request.sees_from = max(request.begin, request.plan.reread_from)
        room = self._memory.room(request, forward.reqs[row.index])
        gap = self._memory.options.recall_gap_tokens
        shifted = decision.span(gap) <= room
        request.shift = decision.span(gap) if shifted else 0
        with self._profile.section("fetch"):
            request.decision, request.placed = self._memory.place(decision, request.sees_from + request.shift)
        if request.placed is None:
            request.shift = 0
            return
        if shifted and request.decision.span(gap) != request.shift:
            # Something could not be fetched: what is there moves up.
            request.shift = request.decision.span(gap)
            request.decision, request.placed = self._memory.place(request.decision, request.sees_from + request.shift)
        request.clean_tokens = request.sees_from
        self._compose(forward, row, request)
        forward.keep_private(row)
        self._memory.used(request.memory.namespace, request.decision)

    def _compose(self, forward: Forward, row: Row, request: MemoryRequest) -> None:
        """Set the states that a hybrid's request is read again with."""
        before, options = forward.states_before(row), self._memory.options
        if before is None or not self._memory.keeps_states or request.placed is None:
            return
        if request.clean_states is None:
            request.begin = row.start
            if forward.can_read_in_part and options.engram_place == "content":
                request.begin = request.sees_from
            request.clean_states = self._memory.states_at(request, before, row.start, request.begin)
        request.states = request.clean_states
        if options.recall_into != "attention":
            request.states = self._memory.with_engrams(request.clean_states, request.placed)

    def _placed(self, request: MemoryRequest) -> PlacedEvents | None:
        return request.placed if self._memory.options.recall_into != "states" else None

    def _read_again(self, forward: Forward, recalling: list[tuple[Row, MemoryRequest]], output: Any) -> Any:
        while recalling:
            voting_rows = []
            parts = [
                Part(
                    row,
                    request.sees_from,
                    request.shift,
                    _tokens(forward.reqs[row.index], row),
                    request.states,
                    request.begin,
                )
                for row, request in recalling
            ]
            readings: dict[int, RequestReading] = {}
            by_table_row = {row.table_row: request for row, request in recalling}

            @contextmanager
            def listening(
                rows: Sequence[Row], by_table_row: dict[int, MemoryRequest] = by_table_row, readings: Any = readings
            ) -> Iterator[None]:
                again = [self._reading_again(row, by_table_row.get(row.table_row)) for row in rows]
                readings.update({row.table_row: r for row, r in zip(rows, again, strict=True) if r is not None})
                with self._listening(rows, again):
                    yield

            started = time.perf_counter()
            with self._profile.section("read_again"):
                output = forward.read_again(parts, output, listening)
            seconds = time.perf_counter() - started
            for row, request in recalling:
                request.readings += 1
                reading = readings[row.table_row]
                if self._votes_again(forward, row, request, reading, seconds):
                    voting_rows.append((row, request))
            recalling = voting_rows
        return output

    def _reading_again(self, row: Row, request: MemoryRequest | None) -> RequestReading | None:
        if request is None or request.placed is None:
            return None
        asking = None
        if request.readings + 1 < self._memory.options.max_readings and row.end == request.plan.length:
            voting = torch.tensor(request.plan.voting)
            asking = voting[voting >= row.start]
        placed = self._placed(request)
        return RequestReading(row.start, row.end, asking=asking, placed=placed, sees_from=request.sees_from)

    def _votes_again(
        self, forward: Forward, row: Row, request: MemoryRequest, reading: RequestReading, seconds: float
    ) -> bool:
        """Whether the recall changed, now that the prompt was read with what it recalled."""
        if reading.asking is None or reading.queries is None or reading.lse is None:
            return False
        started = time.perf_counter()
        heard = Heard(reading.asking, reading.asking + request.shift, reading.queries, reading.lse)
        decision = self._memory.vote_again(request, heard)
        changed = decision.ids != request.decision.ids
        if changed:
            self._take_place(forward, row, request, decision)
        self._trace.decided(forward.reqs[row.index], request, "reading", seconds, time.perf_counter() - started)
        return changed and request.placed is not None

    # Decode

    def _decode(self, forward: Forward, requests: Sequence[MemoryRequest | None]) -> Any:
        decoding = self._memory.options.recall_while_decoding
        readings: list[RequestReading | None] = []
        for row, request in zip(forward.rows, requests, strict=True):
            listens = request is not None and decoding and request.listens
            if request is None or (request.placed is None and not listens):
                readings.append(None)
                continue
            asking = torch.tensor([row.start]) if listens else None
            readings.append(RequestReading(row.start, row.end, asking=asking, placed=self._placed(request)))
        forward.shift_positions([request.shift if request is not None else 0 for request in requests])
        with self._listening(forward.rows, readings):
            output = forward.run()
        for row, request, reading in zip(forward.rows, requests, readings, strict=True):
            if request is None:
                continue
            request.generated += 1
            if reading is not None and reading.asking is not None:
                self._hear(request, reading, reading.asking + request.shift)
            if decoding and request.memory.reads and request.generated == request.reconsider_at:
                try:
                    self._reconsider(forward, row, request)
                except Exception:
                    logger.exception("Request %s goes on with what it recalled before.", forward.reqs[row.index].rid)
        return output

    def _reconsider(self, forward: Forward, row: Row, request: MemoryRequest) -> None:
        request.reconsider_at *= 2
        heard = Heard.joined(request.heard)
        request.heard.clear()
        req = forward.reqs[row.index]
        started = time.perf_counter()
        decision = self._memory.vote_on_answer(request, heard, [*request.token_ids, *req.output_ids])
        more = NOTHING
        if decision.recalled:
            more, placed = self._memory.place(decision, request.sees_from)
            if placed is not None:
                request.placed = placed if request.placed is None else request.placed.and_before(placed)
                self._compose_behind(forward, row, placed)
                if request.clean_tokens is None:
                    request.clean_tokens = row.end
                    forward.keep_private(row)
                self._memory.used(request.memory.namespace, more)
        request.decision = Decision((*more.recalled, *request.decision.recalled), decision.best)
        self._trace.decided(req, request, "answer", 0.0, time.perf_counter() - started)

    def _compose_behind(self, forward: Forward, row: Row, placed: PlacedEvents) -> None:
        """Events recalled while decoding come behind what was read."""
        if not placed.engrams or self._memory.options.recall_into == "attention":
            return
        if (states := forward.states_now(row)) is not None:
            forward.put_temporal(row, self._memory.with_engrams(states, placed).temporal)


def _tokens(req: Any, row: Row) -> Sequence[int]:
    """The request's tokens `[0, row.end)`: more than its prompt when it is read anew after a retraction."""
    if row.end <= len(req.origin_input_ids):
        return req.origin_input_ids  # type: ignore[no-any-return]
    return [*req.origin_input_ids, *req.output_ids]
