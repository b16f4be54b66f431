"""Queries and keys read out of Transformers models, and the heads that the calibration prefers."""

import random
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaModel, Qwen3_5TextConfig, Qwen3_5TextModel

from sglang_v14.upgrade.attention import AttentionReader
from sglang_v14.upgrade.calibration import (
    EVENT_TOKENS,
    EVENTS,
    SHARED_TOKENS,
    Frame,
    RankedHead,
    draw_round,
    rank_heads,
)
from sglang_v14.upgrade.voting import chosen

FRAME = Frame((3, 1, 4, 1, 5), (9, 2))


def tiny_llama(**changes: Any) -> LlamaModel:
    config = LlamaConfig(
        vocab_size=900,
        hidden_size=64,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        attn_implementation="eager",
        **changes,
    )
    torch.manual_seed(1)
    return LlamaModel(config).eval()


def tiny_qwen3_5() -> Qwen3_5TextModel:
    config = Qwen3_5TextConfig(
        vocab_size=900,
        hidden_size=64,
        intermediate_size=32,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        linear_num_value_heads=4,
        linear_num_key_heads=2,
        linear_key_head_dim=16,
        linear_value_head_dim=16,
        layer_types=["linear_attention", "linear_attention", "full_attention", "full_attention"],
        attn_implementation="eager",
    )
    torch.manual_seed(2)
    model = Qwen3_5TextModel(config).eval()
    for layer in model.layers:
        if hasattr(layer, "linear_attn"):
            torch.nn.init.uniform_(layer.linear_attn.A_log, 0.0, 2.0)
            torch.nn.init.uniform_(layer.linear_attn.dt_bias, -6.0, -3.0)
        else:
            # Trained norms are not all ones: a norm left out would be seen.
            torch.nn.init.normal_(layer.self_attn.q_norm.weight, std=0.5)
            torch.nn.init.normal_(layer.self_attn.k_norm.weight, std=0.5)
    return model


@pytest.mark.parametrize("make", [tiny_llama, tiny_qwen3_5])
def test_rotated_queries_and_keys_give_the_models_own_attention(make: Any) -> None:
    model = make()
    tokens = torch.randint(0, 900, (2, 11))
    reader = AttentionReader(model)
    states = reader.read(tokens)
    with torch.inference_mode():
        weights = model(input_ids=tokens, output_attentions=True, use_cache=False).attentions
    full = [
        i
        for i, kind in enumerate(getattr(model.config, "layer_types", None) or ["full_attention"] * 2)
        if "full" in kind
    ]
    assert sorted(states) == full
    # Transformers lists the attention layers' weights only.
    for layer, expected in zip(full, [w for w in weights if w is not None][-len(full) :], strict=True):
        heads, key_heads = reader.heads(layer)
        positions = torch.arange(11)
        query = reader.rotate(layer, states[layer].query, positions)
        key = reader.rotate(layer, states[layer].key, positions).repeat_interleave(heads // key_heads, dim=2)
        scores = torch.einsum("pthd,pshd->phts", query, key) * reader.scale(layer)
        scores = scores.masked_fill(torch.ones(11, 11, dtype=torch.bool).triu(1), -torch.inf)
        torch.testing.assert_close(scores.softmax(dim=-1), expected, atol=1e-5, rtol=1e-4)


def test_a_rotation_depends_on_the_distance_only() -> None:
    reader = AttentionReader(tiny_llama())
    query, key = torch.randn(2, 1, 5, 4, 16)
    near, far = (
        torch.einsum(
            "pthd,pshd->phts",
            reader.rotate(0, query, torch.arange(5) + shift),
            reader.rotate(0, key, torch.arange(5) - 9 + shift),
        )
        for shift in (0, 40)
    )
    torch.testing.assert_close(near, far, atol=1e-4, rtol=1e-4)


def test_the_head_that_matches_tokens_is_found() -> None:
    """One head gets projections that compare the tokens themselves, in dimensions that RoPE hardly turns."""
    model = tiny_llama(head_dim=64, rope_parameters={"rope_type": "default", "rope_theta": 1e12})
    attention = model.layers[0].self_attn
    with torch.no_grad():
        slow = [dim for dim in range(64) if dim % 32 >= 12]
        same = torch.zeros(64, 64)
        same[slow, torch.arange(len(slow))] = 2.0
        attention.q_proj.weight[3 * 64 : 4 * 64] = same
        attention.k_proj.weight[1 * 64 : 2 * 64] = same
        model.embed_tokens.weight.copy_(torch.randn(900, 64))
    ranked = rank_heads(AttentionReader(model), FRAME, range(10, 900), rounds=1)
    assert len(ranked) == 8
    assert (ranked[0].layer, ranked[0].head) == (0, 3)
    assert ranked[0].margin > 0.1
    # The model's other heads are random.
    assert all(head.margin < 0.02 for head in ranked[1:])


def test_the_ranking_repeats_with_its_seed() -> None:
    reader = AttentionReader(tiny_llama())
    first, again, other = (rank_heads(reader, FRAME, range(900), rounds=1, seed=seed) for seed in (5, 5, 6))
    assert first == again
    assert first != other


def test_events_stand_right_before_the_cue(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event's chat up to its text ends at -1, the cue's prompt begins at 0."""
    reader, placed = AttentionReader(tiny_llama()), []
    rotate = reader.rotate

    def spy(layer: int, states: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        placed.append((int(positions[0]), int(positions[-1])))
        return rotate(layer, states, positions)

    monkeypatch.setattr(reader, "rotate", spy)
    rank_heads(reader, FRAME, range(900), rounds=1)
    length = len(FRAME.before) + EVENT_TOKENS
    assert set(placed) == {(0, length - 1), (-length, -1)}


def test_a_cue_shares_tokens_with_its_own_event_only() -> None:
    events, cues = draw_round(range(900), random.Random(3))
    assert events.shape == cues.shape == (EVENTS, EVENT_TOKENS)
    assert events.unique().numel() == events.numel()
    for number, cue in enumerate(cues.tolist()):
        shared = [len(set(cue) & set(event)) for event in events.tolist()]
        assert shared[number] == SHARED_TOKENS
        assert sum(shared) == SHARED_TOKENS


def test_heads_without_a_margin_are_kept_only_to_have_a_few() -> None:
    ranked = [RankedHead(0, number, 0.5 - number / 20) for number in range(40)]
    assert len(chosen(ranked, 32)) == 10
    assert chosen(ranked, 4) == tuple(ranked[:4])
    assert len(chosen([head._replace(margin=-1.0) for head in ranked], 32)) == 8


def test_a_small_vocabulary_is_refused() -> None:
    with pytest.raises(ValueError, match="different tokens"):
        draw_round(range(100), random.Random(0))
