"""Making events of what a clean first reading left in the K/V pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from memory_store import Block, Event, EventHead

from .engrams.engram import EngramForm, StateEngram
from .engrams.gated_delta import transition
from .events import Span
from .heads import VotingHeads
from .hooks.recurrent_layers import RecurrentInputs
from .index import Entry
from .placed import EventBody, block_of, tensor_of
from .rope import NoRope, Rope


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A prompt's new events, copied out of the pool.

    `keys` (rotated) and `values` `[layers, tokens, key_heads, dim]`, `queries` `[tokens, heads, dim]` (rotated, of the
    voting heads), `lse` `[heads, tokens]` and, of every recurrent layer, `recurrent` hold the tokens at `positions`
    `[tokens]`: those of `spans`, one after the other.
    """

    namespace: str
    conversation: bytes
    created_at: float
    token_ids: Sequence[int]
    spans: Sequence[Span]
    layers: tuple[int, ...]
    positions: Tensor
    keys: Tensor
    values: Tensor
    queries: Tensor
    lse: Tensor
    recurrent: tuple[RecurrentInputs, ...] = ()
    window_width: int = 0

    @property
    def size_bytes(self) -> int:
        tensors = [self.keys, self.values, self.queries, self.lse]
        for inputs in self.recurrent:
            tensors += [inputs.window, inputs.keys, inputs.values, inputs.log_decay, inputs.write]
        return sum(t.numel() * t.element_size() for t in tensors)


def storage_dtype(kv: torch.dtype) -> torch.dtype:
    """The dtype in which keys and values are stored: the pool's own, float32 as float16 (relative error 2^-11)."""
    return torch.float16 if kv == torch.float32 else kv


def events_of(
    snapshot: Snapshot, heads: VotingHeads, ropes: Mapping[int, Rope | NoRope], dtype: torch.dtype, form: EngramForm
) -> list[Event]:
    """The snapshot's events, keys no longer rotated."""
    rotated = snapshot.keys.float()
    plain = torch.stack([ropes[layer].undo(rotated[i], snapshot.positions) for i, layer in enumerate(snapshot.layers)])
    queries = heads.rope.undo(snapshot.queries.float(), snapshot.positions)
    voting_keys = heads.keys(dict(zip(snapshot.layers, plain, strict=True)))
    numbers = np.asarray(heads.heads, dtype=np.int32)
    events, first = [], 0
    for span in snapshot.spans:
        tokens = slice(first, first + span.end - span.start)
        first = tokens.stop
        keys, values = _fit(plain[:, tokens], dtype), _fit(snapshot.values[:, tokens], dtype)
        engram = engram_of([inputs.of(tokens) for inputs in snapshot.recurrent], snapshot.window_width, form)
        body = EventBody(snapshot.layers, keys, values, engram)
        events.append(
            Event(
                id=span.id,
                namespace=snapshot.namespace,
                token_ids=tuple(snapshot.token_ids[span.start : span.end]),
                role=span.role,
                # What is said later in one prompt is the newer.
                created_at=snapshot.created_at + 1e-5 * len(events),
                conversation=snapshot.conversation,
                start=span.start,
                index={
                    "voting_heads": Block.from_array(numbers),
                    "keys": block_of(_fit(voting_keys[tokens], torch.float16)),
                    "queries": block_of(_fit(queries[tokens], torch.float16)),
                    "lse": block_of(snapshot.lse[:, tokens].float()),
                },
                body=body.blocks(),
            )
        )
    return events


def engram_of(layers: Sequence[RecurrentInputs], width: int, form: EngramForm) -> StateEngram | None:
    """The engram of an event's tokens, from what every recurrent layer does with them; None without such layers."""
    if not layers or not form.rank:
        return None
    transitions = [transition(x.keys, x.values, x.log_decay, x.write) for x in layers]
    windows = [window_behind(x.window.new_zeros(x.window.shape[1], width), x.window) for x in layers]
    return StateEngram.of(transitions, torch.stack(windows), form)


def window_behind(before: Tensor, inputs: Tensor) -> Tensor:
    """A convolution's last inputs `[channels, width]` behind `inputs` `[tokens, channels]`, oldest first; `before` are
    those in front of them."""
    return torch.cat((before, inputs.T.to(before.dtype)), dim=1)[:, -before.shape[1] :]


def _fit(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """`tensor` in `dtype`, or in bfloat16 where float16 would overflow."""
    if dtype == torch.float16 and tensor.numel() and float(tensor.abs().max()) > 65504:
        return tensor.to(torch.bfloat16)
    return tensor.to(dtype)


def entry_of(event: Event | EventHead, heads: VotingHeads, body: Mapping[str, Block] | None = None) -> Entry | None:
    """The index entry of a stored event.

    An event that was written with other voting heads is indexed from `body`, without a cue of its own; None when that
    is not given.
    """
    blocks = event.index
    same = "voting_heads" in blocks and tuple(map(tuple, blocks["voting_heads"].array().tolist())) == heads.heads
    if not same and body is None:
        return None
    if same:
        keys, queries, lse = tensor_of(blocks["keys"]), tensor_of(blocks["queries"]), tensor_of(blocks["lse"])
    else:
        assert body is not None
        stored = EventBody.from_blocks(body)
        keys, queries, lse = heads.keys(dict(zip(stored.layers, stored.keys, strict=True))), None, None
    return Entry(event.id, event.namespace, tuple(event.token_ids), event.role, event.created_at, keys, queries, lse)
