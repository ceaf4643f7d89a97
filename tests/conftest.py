"""What several folders of tests share."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Browser

from tools.chromium import NoChromium, chromium, headless_chromium

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


@pytest.fixture(scope="session")
def browser(needs_chromium: None) -> Iterator[Browser]:
    """A headless Chromium: one, as Playwright starts only once in a thread."""
    with headless_chromium() as browser:
        yield browser
