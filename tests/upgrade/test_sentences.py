"""Tokens that end sentences."""

import pytest

from sglang_v14.upgrade.sentences import sentence_tokens


class _Words:
    """A tokenizer of whole words, as much as is needed here."""

    all_special_ids = (0,)

    def __init__(self, *words: str) -> None:
        self._words = ("<s>?", *words)

    def __len__(self) -> int:
        return len(self._words)

    def decode(self, ids: list[int]) -> str:
        return "".join(self._words[i] for i in ids)


@pytest.mark.parametrize(
    ("word", "asks", "ends"),
    [("?", True, True), ("why?”", True, True), ("？", True, True), (".", False, True), ("end.)", False, True)]
    + [("\n\n", False, True), ("3.5", False, False), ("a", False, False), ("", False, False)],
)
def test_sentence_tokens(word: str, asks: bool, ends: bool) -> None:
    """Special tokens are neither, whatever their text."""
    questions, all_ends = sentence_tokens(_Words(word))
    assert (1 in questions, 1 in all_ends) == (asks, ends)
    assert 0 not in all_ends
