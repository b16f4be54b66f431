"""Which tokens end a sentence: long events are cut there, and a bare question can be told from a statement."""

from __future__ import annotations

from typing import Any

# Latin, Greek, Armenian, Arabic, CJK and full-width question marks; then full stops and exclamation marks.
_QUESTION_MARKS = ("?", ";", "՞", "؟", "？", "⁇", "⁈")
_STOPS = (".", "!", "…", "。", "！", "．", "।", "։", "۔", "⁉", "‽")


def sentence_tokens(tokenizer: Any) -> tuple[list[int], list[int]]:
    """The ids of tokens that end a question, and of all that end a sentence or a line; special tokens are neither."""
    special = set(tokenizer.all_special_ids)
    questions, ends = [], []
    for token in range(len(tokenizer)):
        if token in special:
            continue
        text = tokenizer.decode([token])
        closed = text.rstrip(" \t\"'”’»)]")
        if closed.endswith(_QUESTION_MARKS):
            questions.append(token)
        if closed.endswith((*_QUESTION_MARKS, *_STOPS)) or "\n" in text:
            ends.append(token)
    return questions, ends
