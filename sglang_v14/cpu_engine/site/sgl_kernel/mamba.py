"""The module from which SGLang imports the kernels of recurrent layers."""

from sglang_v14.cpu_engine.kernels.causal_conv import causal_conv1d_fn_cpu, causal_conv1d_update_cpu
from sglang_v14.cpu_engine.kernels.gated_delta_pool import chunk_gated_delta_rule_cpu

__all__ = ["causal_conv1d_fn_cpu", "causal_conv1d_update_cpu", "chunk_gated_delta_rule_cpu"]
