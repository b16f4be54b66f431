"""Calibrates a checkpoint: loads the model, finds its voting heads and reads the neutral bank."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .checkpoint import Checkpoint
from .linking import share_readable, total_bytes
from .template import Template

if TYPE_CHECKING:
    from torch import Tensor

    from .calibration import Frame, RankedHead

_SINK_TOKENS = 4
_LEAST_HEADS = 8
_BYTES_OF = {"float32": 4, "bfloat16": 2, "float16": 2}
_HEADROOM = 0.7


@dataclass(frozen=True)
class Calibration:
    """The voting heads, best first, the bank (see `bank_keys`), and how long it took."""

    heads: tuple[RankedHead, ...]
    bank_texts: list[list[int]]
    bank_keys: Tensor
    bank_lengths: Tensor
    seconds: float

    def write_bank(self, directory: Path) -> None:
        """Write the bank's keys into the model directory."""
        from sglang_v14.bank import BANK_FILE

        from .bank_keys import write_bank

        heads = [(head.layer, head.head) for head in self.heads]
        write_bank(directory, self.bank_texts, self.bank_keys, self.bank_lengths, heads)
        share_readable(directory / BANK_FILE)


def calibrate(
    checkpoint: Checkpoint,
    tokenizer: Any,
    begin: Sequence[int],
    heads: int,
    seed: int,
    bank: Sequence[str],
    advance: Callable[[int, int], None],
) -> tuple[Calibration | None, str]:
    """Calibrate the checkpoint, or say in a sentence why it cannot be.

    `begin` holds the tokens that start every prompt; `advance` is told the steps done and in all.
    """
    own = checkpoint.config.get("text_config", {}) | checkpoint.config
    if own.get("quantization_config"):
        return None, "the weights are quantised"
    dtype = _loading_dtype(checkpoint, str(own.get("dtype") or own.get("torch_dtype") or "float32"))
    if dtype is None:
        return None, "the weights do not fit into the free memory of this machine"
    vocabulary = _ordinary_tokens(tokenizer)

    import torch
    from transformers import AutoModel

    from . import calibration
    from .attention import AttentionReader
    from .bank_keys import encode_bank

    started = time.monotonic()
    model = AutoModel.from_pretrained(checkpoint.path, dtype=getattr(torch, dtype), local_files_only=True).eval()
    reader = AttentionReader(model)
    frame = _frame(tokenizer, begin, vocabulary)
    total = calibration.ROUNDS * calibration.steps_in_a_round()
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        advance(done, total)

    try:
        ranked = calibration.rank_heads(reader, frame, vocabulary, seed=seed, advance=step)
    except ValueError as error:
        return None, f"the vocabulary is too small ({error})"
    best = chosen(ranked, heads)
    texts = [list(tokenizer(text, add_special_tokens=False).input_ids) for text in bank]
    keys, lengths = encode_bank(reader, frame, texts, [(head.layer, head.head) for head in best])
    return Calibration(best, texts, keys, lengths, time.monotonic() - started), ""


def chosen(ranked: Sequence[RankedHead], most: int) -> tuple[RankedHead, ...]:
    """The best heads: those that prefer the right event, `most` at the most and a few in any case.

    Heads without a positive margin change no vote, and every voting head costs storage and time.
    """
    return tuple(head for place, head in enumerate(ranked[:most]) if head.margin > 0 or place < _LEAST_HEADS)


def _loading_dtype(checkpoint: Checkpoint, own: str) -> str | None:
    """float32 where it fits into the free memory, else the checkpoint's own dtype, else None."""
    size = total_bytes(checkpoint.weights)
    free = _free_bytes()
    if own in _BYTES_OF and size * 4 // _BYTES_OF[own] <= free * _HEADROOM:
        return "float32"
    return own if own in _BYTES_OF and size <= free * _HEADROOM else None


def _free_bytes() -> float:
    """Memory that can be used without swapping; without bound where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return float("inf")
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), float("inf"))


def _ordinary_tokens(tokenizer: Any) -> list[int]:
    special = {*tokenizer.all_special_ids, *tokenizer.added_tokens_decoder}
    return [token for token in sorted(tokenizer.get_vocab().values()) if token not in special]


def _frame(tokenizer: Any, begin: Sequence[int], vocabulary: Sequence[int]) -> Frame:
    """The tokens around a user's text in a chat of one message that asks for an answer.

    Without a usable template: what begins every prompt, filled up to the few first tokens that are never content.
    """
    from .calibration import Frame

    chat = Template(tokenizer).around_user_text()
    if chat is not None:
        return Frame(tuple(chat[0]), tuple(chat[1]))
    filler = vocabulary[: max(0, _SINK_TOKENS - len(begin))]
    return Frame((*begin, *filler), ())
