"""Qwen3.5 directories: hybrids whose voting heads can only be in the full-attention layers."""

import json
from pathlib import Path

import pytest
import torch
from transformers import (
    PreTrainedModel,
    Qwen3_5Config,
    Qwen3_5ForCausalLM,
    Qwen3_5ForConditionalGeneration,
    Qwen3_5TextConfig,
)

from sglang_v14.upgrade.check import check_directory
from sglang_v14.upgrade.directory import Settings, make_directory

from .conftest import tokenizer_for
from .templates import TOOLS_IN_USER_TURN

TEXT = {
    "vocab_size": 900,
    "hidden_size": 64,
    "intermediate_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "linear_num_value_heads": 4,
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
    "layer_types": ["linear_attention", "full_attention", "linear_attention"],
}
VISION = {"depth": 1, "hidden_size": 32, "intermediate_size": 32, "num_heads": 2, "out_hidden_size": 64}


def text_model() -> PreTrainedModel:
    return Qwen3_5ForCausalLM(Qwen3_5TextConfig(**TEXT))


def vision_model() -> PreTrainedModel:
    return Qwen3_5ForConditionalGeneration(Qwen3_5Config(text_config=TEXT, vision_config=VISION))


@pytest.mark.parametrize(
    ("make", "model_type", "architecture"),
    [
        (text_model, "qwen3_5_text", "Qwen3_5V14ForCausalLM"),
        (vision_model, "qwen3_5", "Qwen3_5V14ForConditionalGeneration"),
    ],
)
def test_a_hybrid_directory(make: type, model_type: str, architecture: str, tmp_path: Path) -> None:
    torch.manual_seed(7)
    source, out = tmp_path / "source", tmp_path / "out"
    make().save_pretrained(source)
    tokenizer_for(TOOLS_IN_USER_TURN).save_pretrained(source)
    report = make_directory(source, out, Settings(heads=3))
    assert report.architecture == architecture
    assert report.roles == ("system", "user", "assistant", "tool")
    config = json.loads((out / "config.json").read_text())
    assert config["model_type"] == model_type
    heads = config["memory"]["voting_heads"]
    assert len(heads) == 3
    assert {layer for layer, _ in heads} == {1}
    assert "3 voting heads" in check_directory(out)
