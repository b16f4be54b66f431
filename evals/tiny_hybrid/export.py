"""Writes a trained tiny hybrid as a checkpoint: `python -m evals.tiny_hybrid.export RUN OUT`, in the project's root."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch

from .encoding import END, PAD
from .shape import CONTEXT_TOKENS, config
from .template import CHAT_TEMPLATE

MODEL = Path(__file__).parent / "model"


def load(run: Path) -> Any:
    """The `Qwen3_5ForCausalLM` of a training run's folder, its weights rounded to bfloat16."""
    from safetensors.torch import load_file
    from transformers.models.qwen3_5 import Qwen3_5ForCausalLM

    weights = {name: w for file in sorted(run.glob("master-*.safetensors")) for name, w in load_file(file).items()}
    model = Qwen3_5ForCausalLM(config()).bfloat16()
    missing, unexpected = model.load_state_dict(weights, strict=False)
    if unexpected or set(missing) - {"lm_head.weight"}:
        raise SystemExit(f"{run} holds other weights: {missing} are missing, {unexpected} are not known")
    model.tie_weights()
    return model.eval()


def export(model: Any, out: Path) -> None:
    """Write weights, configuration, tokenizer and chat template to `out`."""
    from transformers import GenerationConfig, PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(MODEL / "tokenizer.json"),
        eos_token=END,
        pad_token=PAD,
        chat_template=CHAT_TEMPLATE,
        model_max_length=CONTEXT_TOKENS,
        clean_up_tokenization_spaces=False,
    )
    model.config.eos_token_id, model.config.pad_token_id = tokenizer.eos_token_id, tokenizer.pad_token_id
    model.config.architectures = ["Qwen3_5ForCausalLM"]
    model.generation_config = GenerationConfig(
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id, do_sample=False
    )
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    file = out / "config.json"
    # SGLang reads the interval, and Transformers leaves it out.
    file.write_text(json.dumps({**json.loads(file.read_text()), "full_attention_interval": 4}, indent=2) + "\n")


def main() -> None:
    """Write the checkpoint."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    with torch.inference_mode():
        export(load(options.run), options.out)
    size = sum(file.stat().st_size for file in options.out.iterdir()) / 2**20
    print(f"{options.out}: {size:.2f} MiB")


if __name__ == "__main__":
    main()
