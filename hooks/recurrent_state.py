"""The recurrent layers' states of a batch, saved before a forward and put back before the next one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor


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

    def restore(self, rows: Sequence[int] | None) -> None:
        """Put the states of the batch's `rows` (None: all) back."""
        assert self._slots is not None, "restore before save"
        for state, saved in self._saved:
            if rows is None:
                state[:, self._slots] = saved
            else:
                state[:, self._slots[list(rows)]] = saved[:, list(rows)]
