"""Turns a GGUF file into a safetensors checkpoint that Transformers and SGLang load."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .errors import UpgradeError
from .families import FAMILIES, Family
from .linking import share_readable

DTYPE_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}


class GgufHeader:
    """What a GGUF file says of itself.

    Raises `UpgradeError` when the file is damaged, cut short, one part of several, or of an architecture without a
    family.
    """

    def __init__(self, path: Path) -> None:
        import gguf

        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise UpgradeError(f"{path} is not a GGUF file.")
        try:
            reader = gguf.GGUFReader(path)
        # A damaged header shows itself as whatever the reader stumbles over first.
        except Exception as error:
            raise UpgradeError(f"The GGUF file {path} is damaged or cut short ({error}).") from error
        split = reader.get_field("split.count")
        if split is not None and int(split.contents()) > 1:
            raise UpgradeError(f"{path} is one of {int(split.contents())} parts; merge the parts into one file first.")
        field = reader.get_field("general.architecture")
        architecture = str(field.contents()) if field is not None else ""
        self.family = _family(architecture, path)
        self.parameters = sum(int(tensor.n_elements) for tensor in reader.tensors)


def _family(architecture: str, path: Path) -> Family:
    for family in FAMILIES:
        if architecture in family.gguf:
            return family
    known = ", ".join(name for family in FAMILIES for name in family.gguf)
    raise UpgradeError(
        f"The GGUF architecture {architecture!r} of {path} is not supported; the supported ones are {known}."
    )


def write_checkpoint(path: Path, target: Path, header: GgufHeader, dtype: str, report: Callable[[str], None]) -> None:
    """Write the dequantised weights, configuration, tokenizer and generation options of a GGUF file to `target`.

    `save_pretrained` refuses a model that was loaded from a GGUF file, so the safetensors file is written here; an
    output layer that is the embedding is left out, as in any checkpoint with tied embeddings.
    """
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM, AutoTokenizer

    report("reading the tokenizer")
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    tokenizer.save_pretrained(target)
    report(f"dequantising {header.parameters / 1e6:.0f} M parameters")
    model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=getattr(torch, dtype))
    tensors = model.state_dict()
    if model.config.tie_word_embeddings:
        del tensors["lm_head.weight"]
    report("writing the weights")
    save_file(
        {name: tensor.contiguous() for name, tensor in tensors.items()}, target / "model.safetensors", {"format": "pt"}
    )
    share_readable(target / "model.safetensors")
    config: dict[str, Any] = json.loads(model.config.to_json_string())
    for name in ("quantization_config", "_name_or_path"):
        config.pop(name, None)
    config |= {"architectures": [header.family.native[0]], "dtype": dtype}
    (target / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    model.generation_config.save_pretrained(target)
