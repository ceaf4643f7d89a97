"""How many bytes a page loads, compressed as web servers do."""

from __future__ import annotations

import gzip
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Response

PICTURES = (".gif", ".ico", ".jpg", ".png", ".svg", ".webp")


def weight(browser: Browser, address: str, pictures: bool = False) -> dict[str, int]:
    """Bytes, compressed, of every file that a page loads.

    Args:
        browser: where to open the page, with an empty cache.
        address: of the page.
        pictures: count them as well.

    Returns:
        The size of each file by its name.
    """
    answers: list[Response] = []
    with browser.new_context() as context:
        context.on("response", lambda answer: answers.append(answer))
        tab = context.new_page()
        tab.goto(address, wait_until="networkidle")
        sizes = {}
        for answer in answers:
            path = PurePosixPath(urlsplit(answer.url).path)
            if answer.url.startswith(("data:", "blob:")):
                continue
            if pictures or path.suffix not in PICTURES:
                sizes[path.name] = len(gzip.compress(answer.body()))
    return sizes
