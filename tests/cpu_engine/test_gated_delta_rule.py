"""The chunked gated delta rule against the recurrence, in float64, with the decay of a trained model."""

from collections.abc import Iterator

import pytest
import torch

from sglang_v14.cpu_engine.kernels.gated_delta_pool import (
    chunk_gated_delta_rule_cpu,
    fused_sigmoid_gating_delta_rule_update_cpu,
)
from sglang_v14.cpu_engine.kernels.gated_delta_rule import CHUNK_TOKENS, gated_delta_rule, l2_normalize
from sglang_v14.cpu_engine.kernels.gated_delta_rule_naive import gated_delta_rule_naive
from sglang_v14.cpu_engine.kernels.gating import fused_gdn_gating_cpu

KEY_HEADS, VALUE_HEADS, KEY_DIM, VALUE_DIM = 2, 4, 16, 8


@pytest.fixture(autouse=True)
def poisoned_memory() -> Iterator[None]:
    """Every tensor that is allocated without a value starts as NaN."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    assert torch.empty(3).isnan().all()
    yield
    torch.use_deterministic_algorithms(False)


def inputs(tokens: int, seed: int, dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, ...]:
    """q, k, v, g, beta and a state. The decay per token lies between about 0.9 and 0.999."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    q = l2_normalize(normal(tokens, KEY_HEADS, KEY_DIM)) * KEY_DIM**-0.5
    k = l2_normalize(normal(tokens, KEY_HEADS, KEY_DIM))
    v = normal(tokens, VALUE_HEADS, VALUE_DIM)
    A_log = torch.linspace(-1.0, 0.5, VALUE_HEADS, dtype=torch.float64)
    dt_bias = torch.linspace(-6.0, -3.0, VALUE_HEADS, dtype=torch.float64)
    g = -A_log.exp() * torch.nn.functional.softplus(normal(tokens, VALUE_HEADS) * 0.5 + dt_bias)
    beta = torch.sigmoid(normal(tokens, VALUE_HEADS))
    state = normal(VALUE_HEADS, VALUE_DIM, KEY_DIM)
    return tuple(x.to(dtype) for x in (q, k, v, g, beta, state))


def test_inputs_remember() -> None:
    """The first token still matters 200 tokens later, so that a wrong carry cannot hide."""
    g = inputs(200, seed=0)[3]
    assert g.sum(0).exp().max() > 0.3


@pytest.mark.parametrize("tokens", [1, 2, 63, 64, 65, 128, 200])
def test_chunks_equal_the_recurrence(tokens: int) -> None:
    """Outputs, final state and the state at every chunk start, to rounding of float64."""
    case = inputs(tokens, seed=tokens)
    out, final, states = gated_delta_rule(*case)
    expected, expected_states = gated_delta_rule_naive(*case)
    torch.testing.assert_close(out, expected, rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(final, expected_states[-1], rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(states, expected_states[:-1:CHUNK_TOKENS], rtol=1e-9, atol=1e-10)


def test_float32_stays_close_to_float64() -> None:
    """The dtype that the engine computes in."""
    case = inputs(200, seed=1)
    out, final, _ = gated_delta_rule(*(x.float() for x in case))
    expected, expected_states = gated_delta_rule_naive(*case)
    assert out.dtype == torch.float32
    torch.testing.assert_close(out.double(), expected, rtol=1e-4, atol=2e-5)
    torch.testing.assert_close(final.double(), expected_states[-1], rtol=1e-4, atol=2e-5)


def test_strong_decay_neither_overflows_nor_leaks() -> None:
    """Cumulated log decays of -1000 must not become inf * 0."""
    q, k, v, g, beta, state = inputs(130, seed=2)
    g = g - 20.0
    out, _, _ = gated_delta_rule(q.float(), k.float(), v.float(), g.float(), beta.float(), state.float())
    expected, _ = gated_delta_rule_naive(q, k, v, g, beta, state)
    torch.testing.assert_close(out.double(), expected, rtol=1e-4, atol=1e-5)


def test_pool_prefill_of_a_ragged_batch() -> None:
    """Sequences of 70, 0, 64 and 5 tokens, one of them without a slot, padding behind the last."""
    lengths, slots = [70, 0, 64, 5], [3, 1, -1, 0]
    total = sum(lengths) + 2
    q, k, v, g, beta, _ = inputs(total, seed=3, dtype=torch.float32)
    q, k = q * 3.0, k * 3.0
    pool = torch.randn(5, VALUE_HEADS, VALUE_DIM, KEY_DIM)
    before = pool.clone()
    starts = torch.tensor([0, *torch.tensor(lengths).cumsum(0).tolist()])
    out, _, chunk_states = chunk_gated_delta_rule_cpu(
        q[None], k[None], v[None], g[None], beta[None], pool, starts, initial_state_indices=torch.tensor(slots)
    )
    expected_chunk_states = []
    for slot, start, end in zip(slots, starts.tolist(), starts.tolist()[1:], strict=False):
        if start == end:
            continue
        state = before[slot] if slot >= 0 else torch.zeros_like(before[0])
        expected, states = gated_delta_rule_naive(
            l2_normalize(q[start:end]) * KEY_DIM**-0.5,
            l2_normalize(k[start:end]),
            v[start:end],
            g[start:end],
            beta[start:end],
            state,
        )
        torch.testing.assert_close(out[0, start:end], expected, rtol=1e-4, atol=1e-5)
        if slot >= 0:
            torch.testing.assert_close(pool[slot], states[-1], rtol=1e-4, atol=1e-5)
        expected_chunk_states.append(states[:-1:CHUNK_TOKENS])
    torch.testing.assert_close(chunk_states[0], torch.cat(expected_chunk_states), rtol=1e-4, atol=1e-5)
    for untouched in (1, 2, 4):
        assert torch.equal(pool[untouched], before[untouched])
    assert torch.equal(out[0, -2:], torch.zeros_like(out[0, -2:]))


def test_pool_decode_step() -> None:
    """One token of three sequences, the middle one padding."""
    slots = torch.tensor([2, -1, 0])
    q, k, v, _, _, _ = inputs(3, seed=4, dtype=torch.float32)
    A_log, dt_bias = torch.linspace(-1, 0.5, VALUE_HEADS), torch.linspace(-6, -3, VALUE_HEADS)
    a, b = torch.randn(3, VALUE_HEADS), torch.randn(3, VALUE_HEADS)
    pool = torch.randn(4, VALUE_HEADS, VALUE_DIM, KEY_DIM)
    before = pool.clone()
    out = fused_sigmoid_gating_delta_rule_update_cpu(
        A_log, dt_bias, q[None], k[None], v[None], a, b, pool, slots, cu_seqlens=torch.arange(4)
    )
    g, beta = fused_gdn_gating_cpu(A_log, a, b, dt_bias)
    for row, slot in enumerate(slots.tolist()):
        if slot < 0:
            assert torch.equal(out[0, row], torch.zeros_like(out[0, row]))
            continue
        expected, states = gated_delta_rule_naive(
            l2_normalize(q[row : row + 1]) * KEY_DIM**-0.5,
            l2_normalize(k[row : row + 1]),
            v[row : row + 1],
            g[0, row : row + 1],
            beta[0, row : row + 1],
            before[slot],
        )
        torch.testing.assert_close(out[0, row], expected[0], rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(pool[slot], states[-1], rtol=1e-5, atol=1e-6)
    for untouched in (1, 3):
        assert torch.equal(pool[untouched], before[untouched])


def test_speculative_arguments_are_refused_by_name() -> None:
    """Verification needs states after every draft token, which this kernel does not keep."""
    empty = torch.zeros(1, 1, 1, 1)
    with pytest.raises(NotImplementedError, match="disable_state_update"):
        fused_sigmoid_gating_delta_rule_update_cpu(
            *(empty,) * 7, empty, torch.zeros(1, dtype=torch.long), disable_state_update=True
        )
