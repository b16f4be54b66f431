"""Batches of training chats, made by many processes while the model trains."""

from __future__ import annotations

import multiprocessing
import queue
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy
from numpy.typing import NDArray

from .encoding import Encoder

LENGTHS = (128, 192, 256, 320, 384, 512, 768, 1024, 1536, 2560)
# Of a hundred samples; a text has more tokens than several chats.
_DOCUMENTS = 8
_CHATS_AT_ONCE = 200
_INVENTED = 120  # relations for so many chats


class Batch(NamedTuple):
    """Token ids and their weights in the loss, `[rows, length]`."""

    tokens: NDArray[numpy.int16]
    weights: NDArray[numpy.float16]


def rows_of(length: int, tokens: int) -> int:
    """How many rows of `length` make a batch of about `tokens`."""
    return tokens // length


def batches(folder: Path, seed: int, tokens: int) -> Iterator[Batch]:
    """Batches of one process, for ever. Rows of one length, each chat alone in a row."""
    from . import chats, invented, words

    encoder, rng = Encoder.of(folder), random.Random(seed)
    words.use_pieces(*encoder.pieces())
    waiting: dict[int, list[tuple[list[int], list[float]]]] = {length: [] for length in LENGTHS}
    while True:
        new = invented.relations(rng, _INVENTED)
        made = [
            chats.training_document(rng, new) if rng.randrange(100) < _DOCUMENTS else chats.training_chat(rng, new)
            for _ in range(_CHATS_AT_ONCE)
        ]
        for row in encoder.encode([sample.messages for sample in made]):
            length = next((length for length in LENGTHS if len(row[0]) <= length), None)
            if length is None:
                continue
            waiting[length].append(row)
            if len(waiting[length]) == rows_of(length, tokens):
                yield _packed(waiting[length], length, encoder.pad)
                waiting[length].clear()


def _packed(rows: list[tuple[list[int], list[float]]], length: int, pad: int) -> Batch:
    tokens = numpy.full((len(rows), length), pad, dtype=numpy.int16)
    weights = numpy.zeros((len(rows), length), dtype=numpy.float16)
    for i, (ids, weight) in enumerate(rows):
        tokens[i, : len(ids)] = ids
        weights[i, : len(ids)] = weight
    return Batch(tokens, weights)


def _produce(folder: Path, seed: int, tokens: int, out: multiprocessing.Queue[Batch]) -> None:
    for batch in batches(folder, seed, tokens):
        out.put(batch)


class Producers:
    """Processes that make batches."""

    def __init__(self, folder: Path, seed: int, tokens: int, processes: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._queue = context.Queue(maxsize=48)
        self._processes = [
            context.Process(target=_produce, args=(folder, seed * 1000 + i, tokens, self._queue), daemon=True)
            for i in range(processes)
        ]
        for process in self._processes:
            process.start()

    def __iter__(self) -> Iterator[Batch]:
        while True:
            try:
                yield self._queue.get(timeout=60)
            except queue.Empty:
                raise RuntimeError("the processes that make batches have stopped") from None

    def stop(self) -> None:
        """End the processes."""
        for process in self._processes:
            process.kill()
