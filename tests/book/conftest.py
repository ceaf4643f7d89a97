"""The built book, and one browser for all of its pages."""

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def html(root: Path) -> Path:
    """The folder of the built pages; nothing is done when they are up to date."""
    done = subprocess.run(["make", "book"], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return root / "_build" / "html"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium."""
    found = [path for name in CHROMIUM if (path := shutil.which(name))]
    if not found:
        reason = f"none of {', '.join(CHROMIUM)} is installed"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found[0], args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def site(html: Path) -> Iterator[str]:
    """The address of a web server on this machine that serves the built pages."""
    handler = partial(QuietHandler, directory=str(html))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files and logs nothing."""

    def log_message(self, *args: object) -> None:
        """Say nothing."""
