"""The Chromium of this machine, without a window, and a server for built pages."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

# The first two are the same engine without the windows, menus and profiles that nobody
# sees here: a page costs half the processor time, a new context a tenth.
NAMES = (
    *("chromium-headless-shell", "chrome-headless-shell"),
    *("chromium", "chromium-browser", "google-chrome"),
)
OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    # What a usual laptop has and Chromium does not find out without its windows: a line
    # on which pictures are loaded when they are so near, and a mouse.
    "--blink-settings=lazyLoadingImageMarginPxUnknown=1250,"
    "primaryPointerType=4,availablePointerTypes=4,primaryHoverType=2,availableHoverTypes=2",
)


class NoChromium(RuntimeError):
    """No suitable browser is installed."""


def chromium() -> str:
    """Path of the installed Chromium.

    Raises:
        NoChromium: there is none; the message names what was looked for.
    """
    for name in NAMES:
        if path := shutil.which(name):
            return path
    raise NoChromium(f"none of {', '.join(NAMES)} is installed")


@contextmanager
def headless_chromium() -> Iterator[Browser]:
    """A browser, closed at the end.

    Raises:
        NoChromium: none is installed.
    """
    program = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=OPTIONS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def served(
    folder: Path, handler: Callable[..., SimpleHTTPRequestHandler] | None = None
) -> Iterator[str]:
    """The address of a web server on this machine that serves a folder.

    Args:
        folder: what is served.
        handler: what answers requests; the library's own, unless another one is given.
    """
    answer = handler or partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    """Serves files and logs nothing."""

    def log_message(self, *args: object) -> None:
        """Say nothing."""
