"""The shape of an attention layer, as much as keys and queries need."""

from __future__ import annotations

from typing import Protocol


class LayerShape(Protocol):
    """Heads and dims of one attention layer on this rank; `scale` is its softmax scale."""

    @property
    def query_heads(self) -> int: ...
    @property
    def key_heads(self) -> int: ...
    @property
    def head_dim(self) -> int: ...
    @property
    def scale(self) -> float: ...
