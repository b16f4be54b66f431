"""The loaded model, as far as a listener needs to see it: its attention layers and where their keys and values lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .install import SeamError

_USUAL_RUNNING_REQUESTS = 48


@dataclass(frozen=True, slots=True)
class AttentionLayer:
    """A full-attention layer: its heads on this rank, and its rotation as the model keeps it.

    `cos_sin` is the rotary table `[positions, rotary_dim]` (cosines, then sines), None for a layer without rotation.
    """

    layer_id: int
    query_heads: int
    key_heads: int
    head_dim: int
    scale: float
    cos_sin: Tensor | None
    interleaved: bool


class ModelView:
    """The target model of a server."""

    def __init__(self, runner: Any) -> None:
        self._runner = runner
        self.layers: dict[int, AttentionLayer] = {layer.layer_id: layer for layer in _attention_layers(runner.model)}

    @property
    def config(self) -> Any:
        """The Hugging Face configuration (a multimodal model's whole one)."""
        return self._runner.model_config.hf_config

    @property
    def model_path(self) -> str:
        return str(self._runner.server_args.model_path)

    @property
    def max_running_requests(self) -> int:
        """How many requests run at once; SGLang settles it later where the operator set nothing."""
        return self._runner.server_args.max_running_requests or _USUAL_RUNNING_REQUESTS

    @property
    def is_hybrid(self) -> bool:
        """Whether some layers keep a recurrent state instead of keys."""
        return hasattr(self._runner.req_to_token_pool, "mamba_pool")

    @property
    def recurrent_layers(self) -> tuple[int, ...]:
        """The recurrent layers, in the order in which their states are handed out."""
        if not self.is_hybrid:
            return ()
        places: dict[int, int] = self._runner.req_to_token_pool.mamba_map
        return tuple(sorted(places, key=places.__getitem__))

    @property
    def window_width(self) -> int:
        """How many inputs a hybrid's convolutions keep."""
        return int(self._runner.req_to_token_pool.mamba_pool.mamba_cache.conv[0].shape[-1])

    @property
    def device(self) -> torch.device:
        return torch.device(self._runner.device)

    @property
    def kv_dtype(self) -> torch.dtype:
        return self._runner.kv_cache_dtype  # type: ignore[no-any-return]

    def slots(self, row: int, start: int, end: int) -> Tensor:
        """The K/V pool slots `[end - start]` of tokens `[start, end)` of the request in `row` of the request table."""
        return self._runner.req_to_token_pool.req_to_token[row, start:end].long()  # type: ignore[no-any-return]

    def keys(self, layer_id: int, slots: Tensor) -> Tensor:
        """Keys `[slots, key_heads, dim]` as the pool holds them: rotated."""
        return self._runner.token_to_kv_pool.get_key_buffer(layer_id).index_select(0, slots)  # type: ignore[no-any-return]

    def values(self, layer_id: int, slots: Tensor) -> Tensor:
        """Values `[slots, key_heads, dim]`."""
        return self._runner.token_to_kv_pool.get_value_buffer(layer_id).index_select(0, slots)  # type: ignore[no-any-return]


def _attention_layers(model: Any) -> Sequence[AttentionLayer]:
    from sglang.srt.layers.radix_attention import RadixAttention

    found = []
    for module in model.modules():
        for attention in vars(module).get("_modules", {}).values():
            if not isinstance(attention, RadixAttention) or attention.is_cross_attention:
                continue
            if (attention.sliding_window_size or -1) > 0:
                continue
            rotary = getattr(module, "rotary_emb", None)
            found.append(
                AttentionLayer(
                    layer_id=attention.layer_id,
                    query_heads=attention.tp_q_head_num,
                    key_heads=attention.tp_k_head_num,
                    head_dim=attention.head_dim,
                    scale=attention.scaling,
                    cos_sin=None if rotary is None else rotary.cos_sin_cache,
                    interleaved=rotary is not None and not rotary.is_neox_style,
                )
            )
    if not found:
        raise SeamError(
            f"{type(model).__name__} has no full-attention layer in SGLang's form; it cannot have a memory."
        )
    return found
