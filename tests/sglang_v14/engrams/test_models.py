"""Transitions against the layers of Transformers' own models, tiny and random: what they leave in a cache."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import softplus

from sglang_v14.engrams import gated_delta, kda, mamba2
from sglang_v14.engrams.transition import Transition

pytest.importorskip("transformers")

_EVENT, _PROMPT = 70, 33  # on both sides of the models' chunks of 64
_COMMON = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "num_attention_heads": 4, "pad_token_id": 0}
_COMMON |= {"bos_token_id": None, "eos_token_id": None}


def _qwen3_5() -> tuple[Any, ModuleType, str]:
    from transformers.models.qwen3_5 import Qwen3_5ForCausalLM, Qwen3_5TextConfig, modeling_qwen3_5

    sizes = {"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 16}
    config = Qwen3_5TextConfig(
        **_COMMON, **sizes, linear_value_head_dim=24, num_hidden_layers=4, num_key_value_heads=2, head_dim=16
    )
    return Qwen3_5ForCausalLM(config), modeling_qwen3_5, "torch_chunk_gated_delta_rule"


def _kimi_linear() -> tuple[Any, ModuleType, str]:
    from transformers.models.kimi_linear import KimiLinearConfig, KimiLinearForCausalLM, modeling_kimi_linear

    latent = {"kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8}
    experts = {"num_local_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
    config = KimiLinearConfig(
        **_COMMON,
        **latent,
        **experts,
        num_hidden_layers=5,
        num_key_value_heads=4,
        linear_head_dim=16,
        linear_num_heads=4,
    )
    return KimiLinearForCausalLM(config), modeling_kimi_linear, "chunk_kimi_delta_attention"


def _nemotron_h() -> tuple[Any, ModuleType, str]:
    from transformers.models.nemotron_h import NemotronHConfig, NemotronHForCausalLM, modeling_nemotron_h

    config = NemotronHConfig(
        **_COMMON,
        layers_block_type=["mamba", "attention", "mamba", "mlp"],
        num_key_value_heads=2,
        head_dim=16,
        ssm_state_size=24,
        mamba_num_heads=4,
        mamba_head_dim=16,
        n_groups=2,
        chunk_size=64,
    )
    return NemotronHForCausalLM(config), modeling_nemotron_h, "mamba2_chunk_scan"


def _gated_delta(_query: Tensor, key: Tensor, value: Tensor, g: Tensor, beta: Tensor, **_: Any) -> Transition:
    # Transformers repeats the key heads for their value heads in front of the kernel.
    return gated_delta.transition(key[0], value[0], g[0], beta[0])


def _kda(_query: Tensor, key: Tensor, value: Tensor, g: Tensor, beta: Tensor, **_: Any) -> Transition:
    return kda.transition(key[0], value[0], g[0], beta[0])


def _mamba2(x: Tensor, dt: Tensor, a: Tensor, b: Tensor, _c: Tensor, *, dt_bias: Tensor, **other: Any) -> Transition:
    step = softplus(dt[0] + dt_bias).clamp(*other["dt_limit"])
    return mamba2.transition(x[0], b[0], step, a)


MODELS = {
    "gated_delta": (_qwen3_5, _gated_delta, True),
    "kda": (_kimi_linear, _kda, True),
    "mamba2": (_nemotron_h, _mamba2, False),
}


def _slow(model: Any) -> None:
    """Decays as trained models have them: the initial ones forget everything within a few tokens."""
    for name, parameter in model.named_parameters():
        if name.endswith("A_log"):
            parameter.data.uniform_(1.0, 4.0).log_()
        elif name.endswith("dt_bias"):
            step = torch.empty_like(parameter).uniform_(-6.0, -3.0).exp()
            parameter.data.copy_(step.expm1().log())


def _states(cache: Any, transposed: bool) -> list[Tensor]:
    """Of each recurrent layer `[heads, value_dim, key_dim]`."""
    kept = [getattr(layer, "recurrent_states", None) for layer in cache.layers]
    states = [state[0][0] for state in kept if state is not None and state[0] is not None]
    return [state.transpose(1, 2) if transposed else state for state in states]


@pytest.mark.parametrize("kind", MODELS)
def test_left_and_carried(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state that a model holds behind an event is what the event left; behind the prompt that follows it is the
    prompt's transition of that."""
    make, transition, transposed = MODELS[kind]
    torch.manual_seed(14)
    model, module, kernel = make()
    model = model.eval()
    _slow(model)
    original, made = getattr(module, kernel), []

    def observed(*args: Any, **kwargs: Any) -> Any:
        made.append(transition(*args, **kwargs))
        return original(*args, **kwargs)

    monkeypatch.setattr(module, kernel, observed)
    tokens = torch.randint(0, 64, (1, _EVENT + _PROMPT))
    with torch.no_grad():
        event = model(tokens[:, :_EVENT], use_cache=True)
        behind_event = [state.clone() for state in _states(event.past_key_values, transposed)]
        left = made.copy()
        made.clear()
        after = model(tokens[:, _EVENT:], past_key_values=event.past_key_values, use_cache=True)
    assert len(left) == len(made) == len(behind_event) >= 2
    for one, state in zip(left, behind_event, strict=True):
        torch.testing.assert_close(one.left, state, atol=1e-5, rtol=1e-4)
    for prompt, before, state in zip(made, behind_event, _states(after.past_key_values, transposed), strict=True):
        torch.testing.assert_close(prompt.after(before), state, atol=1e-5, rtol=1e-4)
        forgotten = (prompt.left - state).norm() / state.norm()
        assert forgotten > 0.01, "the event's state must still be felt, or the test shows nothing"
