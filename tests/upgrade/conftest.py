"""A small real tokenizer and tiny random checkpoints."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from .templates import CHATML_DEFAULT, TemplateCase

_SENTENCES = (
    "The lamp stands on the table in the hall, and the key lies under it.",
    "Who wrote this letter? What is the name of the boat? Where did they go in 1987?",
    "She keeps three hens, twelve ducks and a grey cat; they eat corn (and bread).",
    "system user assistant tool model said that the number is 42.\n\nA new line begins here.\n",
    "Eine Wiese über dem Fluss. 水曜日の天気。 Crème brûlée & café?",
    "for i in range(10):\n    print(i)\n",
)


@cache
def tokenizer_for(case: TemplateCase, vocabulary: int = 900) -> Any:
    """A byte-level BPE tokenizer, trained on a few sentences, that splits words as GPT-2 does."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[*case.special, "<pad>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    words = [f"{a}{b}" for a in "bdfgklmnprst" for b in ("a", "e", "i", "o", "u")]
    made_up = [f"{a}{b}{c}" for a in words for b in words[::7] for c in words[::11]]
    tokenizer.train_from_iterator([*_SENTENCES, " ".join(made_up)] * 3, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", bos_token=case.bos or None)
    fast.chat_template = case.source
    return fast


@pytest.fixture(scope="session")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random Llama checkpoint in two safetensors shards, with a tokenizer and ChatML."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = tokenizer_for(CHATML_DEFAULT)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        tie_word_embeddings=True,
        eos_token_id=1,
        dtype="float32",
    )
    path = tmp_path_factory.mktemp("checkpoints") / "tiny-llama"
    LlamaForCausalLM(config).save_pretrained(path, max_shard_size="90KB")
    tokenizer.save_pretrained(path)
    (path / "LICENSE").write_text("A licence.\n")
    assert json.loads((path / "model.safetensors.index.json").read_text())["weight_map"]
    return path
