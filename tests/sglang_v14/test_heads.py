"""Which keys the voting heads read, and which heads a model does not have."""

from __future__ import annotations

import pytest
import torch
from tiny_model import Layer

from sglang_v14.heads import VotingHeads
from sglang_v14.rope import NoRope

LAYERS = {2: Layer(query_heads=6, key_heads=2), 5: Layer(query_heads=4, key_heads=4)}
ROPES = {2: NoRope(), 5: NoRope()}


def test_heads_that_share_keys_share_a_row(generator: torch.Generator) -> None:
    """Keys are kept once for every key head that is read, and every voting head finds its own."""
    heads = VotingHeads([(2, 4), (5, 1), (2, 1), (2, 3)], LAYERS, ROPES)
    assert heads.key_rows == ((2, 1), (5, 1), (2, 0))
    assert heads.key_row == [0, 1, 2, 0]
    assert len(heads) == 4
    of_layer = {layer: heads.of_layer(layer) for layer in (2, 5, 9)}
    assert {layer: both and [part.tolist() for part in both] for layer, both in of_layer.items()} == {
        2: [[0, 2, 3], [4, 1, 3]],
        5: [[1], [1]],
        9: None,
    }
    keys = {2: torch.randn(3, 2, 16, generator=generator), 5: torch.randn(3, 4, 16, generator=generator)}
    picked = heads.keys(keys)
    for row, (layer, head) in enumerate(((2, 1), (5, 1), (2, 0))):
        assert torch.equal(picked[:, row], keys[layer][:, head])


@pytest.mark.parametrize(
    ("heads", "fault"),
    [
        ([], "no voting heads"),
        ([(2, 6)], "layer 2 with a head 6"),
        ([(3, 0)], "layer 3 with a head 0"),
        ([(2, 0), (7, 0)], "differ in their dims"),
    ],
)
def test_heads_that_a_model_does_not_have(heads: list[tuple[int, int]], fault: str) -> None:
    """The error names what is missing."""
    layers = {**LAYERS, 7: Layer(head_dim=32)}
    with pytest.raises(ValueError, match=fault):
        VotingHeads(heads, layers, {**ROPES, 7: NoRope()})
