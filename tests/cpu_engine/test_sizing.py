"""Pool sizes from a configuration and free memory."""

import json
from pathlib import Path

import pytest

from sglang_v14.cpu_engine.defaults import cpu_arguments
from sglang_v14.cpu_engine.sizing import NotEnoughMemory, layer_types, pool_sizes, state_slot_bytes, token_bytes

LLAMA = {
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "hidden_size": 576,
    "max_position_embeddings": 8192,
}
HYBRID = {
    "text_config": {
        "num_hidden_layers": 24,
        "num_attention_heads": 8,
        "num_key_value_heads": 2,
        "head_dim": 256,
        "hidden_size": 1024,
        "full_attention_interval": 4,
        "linear_num_value_heads": 16,
        "linear_value_head_dim": 128,
        "linear_num_key_heads": 16,
        "linear_key_head_dim": 128,
        "linear_conv_kernel_dim": 4,
        "max_position_embeddings": 262144,
    }
}


def test_bytes_of_a_token_and_of_a_state() -> None:
    """Counted by hand from the shapes."""
    assert token_bytes(LLAMA, 4) == 30 * 2 * 3 * 64 * 4
    text = HYBRID["text_config"]
    assert layer_types(text).count("full_attention") == 6 and layer_types(text)[3] == "full_attention"
    assert token_bytes(text, 2) == 6 * 2 * 2 * 256 * 2
    assert state_slot_bytes(text, 2) == 18 * (16 * 128 * 128 * 4 + 3 * 16 * 128 * 3 * 2)
    assert state_slot_bytes(LLAMA, 4) == 0


@pytest.mark.parametrize("gibibytes", [2, 4, 8, 64, 512])
@pytest.mark.parametrize("config", [LLAMA, HYBRID])
def test_pools_stay_within_half_of_the_memory(config: dict, gibibytes: int) -> None:
    """And never above what the server can use."""
    sizes = pool_sizes(config, gibibytes << 30, 4)
    text = config.get("text_config", config)
    used = sizes.max_total_tokens * token_bytes(text, 4)
    used += (sizes.max_mamba_cache_size or 0) * state_slot_bytes(text, 4)
    assert used <= gibibytes << 29
    assert sizes.max_total_tokens >= 2048
    assert (sizes.max_mamba_cache_size is None) == (config is LLAMA)
    if sizes.max_mamba_cache_size is not None:
        assert sizes.max_mamba_cache_size >= 5 * sizes.max_running_requests


def test_too_little_memory_is_one_sentence() -> None:
    """It names what is left and what was needed."""
    with pytest.raises(NotEnoughMemory, match=r"0\.1 GiB .* 2048 tokens"):
        pool_sizes(LLAMA, 100 << 20, 4)


def test_weights_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half-precision weights take twice their size in float32."""
    (tmp_path / "config.json").write_text(json.dumps({**LLAMA, "dtype": "bfloat16"}))
    with (tmp_path / "model.safetensors").open("wb") as file:
        file.truncate(3 << 30)
    monkeypatch.setattr("sglang_v14.cpu_engine.defaults.free_memory_bytes", lambda: 5 << 30)
    with pytest.raises(NotEnoughMemory, match=r"6\.0 GiB for its weights in float32"):
        cpu_arguments(str(tmp_path))
    assert cpu_arguments(str(tmp_path), "bfloat16")["max_total_tokens"] > 2048
