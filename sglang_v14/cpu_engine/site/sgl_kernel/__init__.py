"""Stand-in for SGLang's compiled kernel package on machines where that cannot be loaded.

With this folder's parent first on ``PYTHONPATH``, SGLang's own CPU engine finds every kernel that it binds for
Llama-type and Qwen3.5-type models. SGLang's modules import names at module level that are only called for other models
or devices; such names resolve to placeholders, and calling one raises an error that names it.
"""

import torch

from sgl_kernel import missing
from sglang_v14.cpu_engine.kernels.causal_conv import causal_conv1d_fn_cpu, causal_conv1d_update_cpu
from sglang_v14.cpu_engine.kernels.gated_delta_pool import (
    chunk_gated_delta_rule_cpu,
    fused_sigmoid_gating_delta_rule_update_cpu,
)
from sglang_v14.cpu_engine.kernels.gating import fused_gdn_gating_cpu, fused_sigmoid_mul_cpu
from sglang_v14.cpu_engine.kernels.projections import fused_qkvzba_split_reshape_cat_contiguous_cpu
from sglang_v14.cpu_engine.kernels.qk_norm import fused_qk_gemma_rmsnorm_cpu, fused_qk_gemma_rmsnorm_with_gate_cpu
from sglang_v14.cpu_engine.kernels.token_pool import assign_req_to_token_pool_cpu

__version__ = "0.0.0+cpu"

__all__ = [
    "assign_req_to_token_pool_cpu",
    "causal_conv1d_fn_cpu",
    "causal_conv1d_update_cpu",
    "chunk_gated_delta_rule_cpu",
]

# SGLang asks with hasattr() what this namespace offers, so it holds what exists and nothing else.
for _op in (
    fused_gdn_gating_cpu,
    fused_qk_gemma_rmsnorm_cpu,
    fused_qk_gemma_rmsnorm_with_gate_cpu,
    fused_qkvzba_split_reshape_cat_contiguous_cpu,
    fused_sigmoid_gating_delta_rule_update_cpu,
    fused_sigmoid_mul_cpu,
):
    setattr(torch.ops.sgl_kernel, _op.__name__, _op)

missing.install_finder()


def __getattr__(name: str) -> "missing.MissingKernel":
    return missing.placeholder(__name__, name)
