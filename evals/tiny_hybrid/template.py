"""The chat template: what a tokenizer's configuration says, and the same by hand."""

from collections.abc import Mapping, Sequence

DEFAULT_SYSTEM = "You are a helpful assistant."
CHAT_TEMPLATE = (
    "{% if messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\n" + DEFAULT_SYSTEM + "<|im_end|>\n' }}"
    "{% endif %}"
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def render(
    messages: Sequence[Mapping[str, str]], generation_prompt: bool = False, *, default_system: bool = True
) -> str:
    """The text of a chat; without a system message of its own it gets the default one, unless told not to."""
    head = default_system and messages[0]["role"] != "system"
    parts = [f"<|im_start|>system\n{DEFAULT_SYSTEM}<|im_end|>\n"] if head else []
    parts += [f"<|im_start|>{message['role']}\n{message['content']}<|im_end|>\n" for message in messages]
    if generation_prompt:
        parts.append("<|im_start|>assistant\n")
    return "".join(parts)
