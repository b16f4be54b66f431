"""Tiny checkpoints with random weights, saved as their trainers would."""

from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel
from transformers.models.qwen3_5 import Qwen3_5ForCausalLM, Qwen3_5TextConfig

VOCABULARY = 512
_SHARED = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 2048,
    "eos_token_id": None,
    "bos_token_id": None,
    "pad_token_id": None,
}


def save_llama(folder: Path) -> PreTrainedModel:
    """Four layers of full attention with grouped queries."""
    return _save(LlamaForCausalLM(LlamaConfig(**_SHARED, head_dim=16, tie_word_embeddings=True)), folder)


def save_qwen3_5(folder: Path) -> PreTrainedModel:
    """Three Gated DeltaNet layers and one of full attention."""
    config = Qwen3_5TextConfig(
        **_SHARED,
        head_dim=32,
        tie_word_embeddings=False,
        layer_types=["linear_attention"] * 3 + ["full_attention"],
        linear_num_key_heads=2,
        linear_num_value_heads=4,
        linear_key_head_dim=16,
        linear_value_head_dim=16,
        linear_conv_kernel_dim=4,
    )
    # SGLang reads the interval, which published checkpoints carry, and not the list of layer types.
    config.full_attention_interval = 4
    return _save(Qwen3_5ForCausalLM(config), folder)


def _save(model: PreTrainedModel, folder: Path) -> PreTrainedModel:
    torch.manual_seed(0)
    model = model.float().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("A_log"):
                # Freshly initialised layers forget within a few tokens and would hide a lost state.
                parameter.copy_(torch.linspace(-1.0, 0.5, parameter.numel()))
            elif name.endswith("dt_bias"):
                parameter.copy_(torch.linspace(-6.0, -3.0, parameter.numel()))
            elif parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.2)
            else:
                parameter.normal_(std=parameter[0].numel() ** -0.5)
    model.config.architectures = [type(model).__name__]
    model.save_pretrained(folder)
    return model
