"""The table of seams against the sources of every supported SGLang."""

from __future__ import annotations

import pytest
import sglang_sources

from sglang_v14.hooks import all_hooks, targets
from sglang_v14.hooks.targets import VERSIONS, Target

SEAMS = [
    pytest.param(version, target, id=f"{version}-{target.path.rsplit('.', 1)[1]}")
    for version in VERSIONS
    for target in targets.of_version(version)
]


@pytest.mark.parametrize(("version", "target"), SEAMS)
def test_a_seam_is_there(version: str, target: Target) -> None:
    """Every target exists with exactly the parameters of the table."""
    definition = sglang_sources.function(version, target.path)
    assert definition is not None, f"SGLang {version} has no {target.path}"
    assert sglang_sources.parameters(definition) == target.parameters[version]


def test_targets_of_a_version() -> None:
    """The two versions differ in how a prefix cache is told what to leave out."""
    assert targets.PREFIX_INSERT in targets.of_version("0.5.23")
    assert targets.PREFIX_INSERT not in targets.of_version("0.5.17")
    assert targets.PREFIX_SKIP in targets.of_version("0.5.17")
    assert targets.of_version("0.4.0") == ()
    assert targets.HTTP_START.versions() == VERSIONS


def test_every_target_is_hooked() -> None:
    """No row of the table is forgotten by the hooks, and none is missing in the list of all."""
    declared = {value for value in vars(targets).values() if isinstance(value, Target)}
    assert declared == set(targets.ALL)
    assert {hook.target for hook in all_hooks(listener=None)} == declared  # type: ignore[arg-type]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "path",
    [
        "sglang.srt.managers.scheduler.Scheduler.is_fully_idle",
        "sglang.srt.plugins.hook_registry.HookRegistry.apply_hooks",
        "sglang.srt.plugins.hook_registry.HookRegistry.register",
    ],
)
def test_what_the_hooks_call(version: str, path: str) -> None:
    """Functions that are called without being hooked."""
    assert sglang_sources.function(version, path) is not None


@pytest.mark.parametrize("version", VERSIONS)
def test_a_sub_batch_knows_its_fields(version: str) -> None:
    """`Forward._sub_batch` replaces fields by name, which every version must have."""
    fields = sglang_sources.dataclass_fields(version, "sglang.srt.model_executor.forward_batch_info.ForwardBatch")
    replaced = {
        "batch_size", "input_ids", "req_pool_indices", "seq_lens", "seq_lens_cpu", "orig_seq_lens", "seq_lens_sum",
        "out_cache_loc", "positions", "mrope_positions", "extend_num_tokens", "extend_seq_lens", "extend_prefix_lens",
        "extend_start_loc", "extend_prefix_lens_cpu", "extend_seq_lens_cpu", "extend_logprob_start_lens_cpu", "rids",
        "lora_ids", "top_logprobs_nums", "token_ids_logprobs", "mm_inputs", "mamba_track_indices", "mamba_track_mask",
        "mamba_track_seqlens", "return_logprob", "capture_hidden_mode",
    }  # fmt: skip
    assert replaced <= fields
