"""What several folders of tests share."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the checkout."""
    return Path(__file__).resolve().parents[1]
