"""What several folders of tests share."""

from pathlib import Path

import pytest
import torch

torch.set_num_threads(1)  # small tensors; waking other threads costs more


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the checkout."""
    return Path(__file__).resolve().parents[1]
