"""One style sheet for all pages, with the rules that they can use.

The style sheets with which every page begins become one; ``used_styles.py`` says
which of their rules stay. The originals remain beside it, for the next build.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from os.path import commonprefix
from pathlib import Path
from urllib.parse import urlsplit

from sphinx.application import Sphinx

from tools.pages.icons import small_fonts
from tools.pages.page import Page, address
from tools.pages.used_styles import names_in_page, used_rules, words_in_script

SHEET = "book.css"  # in the static files
# Runtimes that come with styles of their own, and data.
NO_NAMES = re.compile(
    r"in_page/(python/|notebooks/|codemirror)|vega\.js|.*\.weights\.js"
)
# What a check shows in a page is written by these modules.
CHECKS = Path(__file__).resolve().parents[2] / "autograder"

LINK = re.compile(r'<link\b[^>]*\brel="stylesheet"[^>]*>\s*')
ADDRESS = re.compile(r'\bhref="([^"]*)"')
URL = re.compile(r"""url\(\s*(["']?)(?!data:|#)([^"')]+)\1\s*\)""")
IMPORT = re.compile(r"""@import\s+(?:url\()?\s*["']?([^"')\s;]+)["']?\s*\)?\s*;""")


def merge(app: Sphinx, pages: list[Page]) -> None:
    """Write the style sheet that pages share, and have them load it."""
    static = Path(app.outdir) / "_static"
    linked = [sheets for page in pages if (sheets := sheets_of(page))]
    shared = commonprefix(linked)
    if not shared:
        return
    css = merged(shared, static, names_in_use(pages, static))
    css += f"\n{small_fonts(css, static)}"
    (static / SHEET).write_text(css, encoding="utf-8")
    for page in pages:
        link_to_one(page, shared, static)


def sheets_of(page: Page) -> list[str]:
    """The style sheets that a page links to, in their order, from the static folder.

    Those for paper alone are left out.
    """
    return list(
        filter(None, (_sheet(link, page) for link in LINK.findall(page.before)))
    )


def _sheet(link: str, page: Page) -> str:
    """Path of a sheet below the static files; empty if it is not there."""
    path = urlsplit(html.unescape(ADDRESS.search(link)[1])).path
    static = f"{page.up}_static/"
    if 'media="print"' in link or not path.startswith(static):
        return ""
    return path.removeprefix(static)


def names_in_use(pages: Iterable[Page], static: Path) -> set[str]:
    """Tags, classes and ids of pages, scripts, and of what Python shows in a page."""
    names: set[str] = set()
    for page in pages:
        names |= names_in_page(page.html)
    for script in sorted(static.rglob("*.js")):
        if not NO_NAMES.match(script.relative_to(static).as_posix()):
            names |= words_in_script(script.read_text(encoding="utf-8"))
    for module in sorted(CHECKS.glob("*.py")):
        names |= words_in_script(module.read_text(encoding="utf-8"))
    return names


def merged(sheets: list[str], static: Path, names: set[str]) -> str:
    """One style sheet in place of several, without what no page uses."""
    return "\n".join(part for sheet in sheets for part in _parts(sheet, static, names))


def _parts(sheet: str, static: Path, names: set[str]) -> Iterator[str]:
    """What is used of the sheets that a sheet imports, and then of itself."""
    css = (static / sheet).read_text(encoding="utf-8")
    folder = Path(sheet).parent
    for imported in IMPORT.findall(css):
        yield from _parts(_normal(folder / imported), static, names)
    yield _rebased(used_rules(IMPORT.sub("", css), names), folder)


def _rebased(css: str, folder: Path) -> str:
    """Addresses of a sheet, as seen from the static folder."""

    def rebase(found: re.Match) -> str:
        address = found[2].strip()
        if "://" in address or address.startswith("/"):
            return found[0]
        return f'url("{_normal(folder / address)}")'

    return URL.sub(rebase, css)


def _normal(path: Path) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts:
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def link_to_one(page: Page, shared: list[str], static: Path) -> None:
    """Have a page load the common sheet in place of those that it was made of."""
    links = iter([f'<link rel="stylesheet" href="{address(page, SHEET, static)}">\n'])
    page.before = LINK.sub(
        lambda link: next(links, "") if _sheet(link[0], page) in shared else link[0],
        page.before,
    )
