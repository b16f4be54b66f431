"""What unmodified SGLang needs to serve Llama-type and Qwen3.5-type models on a plain CPU.

``site/`` holds a stand-in for SGLang's compiled kernel package and has to be first on ``PYTHONPATH`` before Python
starts; ``hooks`` replaces the Triton kernels that SGLang's CPU engine still calls; ``kernels/`` holds the arithmetic.
"""

import os
from pathlib import Path

SITE = Path(__file__).parent / "site"
"""The folder that has to stand first on ``PYTHONPATH``."""


def in_use() -> bool:
    """True when this process and its children run SGLang's CPU engine."""
    return os.environ.get("SGLANG_USE_CPU_ENGINE", "0") == "1"
