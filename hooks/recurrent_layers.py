"""Seam: the Gated DeltaNet layers of a prefill."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from . import targets
from .engine import Listener, Original
from .install import Hook


@dataclass(frozen=True, slots=True)
class RecurrentInputs:
    """What a recurrent layer does with a run of tokens.

    `window` `[tokens, channels]` are the convolution's inputs; `keys` `[tokens, key_heads, key_dim]`, not normalised,
    `values` `[tokens, value_heads, value_dim]`, `log_decay` and `write` strength `[tokens, value_heads]` what the
    recurrence gets.
    """

    window: Tensor
    keys: Tensor
    values: Tensor
    log_decay: Tensor
    write: Tensor

    def of(self, tokens: slice | Tensor) -> RecurrentInputs:
        """Some of the tokens: a slice, or their numbers."""
        return RecurrentInputs(
            self.window[tokens], self.keys[tokens], self.values[tokens], self.log_decay[tokens], self.write[tokens]
        )

    @classmethod
    def joined(cls, parts: list[RecurrentInputs]) -> RecurrentInputs:
        """Runs of tokens one behind the other."""
        if len(parts) == 1:
            return parts[0]
        return cls(*(torch.cat([getattr(part, field) for part in parts]) for field in cls.__slots__))


def hooks(listener: Listener) -> list[Hook]:
    """Tells `listener` what every Gated DeltaNet layer does with the tokens of a prefill."""
    computing: list[tuple[int, Tensor]] = []

    def layer(original: Original, backend: Any, *args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(targets.DELTA_LAYER.parameters[targets.V23][1:], args, strict=False)), **kwargs}
        computing.append((given["layer"].layer_id, given["mixed_qkv"]))
        try:
            return original(backend, *args, **kwargs)
        finally:
            computing.pop()

    def extend(
        original: Original, dispatcher: Any, q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, **kwargs: Any
    ) -> Any:
        if computing:
            layer_id, window = computing[-1]
            inputs = (t.view(-1, *t.shape[-2:]) for t in (k, v))
            gates = (t.view(-1, t.shape[-1]) for t in (g, beta))
            listener.recurred(layer_id, RecurrentInputs(window, *inputs, *gates))
        return original(dispatcher, q, k, v, g, beta, **kwargs)

    return [Hook(targets.DELTA_LAYER, "around", layer), Hook(targets.DELTA_EXTEND, "around", extend)]
