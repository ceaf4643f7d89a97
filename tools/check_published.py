"""Check that a published book is complete, and fail loudly if it is not.

    python -m tools.check_published https://example.org/book/

Every page of ``_toc.yml`` must load and have a title and a hundred words, and each of
its pictures, scripts and style sheets must load. Needs only Python and PyYAML.
"""

from __future__ import annotations

import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urljoin
from urllib.request import Request, urlopen

from toolkit import book

FEWEST_WORDS = 100
TRIES = 5
PAUSE = 10  # seconds; hosts need a moment before they serve what was published


class Content(HTMLParser):
    """The title of a page, its words, and the files that it needs."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.has_title = False
        self.words = 0
        self.files: list[str] = []
        self._depth = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list) -> None:
        """Note what is loaded, and where the text of the page begins."""
        given = dict(attributes)
        if tag == "article":
            self._depth += 1
        if tag == "h1" and self._depth:
            self.has_title = True
        address = given.get("src") if tag in ("img", "script") else None
        if tag == "link" and given.get("rel") == "stylesheet":
            address = given.get("href")
        if address and not address.startswith("data:"):
            self.files.append(address.split("?")[0])

    def handle_endtag(self, tag: str) -> None:
        """Note where the text of the page ends."""
        if tag == "article":
            self._depth -= 1

    def handle_data(self, data: str) -> None:
        """Count words."""
        if self._depth:
            self.words += len(data.split())


def main(arguments: list[str]) -> int:
    """Print what is missing; the exit status is 1 when something is."""
    if len(arguments) != 1:
        print("usage: python -m tools.check_published ADDRESS", file=sys.stderr)
        return 2
    pages = book.pages(Path("_toc.yml"))
    missing = complaints(arguments[0].rstrip("/") + "/", pages)
    print("\n".join(missing) or f"{len(pages)} pages, all there")
    return 1 if missing else 0


def complaints(address: str, pages: list[str]) -> list[str]:
    """One line for everything that is not as it should be."""
    found = [] if pages else ["_toc.yml names no page"]
    answered: dict[str, bool] = {}
    for name in pages:
        page = f"{address}{name}.html"
        text = fetch(page)
        if text is None:
            found.append(f"{page}: no answer")
            continue
        content = Content(text)
        if not content.has_title:
            found.append(f"{page}: no title")
        if content.words < FEWEST_WORDS:
            found.append(f"{page}: {content.words} words, fewer than {FEWEST_WORDS}")
        for file in content.files:
            url = urljoin(page, file)
            if url not in answered:
                answered[url] = fetch(url) is not None
            if not answered[url]:
                found.append(f"{page}: needs {file}, which does not answer")
    return found


def fetch(url: str) -> str | None:
    """What an address answers, tried a few times; None without a good answer."""
    for attempt in range(TRIES):
        if attempt:
            time.sleep(PAUSE)
        try:
            with urlopen(Request(url, headers={"Cache-Control": "no-cache"})) as answer:
                return answer.read().decode("utf-8", errors="replace")
        except (URLError, OSError):
            continue
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
