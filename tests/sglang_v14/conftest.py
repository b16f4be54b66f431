from __future__ import annotations

import pytest
import torch


@pytest.fixture
def generator() -> torch.Generator:
    """Random numbers that follow from the test alone."""
    return torch.Generator().manual_seed(14)
