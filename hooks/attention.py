"""Seam: the full-attention layers, whatever back end computes them.

The back end's class is exchanged for a subclass of itself right after it is built, which reaches every back end, alone
or inside a hybrid one, and leaves the draft model's alone. What computes the attention leaves the log-sum-exp
`[tokens, heads]` in the back end's `softmax_lse`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import targets
from .engine import Listener
from .install import Hook
from .model_view import ModelView

if TYPE_CHECKING:
    from torch import Tensor

# The back ends whose hook was checked against whole attention.
SUPPORTED_BACKENDS = ("torch_native",)


def hooks(listener: Listener) -> list[Hook]:
    """Tells `listener` of the target model, and of every full-attention layer that was computed."""
    known: list[Any] = []

    def built(backend: Any, *, model_runner: Any, backend_str: str, **kwargs: Any) -> Any:
        if model_runner.is_draft_worker:
            return None
        if model_runner not in known:
            # The first moment at which weights, pools and the dtype of keys and values are all settled.
            known.append(model_runner)
            listener.model_ready(ModelView(model_runner))
        backend.__class__ = _listening(type(backend), listener)
        return backend

    return [Hook(targets.ATTENTION_BUILT, "after", built)]


def _listening(base: type, listener: Listener) -> type:
    class ListeningBackend(base):  # type: ignore[misc, valid-type]
        softmax_lse: Tensor | None = None

        def forward_extend(self, q: Any, k: Any, v: Any, layer: Any, *args: Any, **kwargs: Any) -> Any:
            return self._tell(layer, q, super().forward_extend(q, k, v, layer, *args, **kwargs))

        def forward_decode(self, q: Any, k: Any, v: Any, layer: Any, *args: Any, **kwargs: Any) -> Any:
            return self._tell(layer, q, super().forward_decode(q, k, v, layer, *args, **kwargs))

        def _tell(self, layer: Any, queries: Tensor, output: Tensor) -> Tensor:
            lse, self.softmax_lse = self.softmax_lse, None
            listener.attended(
                layer.layer_id,
                queries.reshape(-1, layer.tp_q_head_num, layer.qk_head_dim),
                output.view(-1, layer.tp_q_head_num, layer.v_head_dim),
                lse,
            )
            return output

    ListeningBackend.__name__ = ListeningBackend.__qualname__ = f"Listening{base.__name__}"
    return ListeningBackend
