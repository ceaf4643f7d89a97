"""How many bytes a page loads at first, compressed as web servers do."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from functools import cache
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Response

# Hosts do not compress what is compressed already.
COMPRESSED = (".gif", ".jpg", ".png", ".webp", ".woff", ".woff2")


def weight(browser: Browser, address: str) -> dict[str, int]:
    """Bytes of every file that a page loads before anybody scrolls or types.

    Args:
        browser: where to open the page, with an empty cache.
        address: of the page.

    Returns:
        The size of each file by its name, compressed.
    """
    answers: list[Response] = []
    with browser.new_context(viewport={"width": 1280, "height": 800}) as context:
        context.on("response", lambda answer: answers.append(answer))
        tab = context.new_page()
        tab.goto(address, wait_until="networkidle")
        return sizes(answers)


def sizes(answers: Iterable[Response]) -> dict[str, int]:
    """Compressed bytes of what came, by name, while its page is still open."""
    found = {}
    for answer in answers:
        path = PurePosixPath(urlsplit(answer.url).path)
        if answer.url.startswith(("data:", "blob:")):
            continue
        body = answer.body()
        found[path.name] = (
            len(body) if path.suffix in COMPRESSED else compressed_size(body)
        )
    return found


@cache
def compressed_size(body: bytes) -> int:
    """Bytes of a file as a server sends it; most files are part of every page."""
    return len(gzip.compress(body))
