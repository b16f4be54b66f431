"""Chats as token ids: the tokenizer, and which tokens count in training."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from .shape import VOCABULARY

START, END, PAD = "<|im_start|>", "<|im_end|>", "<|endoftext|>"
# How byte-level BPE writes a space.
_SPACE = "Ġ"
_ROLES = ("system", "user", "assistant")
# Words with the space before them, single digits, single punctuation marks.
_PIECES = r" ?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]|\s+"
# What a token counts in the loss. What users say cannot be foreseen, but a name that comes back can.
_WEIGHTS = {"system": 0.0, "user": 0.25, "assistant": 1.0}

Message = Mapping[str, str]


def train_tokenizer(texts: Iterable[str]) -> Tokenizer:
    """A byte-level BPE of `VOCABULARY` tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(_PIECES), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    special = [AddedToken(token, special=True, normalized=False) for token in (PAD, START, END)]
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


class Encoder:
    """Encodes chats; a message's frame and its content are encoded apart, which gives the tokens of the whole text."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.end = tokenizer.token_to_id(END)
        self.pad = tokenizer.token_to_id(PAD)
        self._frames = {role: tokenizer.encode(f"{START}{role}\n").ids for role in _ROLES}
        self._behind = tokenizer.encode("\n").ids

    @classmethod
    def of(cls, folder: Path) -> Encoder:
        """With the `tokenizer.json` of `folder`."""
        return cls(Tokenizer.from_file(str(folder / "tokenizer.json")))

    def pieces(self) -> tuple[list[str], list[str]]:
        """The vocabulary's lower-case pieces of words: those that begin one, and those that go on."""
        begin, go_on = [], []
        for piece in sorted(self.tokenizer.get_vocab()):
            word = piece.removeprefix(_SPACE)
            if word.isascii() and word.isalpha() and word.islower():
                (begin if piece.startswith(_SPACE) else go_on).append(word)
        return begin, go_on

    def encode(self, chats: Sequence[Sequence[Message]]) -> Iterator[tuple[list[int], list[float]]]:
        """Every chat's token ids and their weights in the loss."""
        contents = iter(self.tokenizer.encode_batch_fast([m["content"] for chat in chats for m in chat]))
        for chat in chats:
            ids: list[int] = []
            weights: list[float] = []
            for message in chat:
                frame, content = self._frames[message["role"]], next(contents).ids
                ids += [*frame, *content, self.end, *self._behind]
                weight = _WEIGHTS[message["role"]]
                end = 1.0 if message["role"] == "assistant" else 0.0
                weights += [*[0.0] * len(frame), *[weight] * len(content), end, 0.0]
            yield ids, weights

    def prompt(self, chat: Sequence[Message]) -> list[int]:
        """The token ids of a chat that waits for the assistant."""
        ((ids, _),) = self.encode([chat])
        return [*ids, *self._frames["assistant"]]
