"""The package that takes the place of the compiled kernels, in a process where it comes first."""

import os
import subprocess
import sys

from sglang_v14.cpu_engine import SITE


def run(program: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SITE)},
    ).stdout


def test_what_exists_is_bound_and_what_is_missing_says_so() -> None:
    """Names import at any depth; calling a missing one names it; probing for compiled operators finds none."""
    out = run("""
import torch, sgl_kernel, sgl_kernel.mamba
from sgl_kernel.quantization.gguf import ggml_dequantize
from sgl_kernel import merge_state_v2
from sgl_kernel.scalar_type import scalar_types
print(sgl_kernel.__file__.endswith("cpu_engine/site/sgl_kernel/__init__.py"))
print(sgl_kernel.mamba.chunk_gated_delta_rule_cpu.__module__, torch.ops.sgl_kernel.fused_gdn_gating_cpu.__name__)
for call in (lambda: merge_state_v2(1), lambda: ggml_dequantize(), lambda: scalar_types.uint4b8.size_bits()):
    try:
        call()
    except NotImplementedError as error:
        print(error)
print(hasattr(torch.ops.sgl_kernel, "convert_weight_packed"), hasattr(sgl_kernel, "__wrapped__"))
""")
    assert out.splitlines() == [
        "True",
        "sglang_v14.cpu_engine.kernels.gated_delta_pool fused_gdn_gating_cpu",
        "the CPU engine has no kernel sgl_kernel.merge_state_v2",
        "the CPU engine has no kernel sgl_kernel.quantization.gguf.ggml_dequantize",
        "the CPU engine has no kernel sgl_kernel.scalar_type.scalar_types.uint4b8.size_bits",
        "False False",
    ]


def test_pytorch_without_an_accelerator() -> None:
    """Pinning gives the tensor itself back, and the default device is the CPU."""
    out = run("""
import torch
from sglang_v14.cpu_engine.without_accelerator import default_to_cpu_module, ignore_pinning
torch.accelerator.is_available = lambda: False
ignore_pinning(constructors=True)
x = torch.tensor([1, 2], pin_memory=True)
print(x.pin_memory() is x, x.tolist(), torch.empty(2, pin_memory=True).shape[0])
default_to_cpu_module()
print(torch.get_device_module().__name__, torch.get_device_module("cuda").__name__)
""")
    assert out.splitlines() == ["True [1, 2] 2", "torch.cpu torch.cuda"]
