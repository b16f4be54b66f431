"""What the model can do on names, values and phrasings that it never saw."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..functional.scoring import contains_any
from . import chats
from .batches import LENGTHS, rows_of
from .encoding import Encoder
from .fast_forward import logits_at

TASKS = ("fact", "paraphrase", "correction", "two_step", "document", "knowledge", "unknown")
REPLY_TOKENS = 40


class Question(NamedTuple):
    """A prompt, and what its reply must and must not contain."""

    task: str
    prompt: list[int]
    accepted: tuple[str, ...]
    wrong: tuple[str, ...]


class Reply(NamedTuple):
    """What the model said to a question."""

    question: Question
    text: str

    @property
    def right(self) -> bool:
        """Whether it says an accepted value and no wrong one."""
        return contains_any(self.text, self.question.accepted) and not contains_any(self.text, self.question.wrong)


def questions(encoder: Encoder, task: str, split: str, number: int, seed: int) -> list[Question]:
    """`number` questions of a task; `split` is `heldout` or `train`."""
    rng = random.Random(f"{seed} {task} {split}")
    made: list[Question] = []
    while len(made) < number:
        sample = chats.sample(rng, split, task)
        for index, accepted, wrong in sample.judged:
            prompt = encoder.prompt(sample.messages[:index])
            if len(prompt) + REPLY_TOKENS <= LENGTHS[-1]:
                made.append(Question(task, prompt, accepted, wrong))
    return made[:number]


@torch.no_grad()
def answer(model: Any, encoder: Encoder, asked: Sequence[Question], tokens: int, dtype: torch.dtype) -> list[Reply]:
    """Greedy replies, computed `tokens` at a time."""
    replies: dict[int, str] = {}
    device = model.model.embed_tokens.weight.device
    by_length: dict[int, list[int]] = {}
    for i, question in enumerate(asked):
        need = len(question.prompt) + REPLY_TOKENS
        by_length.setdefault(next(length for length in LENGTHS if need <= length), []).append(i)
    for length, numbers in by_length.items():
        rows = rows_of(length, tokens)
        for first in range(0, len(numbers), rows):
            some = numbers[first : first + rows]
            batch = torch.full((rows, length), encoder.pad, dtype=torch.long)
            for row, i in enumerate(some):
                batch[row, : len(asked[i].prompt)] = torch.tensor(asked[i].prompt)
            # Rows that fill the batch up begin at 1.
            starts = torch.ones(rows, dtype=torch.long)
            starts[: len(some)] = torch.tensor([len(asked[i].prompt) for i in some])
            said = _generate(model, batch.to(device), starts.to(device), encoder.end, dtype)
            for row, i in enumerate(some):
                ids = said[row].tolist()
                replies[i] = encoder.tokenizer.decode(ids[: ids.index(encoder.end)] if encoder.end in ids else ids)
    return [Reply(question, replies[i]) for i, question in enumerate(asked)]


def _generate(model: Any, batch: Tensor, starts: Tensor, end: int, dtype: torch.dtype) -> Tensor:
    """Up to `REPLY_TOKENS` more tokens of every row `[rows, REPLY_TOKENS]`, until `end`."""
    rows = torch.arange(len(batch), device=batch.device)
    ended = starts == 1
    for step in range(REPLY_TOKENS):
        at = starts + step
        batch[rows, at] = logits_at(model, batch, at - 1, dtype).argmax(-1)
        ended |= batch[rows, at] == end
        if bool(ended.all()):
            break
    return torch.stack([batch[rows, starts + step] for step in range(REPLY_TOKENS)], dim=1)


def report(model: Any, encoder: Encoder, number: int, seed: int, tokens: int, dtype: torch.dtype) -> dict[str, Any]:
    """Shares of right replies per task, on held-out and on training splits, with some replies to look at."""
    out: dict[str, Any] = {}
    for split in ("heldout", "train"):
        for task in TASKS:
            replies = answer(model, encoder, questions(encoder, task, split, number, seed), tokens, dtype)
            right = sum(reply.right for reply in replies)
            wrong = [r for r in replies if not r.right][:4]
            shown = [{"said": r.text, "accepted": list(r.question.accepted)} for r in [*replies[:2], *wrong]]
            out.setdefault(split, {})[task] = {"right": right, "of": number, "replies": shown}
    return out
