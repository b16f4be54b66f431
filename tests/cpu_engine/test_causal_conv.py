"""The causal convolution against its formula, written out."""

import pytest
import torch

from sglang_v14.cpu_engine.kernels.causal_conv import causal_conv1d_fn_cpu, causal_conv1d_update_cpu

CHANNELS, WIDTH = 6, 4


def by_formula(past: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """``past`` ``[channels, width - 1]``, ``x`` ``[channels, tokens]``."""
    inputs = torch.cat((past, x), 1)
    columns = [sum(weight[:, w] * inputs[:, t + w] for w in range(weight.shape[1])) + bias for t in range(x.shape[1])]
    y = torch.stack(columns, 1)
    return y * torch.sigmoid(y)


def test_prefill_of_a_ragged_batch() -> None:
    """New and continued sequences, one shorter than the window, one without a slot, padding behind the last."""
    lengths = [5, 2, 9, 4]
    slots, continued = [2, 0, 3, -1], [False, True, True, False]
    starts = torch.tensor([0, *torch.tensor(lengths).cumsum(0).tolist()])
    total = sum(lengths) + 1
    # As the layers pass it: a transposed view.
    x = torch.randn(total, CHANNELS).t()
    weight, bias = torch.randn(CHANNELS, WIDTH), torch.randn(CHANNELS)
    pool = torch.randn(5, CHANNELS, WIDTH - 1)
    before = pool.clone()
    out = causal_conv1d_fn_cpu(
        x,
        weight,
        bias,
        activation="silu",
        conv_states=pool,
        has_initial_state=torch.tensor(continued),
        cache_indices=torch.tensor(slots, dtype=torch.int32),
        query_start_loc=starts,
        seq_lens_cpu=lengths,
    )
    assert out.shape == x.shape
    for slot, goes_on, start, end in zip(slots, continued, starts.tolist(), starts.tolist()[1:], strict=False):
        past = before[slot] if goes_on else torch.zeros(CHANNELS, WIDTH - 1)
        torch.testing.assert_close(out[:, start:end], by_formula(past, x[:, start:end], weight, bias))
        if slot >= 0:
            assert torch.equal(pool[slot], torch.cat((past, x[:, start:end]), 1)[:, 1 - WIDTH :])
    for untouched in (1, 4):
        assert torch.equal(pool[untouched], before[untouched])
    assert torch.equal(out[:, -1], torch.zeros(CHANNELS))


def test_decode_continues_the_prefill() -> None:
    """Ten tokens at once are the same as six at once and four one by one."""
    x = torch.randn(10, CHANNELS)
    weight, bias = torch.randn(CHANNELS, WIDTH), torch.randn(CHANNELS)
    expected = by_formula(torch.zeros(CHANNELS, WIDTH - 1), x.t(), weight, bias).t()
    pool = torch.randn(3, CHANNELS, WIDTH - 1)
    causal_conv1d_fn_cpu(
        x[:6].t(),
        weight,
        bias,
        activation="silu",
        conv_states=pool,
        has_initial_state=torch.tensor([False]),
        cache_indices=torch.tensor([1]),
        query_start_loc=torch.tensor([0, 6]),
    )
    padding = pool[0].clone()
    for token in range(6, 10):
        rows = torch.stack((x[token], torch.full((CHANNELS,), torch.nan)))
        out = causal_conv1d_update_cpu(
            rows, pool, weight, bias, activation="silu", conv_state_indices=torch.tensor([1, -1])
        )
        torch.testing.assert_close(out[0], expected[token])
    assert torch.equal(pool[0], padding)


def test_what_is_missing_says_so() -> None:
    """Several tokens a sequence, and activations that no model here uses."""
    pool, weight = torch.zeros(1, CHANNELS, WIDTH - 1), torch.zeros(CHANNELS, WIDTH)
    with pytest.raises(NotImplementedError, match="causal_conv1d_update_cpu"):
        causal_conv1d_update_cpu(torch.zeros(1, CHANNELS, 2), pool, weight, None, "silu", torch.tensor([0]))
    with pytest.raises(ValueError, match="gelu"):
        causal_conv1d_update_cpu(torch.zeros(1, CHANNELS), pool, weight, None, "gelu", torch.tensor([0]))
