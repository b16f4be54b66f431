"""The small kernels and the faster attention against their formulas, in float64."""

from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
import torch

from sglang_v14.cpu_engine import attention
from sglang_v14.cpu_engine.kernels.attention import attend
from sglang_v14.cpu_engine.kernels.gated_norm import layernorm_fn
from sglang_v14.cpu_engine.kernels.gating import fused_gdn_gating_cpu, fused_sigmoid_mul_cpu
from sglang_v14.cpu_engine.kernels.projections import fused_qkvzba_split_reshape_cat_contiguous_cpu
from sglang_v14.cpu_engine.kernels.qk_norm import fused_qk_gemma_rmsnorm_with_gate_cpu
from sglang_v14.cpu_engine.kernels.state_tracking import track_mamba_states_all_layers, track_mamba_states_if_needed
from sglang_v14.cpu_engine.kernels.token_pool import assign_req_to_token_pool_cpu


def refused(*args: Any, **kwargs: Any) -> NoReturn:
    """Stands for SGLang's own method where it must not be called."""
    raise AssertionError("the original was called")


def naive_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, seen: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """``seen`` ``[new, tokens]``; loops over heads, in float64. The output and the log-sum-exp."""
    groups = q.shape[1] // k.shape[1]
    out = torch.full((*q.shape[:2], v.shape[-1]), torch.nan, dtype=torch.float64)
    lse = torch.full(q.shape[:2], torch.nan, dtype=torch.float64)
    for head in range(q.shape[1]):
        scores = q[:, head].double() @ k[:, head // groups].double().t() * q.shape[-1] ** -0.5
        scores = scores.masked_fill(~seen, float("-inf"))
        out[:, head] = torch.softmax(scores, -1) @ v[:, head // groups].double()
        lse[:, head] = torch.logsumexp(scores, -1)
    return out, lse


@pytest.mark.parametrize(("new", "tokens"), [(1, 1), (1, 9), (5, 5), (4, 11), (9, 11), (70, 200)])
@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("causal", [True, False])
def test_attention(new: int, tokens: int, window: int | None, causal: bool) -> None:
    """Whole prompts, prompts behind a prefix, single tokens; with and without a sliding window."""
    q, k, v = torch.randn(new, 6, 8), torch.randn(tokens, 2, 8), torch.randn(tokens, 2, 8)
    query, key = torch.arange(tokens - new, tokens)[:, None], torch.arange(tokens)
    seen = torch.ones(new, tokens, dtype=torch.bool)
    if causal:
        seen = key <= query
        if window is not None:
            seen &= key >= query - window
    out, lse = attend(q, k, v, None, causal=causal, window=window)
    expected, expected_lse = naive_attention(q, k, v, seen)
    torch.testing.assert_close(out.double(), expected, rtol=1e-5, atol=1e-6)
    assert (lse is None) == (window is not None)
    if lse is not None:
        torch.testing.assert_close(lse.double(), expected_lse, rtol=1e-5, atol=1e-6)


def test_attention_with_values_of_another_dim() -> None:
    """As in multi-head latent attention."""
    q, k, v = torch.randn(3, 4, 8), torch.randn(9, 2, 8), torch.randn(9, 2, 5)
    out, lse = attend(q, k, v, None, causal=True)
    expected, _ = naive_attention(q, k, v, torch.arange(9) <= torch.arange(6, 9)[:, None])
    torch.testing.assert_close(out.double(), expected, rtol=1e-5, atol=1e-6)
    assert lse is None


@pytest.mark.parametrize("window", [-1, 3])
def test_back_end_reads_the_pool(window: int) -> None:
    """Two requests with scattered slots: prefill behind cached prefixes, then decode; unused slots hold NaN."""
    totals, new, rows = [7, 4], [3, 4], [2, 0]
    pool_k, pool_v = torch.full((20, 2, 8), torch.nan), torch.full((20, 2, 8), torch.nan)
    table = torch.zeros(3, 8, dtype=torch.int32)
    order = torch.randperm(20)
    for row, total, slots in zip(rows, totals, (order[:7], order[7:11]), strict=True):
        table[row, :total] = slots.int()
        pool_k[slots], pool_v[slots] = torch.randn(total, 2, 8), torch.randn(total, 2, 8)
    options = {"scaling": None, "causal": True, "sliding_window_size": window}
    common = (pool_k, pool_v, table, torch.tensor(rows), torch.tensor(totals))
    q = torch.randn(sum(new), 4, 8)
    out = torch.full_like(q, torch.nan)
    prefix = torch.tensor(totals) - torch.tensor(new)
    backend = SimpleNamespace()
    attention.run_sdpa_forward_extend(refused, backend, q, out, *common, prefix, torch.tensor(new), None, **options)
    prefill_lse = backend.softmax_lse
    last = torch.stack((q[new[0] - 1], q[-1]))
    decoded = torch.full_like(last, torch.nan)
    attention.run_sdpa_forward_decode(refused, backend, last, decoded, *common, None, **options | {"causal": False})
    start = 0
    for index, (row, total, count) in enumerate(zip(rows, totals, new, strict=True)):
        slots = table[row, :total].long()
        query, key = torch.arange(total - count, total)[:, None], torch.arange(total)
        seen = key <= query
        if window >= 0:
            seen &= key >= query - window
        expected, lse = naive_attention(q[start : start + count], pool_k[slots], pool_v[slots], seen)
        torch.testing.assert_close(out[start : start + count].double(), expected, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(decoded[index].double(), expected[-1], rtol=1e-5, atol=1e-6)
        if window < 0:
            found = prefill_lse[start : start + count]
            torch.testing.assert_close(found.double(), lse, rtol=1e-5, atol=1e-6)
            torch.testing.assert_close(backend.softmax_lse[index].double(), lse[-1], rtol=1e-5, atol=1e-6)
        start += count
    if window >= 0:
        assert prefill_lse is backend.softmax_lse is None


def test_encoder_decoder_models_keep_the_original() -> None:
    """Cross attention is SGLang's own affair."""
    called = []
    lengths = torch.tensor([3])
    attention.run_sdpa_forward_decode(lambda *a, **k: called.append((len(a), k)), *(None,) * 7, lengths, lengths, x=1)
    assert called == [(9, {"x": 1})]


@pytest.mark.parametrize("gate_first", [True, False])
@pytest.mark.parametrize("rms", [True, False])
@pytest.mark.parametrize("group", [None, 4])
def test_gated_norm(gate_first: bool, rms: bool, group: int | None) -> None:
    """The gate given per head ``[tokens, heads, dim]``, as the layers pass it."""
    x, z, weight, bias = torch.randn(6, 8), torch.randn(2, 3, 8), torch.randn(8), torch.randn(8)
    gate = z.reshape(6, 8).double()
    gate = gate * torch.sigmoid(gate)
    wide = x.double() * gate if gate_first else x.double()
    parts = wide.view(6, -1, group or 8)
    if not rms:
        parts = parts - parts.mean(-1, keepdim=True)
    parts = parts / (parts.square().mean(-1, keepdim=True) + 1e-6).sqrt()
    expected = parts.view(6, 8) * weight.double() + bias.double()
    if not gate_first:
        expected = expected * gate
    found = layernorm_fn(x, weight, bias, z, group_size=group, norm_before_gate=not gate_first, is_rms_norm=rms)
    torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-5)


def test_query_key_norm_with_gate() -> None:
    """Query and gate alternate head by head; the results can be viewed flat."""
    tokens, heads, dim = 3, 2, 4
    q_gate, k = torch.randn(tokens, heads * 2 * dim), torch.randn(tokens, dim)
    q_weight, k_weight = torch.randn(dim), torch.randn(dim)
    q, keys, gate = fused_qk_gemma_rmsnorm_with_gate_cpu(q_gate, k, q_weight, k_weight, 1e-6, dim, heads)

    def normed(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        wide = x.double()
        return wide / (wide.square().mean(-1, keepdim=True) + 1e-6).sqrt() * (1 + weight.double())

    parts = q_gate.view(tokens, heads, 2, dim)
    torch.testing.assert_close(
        q.view(tokens, heads, dim).double(), normed(parts[:, :, 0], q_weight), rtol=1e-5, atol=1e-5
    )
    torch.testing.assert_close(keys.double(), normed(k, k_weight), rtol=1e-5, atol=1e-5)
    assert torch.equal(gate.view(tokens, heads, dim), parts[:, :, 1])


def test_gates_and_split() -> None:
    """Decay, write strength, output gate, and the packed projections."""
    A_log, dt_bias, a, b = torch.randn(4), torch.randn(4), torch.randn(3, 4), torch.randn(3, 4)
    g, beta = fused_gdn_gating_cpu(A_log, a, b, dt_bias)
    expected = -A_log.double().exp() * torch.log1p((a.double() + dt_bias.double()).exp())
    torch.testing.assert_close(g[0].double(), expected, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(beta[0], 1 / (1 + (-b).exp()))
    x, gate = torch.randn(3, 8), torch.randn(3, 2, 4)
    expected = x * torch.sigmoid(gate.view(3, 8))
    assert torch.equal(fused_sigmoid_mul_cpu(x, gate, inplace=False), expected)
    assert fused_sigmoid_mul_cpu(x, gate) is x and torch.equal(x, expected)
    qkvz, ba = torch.randn(3, 2 * 2 * 4 + 2 * 4 * 5), torch.randn(3, 8)
    qkv, z, first, second = fused_qkvzba_split_reshape_cat_contiguous_cpu(qkvz, ba, 2, 4, 4, 5)
    assert torch.equal(torch.cat((qkv, z.view(3, 20)), -1), qkvz)
    assert torch.equal(torch.cat((first, second), -1), ba)


@pytest.mark.parametrize("check", [True, False])
def test_tracking_copies_what_is_due(check: bool) -> None:
    """Unmarked rows and padding are left alone; freed slots too, where that is asked for."""
    conv, ssm = torch.randn(2, 6, 3), torch.randn(2, 6, 4)
    before_conv, before_ssm = conv.clone(), ssm.clone()
    source, target = torch.tensor([0, 1, -1, 3]), torch.tensor([4, 5, 2, 2])
    mask = torch.tensor([True, False, check, True])
    track_mamba_states_all_layers(conv, ssm, source, mask, target, 3, check_freed_slots=check)
    before_conv[:, 4], before_ssm[:, 4] = before_conv[:, 0], before_ssm[:, 0]
    assert torch.equal(conv, before_conv) and torch.equal(ssm, before_ssm)
    track_mamba_states_if_needed(conv[1], ssm[1], source, torch.tensor([False, True]), target, 2)
    before_conv[1, 5], before_ssm[1, 5] = before_conv[1, 1], before_ssm[1, 1]
    assert torch.equal(conv, before_conv) and torch.equal(ssm, before_ssm)


def test_assigning_slots() -> None:
    """Each request gets its share of the new slots, in order."""
    table = torch.zeros(3, 6, dtype=torch.int32)
    slots = torch.tensor([7, 8, 9, 5])
    assign_req_to_token_pool_cpu(torch.tensor([2, 0]), table, torch.tensor([1, 0]), torch.tensor([4, 1]), slots, 6)
    assert table.tolist() == [[5, 0, 0, 0, 0, 0], [0] * 6, [0, 7, 8, 9, 0, 0]]
