"""A real JupyterLab and a real browser in front of it."""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from autograder.release.source import source_notebook
from tests.autograder.conftest import needs_sandbox as needs_sandbox
from tools.chromium import headless_chromium

PATIENCE = 120  # seconds for what takes two on a quiet machine
_FOREIGN = re.compile(r"^https?://(?!127\.0\.0\.1[:/])")
SETTINGS = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    # every cell is in the page, not only those that are in view
    "notebook-extension/tracker": {"windowingMode": "none"},
}


@pytest.fixture(scope="session")
def in_browser(
    needs_chromium: None,
) -> Callable[[Callable[[Page], Any]], Any]:
    """Call a function with a page of a headless Chromium; what it returns.

    It runs in a thread of its own, because in this one Playwright may already be
    running for the tests of the book.
    """

    def visit(scene: Callable[[Page], Any]) -> Any:
        with headless_chromium() as browser:
            page = browser.new_page(viewport={"width": 1400, "height": 1000})
            page.set_default_timeout(1000 * PATIENCE)
            page.route(_FOREIGN, lambda route: route.abort())
            return scene(page)

    def call(scene: Callable[[Page], Any]) -> Any:
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(visit, scene).result()

    return call


@pytest.fixture(scope="session")
def jupyter_lab(
    artefact: None, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Path], Any]:
    """``with jupyter_lab(folder) as address``: JupyterLab on a folder, then stopped."""

    @contextmanager
    def serve(folder: Path) -> Iterator[Callable[[str], str]]:
        own = tmp_path_factory.mktemp("jupyter")
        for name, settings in SETTINGS.items():
            path = own / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps(settings))
        folders = {
            "IPYTHONDIR": "ipython",
            "JUPYTER_CONFIG_DIR": "config",
            "JUPYTER_DATA_DIR": "data",
            "JUPYTER_RUNTIME_DIR": "runtime",
            "JUPYTERLAB_SETTINGS_DIR": "settings",
            "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        }
        token = secrets.token_hex()
        log = own / "log"
        with log.open("w") as file:
            server = subprocess.Popen(
                [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
                + [f"--IdentityProvider.token={token}"],
                cwd=folder,
                env=os.environ | {k: str(own / name) for k, name in folders.items()},
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        try:
            home = address_of(server, own / "runtime", log)
            wait_for(f"{home}/api/status?token={token}", server, log)
            yield lambda path: f"{home}/{path}?token={token}"
        finally:
            server.terminate()  # shuts the kernels down, too
            try:
                server.wait(30)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()

    return serve


def address_of(server: subprocess.Popen, folder: Path, log: Path) -> str:
    """Where a server listens: it looks for a port itself, and writes it down."""
    deadline = time.monotonic() + PATIENCE
    while True:
        for path in folder.glob("jpserver-*.json"):
            with suppress(json.JSONDecodeError):  # it is not written to its end
                return f"http://127.0.0.1:{json.loads(path.read_text())['port']}"
        gone = server.poll() is not None or time.monotonic() > deadline
        assert not gone, log.read_text()
        time.sleep(0.1)


def wait_for(address: str, server: subprocess.Popen, log: Path) -> None:
    """Wait until a server answers."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with urllib.request.urlopen(address, timeout=PATIENCE):
                return
        except (urllib.error.URLError, ConnectionError):
            gone = server.poll() is not None or time.monotonic() > deadline
            assert not gone, log.read_text()
            time.sleep(0.2)


def right_cells(topic: str) -> dict[str, str]:
    """The right answer to each exercise, and nothing of the others that it calls."""
    return {
        cell.metadata.nbgrader.grade_id: cell.source
        for cell in source_notebook(topic).cells
        if cell.metadata.get("tags") == ["exercise"]
    }
