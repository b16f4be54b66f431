"""The recurrent layers' states of a batch, saved before a forward and put back before the next one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from torch import Tensor


class States(NamedTuple):
    """One request's states: `temporal` `[layers, heads, value_dim, key_dim]` of the recurrences, `window` `[layers,
    channels, width]` of the convolutions."""

    temporal: Tensor
    window: Tensor


class RecurrentState:
    """Recurrent and convolution states of the requests of one prefill batch."""

    def __init__(self, runner: Any, batch: Any) -> None:
        self._runner, self._batch = runner, batch
        self._slots: Tensor | None = None
        self._saved: list[tuple[Tensor, Tensor]] = []

    @classmethod
    def of(cls, runner: Any, batch: Any) -> RecurrentState | None:
        """None for a model without recurrent layers."""
        return cls(runner, batch) if hasattr(runner.req_to_token_pool, "mamba_pool") else None

    def save(self) -> None:
        """Save the states as the forward will find them."""
        # Cached states are copied into a request's slot, and new slots cleared, inside the forward; here they are
        # needed before.
        self._runner._maybe_execute_deferred_mamba_cow_and_clear(self._batch)
        pool = self._runner.req_to_token_pool
        self._slots = pool.translate_mamba_indices(pool.get_mamba_indices(self._batch.req_pool_indices)).long()
        cache = pool.mamba_pool.mamba_cache
        self._saved = [(state, state[:, self._slots].clone()) for state in (*cache.conv, cache.temporal)]

    def saved(self, row: int) -> States:
        """What `save` found for a row of the batch."""
        assert self._slots is not None, "asked before save"
        conv, temporal = self._saved[0][1], self._saved[-1][1]
        return States(temporal[:, row], conv[:, row])

    def put(self, row: int, states: States) -> None:
        """Set the states of a row of the batch."""
        assert self._slots is not None, "set before save"
        for pool, new in ((self._saved[0][0], states.window), (self._saved[-1][0], states.temporal)):
            pool[:, self._slots[row]] = new.to(pool.dtype)

    def restore(self, rows: Sequence[int] | None) -> None:
        """Put the states of the batch's `rows` (None: all) back."""
        assert self._slots is not None, "restore before save"
        for state, saved in self._saved:
            if rows is None:
                state[:, self._slots] = saved
            else:
                state[:, self._slots[list(rows)]] = saved[:, list(rows)]
