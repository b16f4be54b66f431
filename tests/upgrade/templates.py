"""Chat templates of several makes, written for the tests, each with the special tokens it uses."""

from typing import NamedTuple


class TemplateCase(NamedTuple):
    source: str
    special: tuple[str, ...]
    roles: tuple[str, ...]
    # What begins every prompt without belonging to a message.
    bos: str = ""


CHATML_DEFAULT = TemplateCase(
    "{% if messages[0].role != 'system' %}<|im_start|>system\nBe brief.<|im_end|>\n{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
    ("<|im_start|>", "<|im_end|>"),
    ("system", "user", "assistant"),
)
HEADERS = TemplateCase(
    "{{ bos_token }}{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n"
    "{{ m.content | trim }}<|eot_id|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}",
    ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
    ("system", "user", "assistant"),
    "<|begin_of_text|>",
)
BRACKETS = TemplateCase(
    "{{ bos_token }}{% set ns = namespace(system='') %}{% for m in messages %}"
    "{% if m.role == 'system' %}{% set ns.system = m.content + '\n\n' %}"
    "{% elif m.role == 'user' %}[INST]{{ ns.system + m.content }}[/INST]{% set ns.system = '' %}"
    "{% elif m.role == 'assistant' %}{{ m.content }}</s>"
    "{% else %}{{ raise_exception('unknown role') }}{% endif %}{% endfor %}",
    ("<s>", "</s>", "[INST]", "[/INST]"),
    ("user", "assistant"),
    "<s>",
)
TURNS = TemplateCase(
    "{{ bos_token }}{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}"
    "<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}\n{{ m.content | trim }}<end_of_turn>\n"
    "{% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}",
    ("<bos>", "<start_of_turn>", "<end_of_turn>"),
    ("user", "assistant"),
    "<bos>",
)
NO_GAP = TemplateCase(
    "<|begin|>{% for m in messages %}{% if m.role == 'system' %}{{ m.content }}"
    "{% elif m.role == 'user' %}<|User|>{{ m.content }}"
    "{% elif m.role == 'assistant' %}<|Assistant|>{{ m.content }}<|end|>"
    "{% endif %}{% endfor %}{% if add_generation_prompt %}<|Assistant|>{% endif %}",
    ("<|begin|>", "<|User|>", "<|Assistant|>", "<|end|>"),
    ("system", "user", "assistant"),
)
TOOLS_IN_USER_TURN = TemplateCase(
    "{% for m in messages %}{% if m.role == 'tool' %}"
    "{% if loop.first or messages[loop.index0 - 1].role != 'tool' %}<|im_start|>user{% endif %}"
    "\n<tool_response>\n{{ m.content }}\n</tool_response>"
    "{% if loop.last or messages[loop.index0 + 1].role != 'tool' %}<|im_end|>\n{% endif %}"
    "{% else %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    "{% if m.tool_calls %}\n<tool_call>{{ m.tool_calls[0].function.name }}</tool_call>{% endif %}<|im_end|>\n"
    "{% endif %}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n\n</think>\n\n{% endif %}",
    ("<|im_start|>", "<|im_end|>", "<tool_response>", "</tool_response>", "<think>", "</think>"),
    ("system", "user", "assistant", "tool"),
)

CASES = {
    "chatml_default": CHATML_DEFAULT,
    "headers": HEADERS,
    "brackets": BRACKETS,
    "turns": TURNS,
    "no_gap": NO_GAP,
    "tools_in_user_turn": TOOLS_IN_USER_TURN,
}
