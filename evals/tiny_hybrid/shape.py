"""The tiny hybrid's shape: a Qwen3.5 text model, three Gated DeltaNet layers to one of full attention."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

VOCABULARY = 2560
CONTEXT_TOKENS = 4096


def config(**changes: Any) -> Any:
    """A `Qwen3_5TextConfig`; `changes` replace its fields."""
    from transformers.models.qwen3_5 import Qwen3_5TextConfig

    layers = changes.pop("num_hidden_layers", 12)
    fields: dict[str, Any] = {
        "vocab_size": VOCABULARY,
        "hidden_size": 192,
        "intermediate_size": 448,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 64,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 4,
        "linear_key_head_dim": 64,
        "linear_value_head_dim": 64,
        "linear_conv_kernel_dim": 4,
        "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * (layers // 4),
        "max_position_embeddings": CONTEXT_TOKENS,
        "tie_word_embeddings": True,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 10_000.0,
            "partial_rotary_factor": 0.25,
            "mrope_interleaved": True,
            "mrope_section": [4, 2, 2],
        },
        **changes,
    }
    made = Qwen3_5TextConfig(**fields)
    # SGLang reads the interval, which published checkpoints carry, and not the list of layer types.
    made.full_attention_interval = 4
    return made


def initialise(model: nn.Module, generator: torch.Generator) -> None:
    """Set every parameter of a `Qwen3_5ForCausalLM`.

    What writes to the residual stream begins at zero. The recurrent layers begin with time constants of some ten to a
    thousand tokens (log-uniform, as in Mamba-2, arXiv 2405.21060): from a uniform start they forget within a few.
    """
    for name, parameter in model.named_parameters():
        with torch.no_grad():
            if name.endswith("A_log"):
                parameter.zero_()
            elif name.endswith("dt_bias"):
                step = torch.exp(torch.linspace(-6.9, -2.3, parameter.numel()))
                parameter.copy_(step + torch.log(-torch.expm1(-step)))
            elif name.endswith("linear_attn.norm.weight"):
                parameter.fill_(1.0)
            elif parameter.dim() == 1 or name.endswith(("o_proj.weight", "out_proj.weight", "down_proj.weight")):
                parameter.zero_()
            elif "conv1d" in name:
                parameter.uniform_(-0.5, 0.5, generator=generator)
            elif "embed_tokens" in name:
                parameter.normal_(std=0.02, generator=generator)
            else:
                parameter.normal_(std=0.6 * parameter.shape[1] ** -0.5, generator=generator)
