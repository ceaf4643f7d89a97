"""What several folders of tests share."""

import os
from pathlib import Path

import pytest
import torch

from tools.chromium import NoChromium, chromium

torch.set_num_threads(1)  # small tensors; waking other threads costs more


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the checkout."""
    return Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def needs_chromium() -> None:
    """Skip where there is no browser; on CI there has to be one."""
    try:
        chromium()
    except NoChromium as error:
        pytest.fail(str(error)) if os.environ.get("CI") else pytest.skip(str(error))
