"""Arrays to blocks and back."""

from __future__ import annotations

import numpy as np
import pytest

from memory_store import Block, InvalidEvent
from memory_store.base import DTYPE_BYTES
from memory_store.block_codec import _DTYPE_CODES, decode_blocks, encode_blocks
from memory_store.format import PayloadReader


@pytest.mark.parametrize(
    "dtype", ["float64", "float32", "float16", "int64", "int32", "uint8", "int8", "bool", "uint16"]
)
def test_array_survives(dtype: str) -> None:
    array = (np.random.default_rng(0).standard_normal((3, 4, 5)) * 100).astype(dtype)
    block = Block.from_array(array)
    assert (block.dtype, block.shape) == (dtype, (3, 4, 5))
    np.testing.assert_array_equal(block.array(), array)
    assert block.array().dtype == array.dtype


def test_strided_and_big_endian_arrays_are_stored_in_c_order_little_endian() -> None:
    array = np.arange(12, dtype=">i4").reshape(3, 4).T
    block = Block.from_array(array)
    assert block.data == np.array([0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11], "<i4").tobytes()
    np.testing.assert_array_equal(block.array(), array)


def test_bfloat16_comes_back_as_its_bits() -> None:
    bits = np.array([0x3F80, 0xC000], np.uint16)
    block = Block.from_array(bits, dtype="bfloat16")
    assert block.dtype == "bfloat16"
    np.testing.assert_array_equal(block.array(), bits)


def test_scalar_and_empty_shapes() -> None:
    assert Block.from_array(np.array(2.5)).array().item() == 2.5
    assert Block.from_array(np.zeros((0, 7), np.float16)).array().shape == (0, 7)


@pytest.mark.parametrize(
    ("dtype", "shape", "data"),
    [
        ("float16", (2,), b"123"),
        ("float16", (2,), b"12345"),
        ("complex64", (1,), b"12345678"),
        ("int8", (-1, -2), b"12"),
    ],
)
def test_impossible_blocks_are_refused(dtype: str, shape: tuple[int, ...], data: bytes) -> None:
    with pytest.raises(InvalidEvent):
        Block(dtype, shape, data)


def test_every_dtype_has_a_code_of_its_own() -> None:
    assert _DTYPE_CODES.keys() == DTYPE_BYTES.keys()
    assert len(set(_DTYPE_CODES.values())) == len(_DTYPE_CODES)


@pytest.mark.parametrize(("dtype", "at_most"), [("float16", 0.89), ("bfloat16", 0.73), ("float32", 0.87)])
def test_byte_planes_pay_on_normal_values(dtype: str, at_most: float) -> None:
    values = np.random.default_rng(0).standard_normal((128, 3, 64)).astype(np.float32)
    if dtype == "bfloat16":
        block = Block.from_array((values.view(np.uint32) >> 16).astype(np.uint16), dtype)
    else:
        block = Block.from_array(values.astype(dtype))
    packed = b"".join(encode_blocks({"key": block}))
    assert len(packed) < at_most * len(block.data)
    assert decode_blocks(PayloadReader(packed)) == {"key": block}


@pytest.mark.parametrize(
    "blocks",
    [
        {"n" * 256: Block("uint8", (1,), b"1")},
        {"\ud800": Block("uint8", (1,), b"1")},
        {"deep": Block("uint8", (1,) * 9, b"1")},
        {"wide": Block("uint8", (2**32, 0), b"")},
    ],
)
def test_what_the_format_cannot_hold_is_refused(blocks: dict[str, Block]) -> None:
    with pytest.raises(InvalidEvent):
        encode_blocks(blocks)
