"""Trains the tokenizer on the data: `python -m evals.tiny_hybrid.make_tokenizer`, in the project's root."""

from __future__ import annotations

import random

from . import chats
from .encoding import train_tokenizer
from .export import MODEL

_SEED, _CHATS = 3, 40_000


def main() -> None:
    """Write `model/tokenizer.json`. A model that was trained with another one has to be trained again."""
    rng = random.Random(_SEED)
    samples = (chats.training_chat(rng) for _ in range(_CHATS))
    tokenizer = train_tokenizer(message["content"] for sample in samples for message in sample.messages)
    MODEL.mkdir(exist_ok=True)
    tokenizer.save(str(MODEL / "tokenizer.json"))


if __name__ == "__main__":
    main()
