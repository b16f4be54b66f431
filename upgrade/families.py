"""The model families that can be upgraded: one row a family."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from sglang_v14.architectures import V14_TO_NATIVE, v14

from .errors import UpgradeError


@dataclass(frozen=True)
class Family:
    """What the upgrade needs to know of one `model_type`.

    `native` lists the served architectures, the default first; `gguf` names the GGUF architectures that Transformers
    turns into this model type; `memory` holds the memory options that differ from their defaults for this family.
    """

    model_type: str
    native: tuple[str, ...]
    gguf: tuple[str, ...] = ()
    memory: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


FAMILIES: tuple[Family, ...] = (
    Family("llama", ("LlamaForCausalLM",), gguf=("llama",)),
    Family("qwen3_5", ("Qwen3_5ForConditionalGeneration",)),
    Family("qwen3_5_text", ("Qwen3_5ForCausalLM",)),
)


def family_of(config: Mapping[str, Any]) -> Family:
    """The family of a checkpoint's `config.json`.

    Raises `UpgradeError` for a model type that has no row.
    """
    model_type = config.get("model_type")
    for family in FAMILIES:
        if family.model_type == model_type:
            return family
    known = ", ".join(family.model_type for family in FAMILIES)
    raise UpgradeError(f"The model type {model_type!r} is not supported; the supported ones are {known}.")


def v14_architecture(config: Mapping[str, Any]) -> str:
    """The V14 architecture for a checkpoint's `config.json`.

    Raises `UpgradeError` for a directory that is a V14 directory already, and for a model class that is not served (a
    reward model or a classifier of a supported model type).
    """
    family = family_of(config)
    names = config.get("architectures") or [family.native[0]]
    if "memory" in config or any(name in V14_TO_NATIVE for name in names):
        raise UpgradeError("The checkpoint is a V14 directory already; give the checkpoint it was made from.")
    upgraded = v14(names[0]) if names[0] in family.native else None
    if upgraded is None:
        raise UpgradeError(
            f"The architecture {names[0]!r} of model type {family.model_type!r} is not supported; "
            f"the supported ones are {', '.join(family.native)}."
        )
    return upgraded
