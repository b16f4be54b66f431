"""Which native SGLang architecture serves a V14 architecture.

A V14 model directory names its architecture `…V14For…` in `config.json` and keeps the native `model_type`. The plugin
maps the name back when SGLang parses the configuration, so every engine feature of the native model applies. A
further family is one more entry per model class in `V14_TO_NATIVE`.
"""

from collections.abc import Mapping
from types import MappingProxyType

V14_TO_NATIVE: Mapping[str, str] = MappingProxyType(
    {
        "LlamaV14ForCausalLM": "LlamaForCausalLM",
        "Qwen3_5V14ForCausalLM": "Qwen3_5ForCausalLM",
        "Qwen3_5V14ForConditionalGeneration": "Qwen3_5ForConditionalGeneration",
    }
)

_NATIVE_TO_V14: Mapping[str, str] = MappingProxyType({native: v14 for v14, native in V14_TO_NATIVE.items()})


def native(name: str) -> str:
    """The native architecture of `name`; a name that is not a V14 architecture comes back unchanged."""
    return V14_TO_NATIVE.get(name, name)


def v14(name: str) -> str | None:
    """The V14 architecture whose native architecture is `name`, or None when that architecture has no V14 form."""
    return _NATIVE_TO_V14.get(name)
