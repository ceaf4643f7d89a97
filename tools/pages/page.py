"""A page on its way from what Sphinx writes to what readers get."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ARTICLE = re.compile(r"(<article\b[^>]*>)(.*)(?=</article>)", re.DOTALL)


@dataclass
class Page:
    """HTML in three parts: ``before`` and ``after`` are the theme's frame.

    ``body`` is what a chapter says; the page for missing ones has none.
    """

    name: str  # such as chapters/masking
    before: str
    body: str = ""
    after: str = ""

    @property
    def html(self) -> str:
        """The whole page."""
        return self.before + self.body + self.after

    @property
    def up(self) -> str:
        """The way from the page to the folder of the book."""
        return "../" * self.name.count("/")


def read(folder: Path) -> Iterator[Page]:
    """The pages in a folder."""
    for file in sorted(folder.rglob("*.html")):
        name = file.relative_to(folder).with_suffix("").as_posix()
        yield parsed(name, file.read_text(encoding="utf-8"))


def parsed(name: str, html: str) -> Page:
    """A page in its parts."""
    found = ARTICLE.search(html)
    if found is None:
        return Page(name, html)
    start, end = found.span(2)
    return Page(name, html[:start], html[start:end], html[end:])


def add_sheet(page: Page, name: str, static: Path) -> None:
    """Have a page load a style sheet of the static files, before the book's own."""
    last = page.before.rindex("<link", 0, page.before.rindex('rel="stylesheet"'))
    link = f'<link rel="stylesheet" href="{address(page, name, static)}">\n'
    page.before = page.before[:last] + link + page.before[last:]


def address(page: Page, name: str, static: Path) -> str:
    """Where a page finds a static file, in its present version: browsers keep old."""
    version = f"{zlib.crc32((static / name).read_bytes()):08x}"
    return f"{page.up}_static/{name}?v={version}"


def write(pages: Iterable[Page], folder: Path) -> None:
    """Write those pages that are new or have changed."""
    for page in pages:
        file, data = folder / f"{page.name}.html", page.html.encode()
        if not file.exists() or file.read_bytes() != data:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
