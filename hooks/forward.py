"""Seam: a forward of the target model, which may be run again in part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from . import targets
from .engine import Listener, Original
from .install import Hook
from .recurrent_state import RecurrentState, States


@dataclass(frozen=True, slots=True)
class Row:
    """One request of a forward: its index in the batch, its row of the request table, and the tokens `[start, end)`
    computed."""

    index: int
    table_row: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Part:
    """What of a request is read again: its tokens from `start`, at positions shifted by `shift`.

    `states` are a hybrid's at its token `begin`, from which on it is then read; without them it is read from where the
    forward began.
    """

    row: Row
    start: int
    shift: int
    token_ids: Sequence[int]
    states: States | None = None
    begin: int = 0


class Forward:
    """One forward of the target model over a batch of requests `reqs`."""

    def __init__(self, runner: Any, batch: Any, reqs: Sequence[Any], run: Callable[[Any], Any]) -> None:
        self._runner, self._batch, self._run = runner, batch, run
        self.reqs = reqs
        self.is_decode = bool(batch.forward_mode.is_decode())
        self._states = None if self.is_decode else RecurrentState.of(runner, batch)

    @cached_property
    def rows(self) -> list[Row]:
        """The batch's requests."""
        batch = self._batch
        table_rows = batch.req_pool_indices.tolist()
        ends = batch.seq_lens_cpu.tolist() if batch.seq_lens_cpu is not None else batch.seq_lens.tolist()
        starts = [end - 1 for end in ends] if self.is_decode else list(batch.extend_prefix_lens_cpu)
        return [Row(i, *span) for i, span in enumerate(zip(table_rows, starts, ends, strict=True))]

    def run(self, *, may_read_again: bool = False) -> Any:
        """The forward itself. `read_again` is possible afterwards when `may_read_again` was said."""
        if may_read_again and self._states is not None:
            self._states.save()
        return self._run(self._batch)

    def shift_positions(self, shifts: Sequence[int]) -> None:
        """Add `shifts[i]` to the position of every token of request i, before `run`."""
        if not any(shifts):
            return
        batch = self._batch
        lengths = torch.tensor([row.end - row.start for row in self.rows], device=batch.positions.device)
        delta = torch.repeat_interleave(torch.tensor(shifts, device=lengths.device), lengths)
        batch.positions = batch.positions + delta.to(batch.positions.dtype)
        if batch.mrope_positions is not None:
            batch.mrope_positions = batch.mrope_positions + delta.to(batch.mrope_positions.dtype)

    @property
    def can_read_in_part(self) -> bool:
        """Whether requests can be read again without the others, from any token on.

        Input log-probabilities and hidden states of a part cannot be put back into the whole batch's, and a recurrent
        state is at hand only where the forward began.
        """
        batch = self._batch
        if batch.capture_hidden_mode and batch.capture_hidden_mode.need_capture():
            return False
        starts = batch.extend_logprob_start_lens_cpu if batch.return_logprob else None
        return not starts or all(s >= n for s, n in zip(starts, batch.extend_seq_lens_cpu, strict=True))

    def keep_private(self, row: Row) -> None:
        """Keep what the request computes from now on out of the prefix cache.

        A recurrent state cannot be split off the keys that it belongs to, so a hybrid's request leaves nothing there;
        other requests leave what `Listener.insert_limit` allows.
        """
        if hasattr(self._runner.req_to_token_pool, "mamba_pool"):
            self.reqs[row.index].skip_radix_cache_insert = True

    def first_rereadable(self, row: Row, wanted: int) -> int:
        """The token from which a request can be read again when `wanted` is asked for.

        What earlier forwards computed of a hybrid's request may stand in the prefix cache already.
        """
        return wanted if self._states is None and self.can_read_in_part else max(wanted, row.start)

    def read_again(self, parts: Sequence[Part], output: Any, within: Callable[[Sequence[Row]], Any]) -> Any:
        """Read `parts` again and put their logits into `output`, what `run` returned. Returns the output to hand on.

        `within(rows)` gives a context manager that is entered around the forward; `rows` describes what it computes.
        """
        if self._states is not None:
            self._states.restore([part.row.index for part in parts] if self.can_read_in_part else None)
            for part in parts:
                if part.states is not None:
                    self._states.put(part.row.index, part.states)
        if not self.can_read_in_part:
            shifts = {part.row.index: part for part in parts}
            positions, mrope = self._batch.positions, self._batch.mrope_positions
            try:
                self._shift_parts(shifts)
                with within(self.rows):
                    return self._run(self._batch)
            finally:
                self._batch.positions, self._batch.mrope_positions = positions, mrope
        begins = [self._begin(part) for part in parts]
        batch = self._sub_batch(parts, begins)
        rows = [
            Row(i, part.row.table_row, begin, part.row.end)
            for i, (part, begin) in enumerate(zip(parts, begins, strict=True))
        ]
        with within(rows):
            again = self._run(batch)
        logits = output.logits_output.next_token_logits
        logits[[part.row.index for part in parts]] = again.logits_output.next_token_logits
        return output

    def states_before(self, row: Row) -> States | None:
        """A hybrid's states where `run` began to compute the request. None for other models."""
        return None if self._states is None else self._states.saved(row.index)

    def states_now(self, row: Row) -> States | None:
        """A hybrid's states behind all that was computed."""
        pool = self._runner.req_to_token_pool
        if not hasattr(pool, "mamba_pool"):
            return None
        slot, cache = self._slot(row), pool.mamba_pool.mamba_cache
        return States(cache.temporal[:, slot], cache.conv[0][:, slot])

    def put_temporal(self, row: Row, temporal: Tensor) -> None:
        """Set a hybrid's recurrent states, `[layers, heads, value_dim, key_dim]`, behind all that was computed."""
        state = self._runner.req_to_token_pool.mamba_pool.mamba_cache.temporal
        state[:, self._slot(row)] = temporal.to(state.dtype)

    def _slot(self, row: Row) -> Tensor:
        pool = self._runner.req_to_token_pool
        rows = self._batch.req_pool_indices[row.index : row.index + 1]
        return pool.translate_mamba_indices(pool.get_mamba_indices(rows)).long()[0]  # type: ignore[no-any-return]

    def _begin(self, part: Part) -> int:
        if self._states is None:
            return part.start
        return part.begin if part.states is not None else min(part.start, part.row.start)

    def _shift_parts(self, parts: dict[int, Part]) -> None:
        batch = self._batch
        delta = torch.zeros_like(batch.positions)
        offset = 0
        for row in self.rows:
            length = row.end - row.start
            if part := parts.get(row.index):
                delta[offset + max(0, part.start - row.start) : offset + length] = part.shift
            offset += length
        batch.positions = batch.positions + delta
        if batch.mrope_positions is not None:
            batch.mrope_positions = batch.mrope_positions + delta.to(batch.mrope_positions.dtype)

    def _sub_batch(self, parts: Sequence[Part], begins: Sequence[int]) -> Any:
        batch, runner = self._batch, self._runner
        device = batch.input_ids.device
        index = [part.row.index for part in parts]
        rows = torch.tensor(index, device=device)
        ends = [part.row.end for part in parts]
        lengths = [end - begin for end, begin in zip(ends, begins, strict=True)]
        table = runner.req_to_token_pool.req_to_token
        slots = [table[part.row.table_row, begin : part.row.end] for part, begin in zip(parts, begins, strict=True)]
        positions = torch.cat([_positions(part, begin) for part, begin in zip(parts, begins, strict=True)]).to(device)
        tokens = [t for part, begin in zip(parts, begins, strict=True) for t in part.token_ids[begin : part.row.end]]
        lengths_t = torch.tensor(lengths, dtype=torch.int32, device=device)

        def rows_of(tensor: Tensor | None) -> Tensor | None:
            return None if tensor is None else tensor[rows.to(tensor.device)]

        def items_of(items: list[Any] | None) -> list[Any] | None:
            return None if items is None else [items[i] for i in index]

        sub = replace(
            batch,
            batch_size=len(parts),
            input_ids=torch.tensor(tokens, dtype=batch.input_ids.dtype, device=device),
            req_pool_indices=batch.req_pool_indices[rows],
            seq_lens=batch.seq_lens[rows],
            seq_lens_cpu=rows_of(batch.seq_lens_cpu),
            orig_seq_lens=rows_of(batch.orig_seq_lens),
            seq_lens_sum=sum(ends),
            out_cache_loc=torch.cat(slots).to(batch.out_cache_loc.dtype),
            positions=positions.to(batch.positions.dtype),
            mrope_positions=None
            if batch.mrope_positions is None
            else positions.to(batch.mrope_positions.dtype).expand(3, -1).contiguous(),
            extend_num_tokens=len(tokens),
            extend_seq_lens=lengths_t,
            extend_prefix_lens=torch.tensor(begins, dtype=torch.int32, device=device),
            extend_start_loc=(torch.cumsum(lengths_t, 0) - lengths_t).to(torch.int32),
            extend_prefix_lens_cpu=list(begins),
            extend_seq_lens_cpu=lengths,
            # Log-probabilities of outputs are made of the logits later on.
            return_logprob=False,
            extend_logprob_start_lens_cpu=None,
            rids=items_of(batch.rids),
            lora_ids=items_of(batch.lora_ids),
            top_logprobs_nums=items_of(batch.top_logprobs_nums),
            token_ids_logprobs=items_of(batch.token_ids_logprobs),
            mm_inputs=items_of(batch.mm_inputs),
            mamba_track_indices=rows_of(batch.mamba_track_indices),
            mamba_track_mask=self._tracked(parts, rows_of(batch.mamba_track_mask)),
            mamba_track_seqlens=rows_of(batch.mamba_track_seqlens),
            **self._newer_fields(items_of, rows_of),
        )
        if translator := getattr(runner, "kv_index_translator", None):
            translator.own_plan(sub).bind(sub, translator)
        sub.num_token_non_padded = None
        sub.global_num_token_non_padded_cpu = len(tokens)
        return sub

    def _tracked(self, parts: Sequence[Part], mask: Tensor | None) -> Tensor | None:
        # A state is kept for the prefix cache at a place counted from the forward's beginning. What begins elsewhere
        # keeps none; it does not enter the cache either (`keep_private`).
        if mask is None or not any(part.states is not None for part in parts):
            return mask
        return mask & torch.tensor([part.states is None for part in parts], device=mask.device)

    def _newer_fields(
        self,
        items_of: Callable[[list[Any] | None], list[Any] | None],
        rows_of: Callable[[Tensor | None], Tensor | None],
    ) -> dict[str, Any]:
        batch = self._batch
        fields: dict[str, Any] = {}
        for name in ("mamba_prefill_track_mask_cpu", "mamba_track_seqlens_cpu"):
            if hasattr(batch, name):
                fields[name] = items_of(getattr(batch, name))
        if hasattr(batch, "req_pool_indices_cpu"):
            fields["req_pool_indices_cpu"] = rows_of(batch.req_pool_indices_cpu)
        return fields


def _positions(part: Part, begin: int) -> Tensor:
    positions = torch.arange(begin, part.row.end)
    return positions + part.shift * (positions >= part.start)


_reqs: list[Sequence[Any]] = []


@contextmanager
def _batch_of(reqs: Sequence[Any]) -> Any:
    _reqs.append(reqs)
    try:
        yield
    finally:
        _reqs.pop()


def hooks(listener: Listener) -> list[Hook]:
    """Hands every prefill and decode forward of the target model to `listener`."""

    def generation(original: Original, worker: Any, batch: Any = None, *args: Any, **kwargs: Any) -> Any:
        with _batch_of(batch.reqs if batch is not None else ()):
            return original(worker, batch, *args, **kwargs)

    def forward(original: Original, runner: Any, batch: Any, *args: Any, **kwargs: Any) -> Any:
        mode = batch.forward_mode
        reqs = _reqs[-1] if _reqs else ()
        plain = mode.is_decode() or (mode.is_extend() and not mode.is_target_verify() and not mode.is_draft_extend_v2())
        if runner.is_draft_worker or not plain or len(reqs) != batch.batch_size:
            return original(runner, batch, *args, **kwargs)
        return listener.forward(Forward(runner, batch, reqs, lambda b: original(runner, b, *args, **kwargs)))

    return [Hook(targets.BATCH_FORWARD, "around", generation), Hook(targets.MODEL_FORWARD, "around", forward)]
