"""The built book, and one browser for all of its pages."""

import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from filelock import FileLock
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.book import pictures_alone
from tests.book.playgrounds import Window
from tools.chromium import headless_chromium, served

expect.set_options(timeout=120_000)  # for a machine that does other things as well


@pytest.fixture(scope="session")
def html(root: Path) -> Path:
    """The folder of the built pages; nothing is done when they are up to date."""
    (root / "_build").mkdir(exist_ok=True)
    with FileLock(root / "_build" / ".tests-lock"):  # one process builds, others wait
        done = subprocess.run(
            ["make", "book"], cwd=root, capture_output=True, text=True
        )
    assert done.returncode == 0, done.stdout + done.stderr
    return root / "_build" / "html"


# Most tests look at places that no reader has come near, as soon as a page is loaded.
LAID_OUT_AT_ONCE = """addEventListener("DOMContentLoaded", () => {
  delete document.documentElement.dataset.arriving;
});"""


@pytest.fixture(scope="module")
def readers_browser(needs_chromium: None) -> Iterator[Browser]:
    """A headless Chromium.

    It is closed after each file: while it is open, playwright's event loop runs, and
    no test that needs one of its own can follow in the same process.
    """
    with headless_chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def browser(readers_browser: Browser) -> Iterator[Browser]:
    """The same, but pages are laid out at once: see ``layout.html``."""
    new_context = readers_browser.new_context

    def laying_out_at_once(**options: Any) -> BrowserContext:
        context = new_context(**options)
        context.add_init_script(LAID_OUT_AT_ONCE)
        return context

    with patch.object(readers_browser, "new_context", laying_out_at_once):
        yield readers_browser


@pytest.fixture(scope="module")
def picture_pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a page for each live picture."""
    folder = tmp_path_factory.mktemp("pictures")
    pictures_alone.write_pages(folder)
    return folder


@pytest.fixture(scope="module")
def opened(picture_pages: Path, browser: Browser) -> Iterator[pictures_alone.Open]:
    """Opens a live picture by its name: see ``pictures_alone.Pictures``."""
    with closing(pictures_alone.Pictures(picture_pages, browser)) as pictures:
        yield pictures.opened


@pytest.fixture(scope="session")
def site(html: Path) -> Iterator[str]:
    """The address of a web server on this machine that serves the built pages."""
    with served(html) as address:
        yield address


@pytest.fixture(scope="module")
def only_window(html: Path, browser: Browser) -> Iterator[Window]:
    """The tab that the tests of a file share."""
    with closing(Window(html, browser)) as window:
        yield window


@pytest.fixture(scope="module")
def window_without_scripts(html: Path, browser: Browser) -> Iterator[Window]:
    """Such a tab of a reader who has switched JavaScript off."""
    with closing(Window(html, browser, java_script_enabled=False)) as window:
        yield window


@pytest.fixture
def window(only_window: Window) -> Iterator[Window]:
    """A tab for playgrounds; no complaint may come of what is opened in it."""
    yield only_window
    assert only_window.complaints == []


@pytest.fixture
def dates(window: Window) -> Page:
    """The playground of dates."""
    return window.visit("playground_dates")


@pytest.fixture
def digits(window: Window) -> Page:
    """The playground of digits."""
    return window.visit("playground_digits")
