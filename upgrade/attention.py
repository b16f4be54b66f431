"""Reads prompts through a Transformers model and hands out the attention layers' queries and keys before RoPE."""

import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn


class QueryKey(NamedTuple):
    """One layer's queries `[prompts, tokens, heads, dim]` and keys `[prompts, tokens, key_heads, dim]`, not rotated."""

    query: Tensor
    key: Tensor


class AttentionReader:
    """The full-attention layers of a Transformers model.

    Queries and keys are taken behind the layer's query and key norms where it has them (Qwen3.5, whose `q_proj` also
    holds an output gate), else behind the projections. Layers without attention (Gated DeltaNet) do not appear.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self.layers: dict[int, Any] = {}
        rotary: list[nn.Module] = []
        for name, module in model.named_modules():
            if hasattr(module, "q_proj") and hasattr(module, "k_proj") and hasattr(module, "layer_idx"):
                self.layers[module.layer_idx] = module
            if name.rsplit(".", 1)[-1] == "rotary_emb":
                rotary.append(module)
        if not self.layers or len(rotary) != 1:
            raise ValueError(f"{type(model).__name__} has no attention layers that can be read")
        self._rotary = rotary[0]

    def heads(self, layer: int) -> tuple[int, int]:
        """How many query heads and key heads a layer has."""
        attention = self.layers[layer]
        key_heads = attention.k_proj.out_features // attention.head_dim
        return key_heads * attention.num_key_value_groups, key_heads

    def scale(self, layer: int) -> float:
        """The layer's softmax scale."""
        return float(self.layers[layer].scaling)

    @torch.inference_mode()
    def read(self, token_ids: Tensor) -> dict[int, QueryKey]:
        """Read prompts of one length, `token_ids` `[prompts, tokens]`, each alone and from position 0."""
        outputs: dict[tuple[int, str], Tensor] = {}
        with ExitStack() as hooks:
            for layer, attention in self.layers.items():
                for side in "qk":
                    source = getattr(attention, f"{side}_norm", None) or getattr(attention, f"{side}_proj")
                    handle = source.register_forward_hook(_keep(outputs, (layer, side)))
                    hooks.callback(handle.remove)
            self._model(input_ids=token_ids, use_cache=False)
        prompts, tokens = token_ids.shape
        return {
            layer: QueryKey(
                *(outputs[layer, side].float().reshape(prompts, tokens, -1, attention.head_dim) for side in "qk")
            )
            for layer, attention in self.layers.items()
        }

    @torch.inference_mode()
    def rotate(self, layer: int, states: Tensor, positions: Tensor) -> Tensor:
        """Rotate `states` `[prompts, tokens, heads, dim]` to `positions` `[tokens]`, which may be negative."""
        rotation = sys.modules[type(self.layers[layer]).__module__].apply_rotary_pos_emb
        cos, sin = self._rotary(states, positions.unsqueeze(0))
        rotated, _ = rotation(states, states, cos, sin, unsqueeze_dim=2)
        return rotated


def _keep(outputs: dict[tuple[int, str], Tensor], name: tuple[int, str]) -> Callable[..., None]:
    def hook(module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
        outputs[name] = output

    return hook
