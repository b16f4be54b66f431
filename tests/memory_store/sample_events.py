"""Events to store: random but reproducible, and strategies that draw odd ones."""

from __future__ import annotations

import hashlib

import numpy as np
from hypothesis import strategies as st

from memory_store import DTYPE_BYTES, Block, Event
from memory_store.keys import MAX_NAMESPACE_BYTES

IDENTITY = {"model": "tiny", "layers": 2, "rope_theta": 10000.0, "markers": [1, 2]}


def event_id(number: int) -> bytes:
    return hashlib.blake2b(number.to_bytes(8, "little"), digest_size=16).digest()


def make_event(number: int, namespace: str = "alice", *, tokens: int = 16, width: int = 64) -> Event:
    """An event whose arrays are [tokens, width] float16 of normal values that follow from `number`."""
    random = np.random.default_rng(number)
    names = ("key.0", "value.0", "key.1", "value.1")
    body = {name: Block.from_array(random.standard_normal((tokens, width)).astype(np.float16)) for name in names}
    return Event(
        id=event_id(number),
        namespace=namespace,
        token_ids=tuple(random.integers(0, 50_000, tokens).tolist()),
        role="user",
        created_at=1_000_000.0 + number,
        conversation=event_id(number + 1),
        start=number,
        index={"key.0": body["key.0"]},
        body=body,
    )


namespaces = st.text(st.characters(codec="utf-8"), max_size=60).filter(lambda n: len(n.encode()) <= MAX_NAMESPACE_BYTES)
ids = st.binary(min_size=16, max_size=16)


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    dtype = draw(st.sampled_from(sorted(DTYPE_BYTES)))
    shape = tuple(draw(st.lists(st.integers(0, 5), max_size=4)))
    size_bytes = int(np.prod(shape, dtype=int)) * DTYPE_BYTES[dtype]
    # A repeated byte makes zstd win, random bytes make it lose: both ways of storing are drawn.
    data = draw(st.one_of(st.binary(min_size=size_bytes, max_size=size_bytes), st.just(b"\x07" * size_bytes)))
    return Block(dtype, shape, data)


block_maps = st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=20), blocks(), max_size=4)
times = st.floats(0, 1e11, allow_nan=False)

events = st.builds(
    Event,
    id=ids,
    namespace=namespaces,
    token_ids=st.lists(st.integers(0, 2**32 - 1), max_size=20).map(tuple),
    role=st.text(st.characters(codec="utf-8"), max_size=20),
    created_at=times,
    conversation=st.one_of(st.just(b""), ids),
    start=st.integers(0, 2**32 - 1),
    index=block_maps,
    body=block_maps,
)
