"""Checks a V14 model directory."""

from pathlib import Path
from typing import Any

from sglang_v14.architectures import V14_TO_NATIVE
from sglang_v14.options import MemoryOptions, OptionError, as_json, memory_options

from .checkpoint import check_safetensors, read_json, weight_files
from .directory import load_tokenizer
from .errors import UpgradeError
from .template import find_markers


def check_directory(directory: Path) -> str:
    """Check configuration, weights, bank and markers; returns in a few words what was found.

    Raises `UpgradeError` with the first thing that is wrong.
    """
    config = read_json(directory / "config.json")
    architectures = config.get("architectures") or [None]
    if architectures[0] not in V14_TO_NATIVE:
        raise UpgradeError(f"{directory} is not a V14 directory: its architecture is {architectures[0]!r}.")
    try:
        options = memory_options(config.get("memory"), source=str(directory / "config.json"))
    except OptionError as error:
        raise UpgradeError(str(error)) from None
    weights = list(weight_files(directory))
    for file in weights:
        check_safetensors(file)
    _check_heads(directory, config, options)
    _check_markers(directory, options)
    roles = ", ".join(options.markers) or "no roles"
    heads = len(options.voting_heads) or "no"
    return f"{architectures[0]}, {len(weights)} weight file(s), markers for {roles}, {heads} voting heads"


def _check_heads(directory: Path, config: dict[str, Any], options: MemoryOptions) -> None:
    text = config.get("text_config", config)
    layers, heads = int(text["num_hidden_layers"]), int(text["num_attention_heads"])
    kinds = text.get("layer_types") or ["full_attention"] * layers
    for layer, head in options.voting_heads:
        if layer >= layers or head >= heads or kinds[layer] != "full_attention":
            raise UpgradeError(f"The voting head [{layer}, {head}] does not exist in the model.")
    if not options.voting_heads:
        return
    from safetensors import safe_open

    from sglang_v14.bank import BANK_FILE

    bank = directory / BANK_FILE
    if not bank.is_file():
        raise UpgradeError(f"{directory} has no {BANK_FILE}; make the directory again.")
    check_safetensors(bank)
    with safe_open(str(bank), framework="np") as file:
        rows = file.get_slice("keys").get_shape()[1]
        texts = file.get_slice("lengths").get_shape()[0]
    queries_per_key = heads // int(text.get("num_key_value_heads") or heads)
    if rows != len({(layer, head // queries_per_key) for layer, head in options.voting_heads}):
        raise UpgradeError(f"{bank} was made for other voting heads; make the directory again.")
    if texts != len(options.neutral_bank):
        raise UpgradeError(f"{bank} holds {texts} texts, the `neutral_bank` {len(options.neutral_bank)}.")


def _check_markers(directory: Path, options: MemoryOptions) -> None:
    markers, begin = find_markers(load_tokenizer(directory))
    written = as_json(options)
    if _plain(written["markers"]) != markers or list(written["begin"]) != begin:
        raise UpgradeError(
            f"The markers in {directory / 'config.json'} are not those of the tokenizer and chat template; "
            "make the directory again."
        )


def _plain(markers: dict[str, Any]) -> dict[str, dict[str, list[int]]]:
    return {role: {side: list(tokens) for side, tokens in marker.items()} for role, marker in markers.items()}
