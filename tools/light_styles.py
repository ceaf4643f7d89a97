"""Sphinx extension: one style sheet for all pages, with the rules that they can use.

When all pages are written, the style sheets that every page links to become one
(``used_styles.py`` says which of their rules stay). The originals remain beside it: the
next build reads them again, and a page written meanwhile brings its rules back.
"""

from __future__ import annotations

import html
import re
import zlib
from collections.abc import Iterable, Iterator
from os.path import commonprefix
from pathlib import Path
from urllib.parse import urlsplit

from sphinx.application import Sphinx

from tools.light_icons import small_fonts
from tools.used_styles import names_in_page, used_rules, words_in_script

SHEET = "book.css"  # in the static files
# Runtimes that come with styles of their own, and data.
NO_NAMES = re.compile(
    r"in_page/(python/|notebooks/|codemirror)|vega\.js|.*\.weights\.js"
)
# Bootstrap puts these together from parts, so no word of its script is one of them.
TOGETHER = frozenset({"bs-tooltip-auto", "bs-popover-auto"})
# What a check shows in a page is written by these modules.
CHECKS = Path(__file__).resolve().parents[1] / "autograder"

LINK = re.compile(r'<link\b[^>]*\brel="stylesheet"[^>]*>\s*')
ADDRESS = re.compile(r'\bhref="([^"]*)"')
MERGED = re.compile(r'\bdata-merged="([^"]*)"')
URL = re.compile(r"""url\(\s*(["']?)(?!data:|#)([^"')]+)\1\s*\)""")
IMPORT = re.compile(r"""@import\s+(?:url\()?\s*["']?([^"')\s;]+)["']?\s*\)?\s*;""")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("build-finished", lighten, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def lighten(app: Sphinx, exception: Exception | None) -> None:
    """Rewrite the heads of all pages, and write the style sheet that they share."""
    if exception or app.builder.format != "html":
        return
    folder = Path(app.outdir)
    pages = {file: file.read_text(encoding="utf-8") for file in pages_in(folder)}
    linked = {file: sheets_of(text, file, folder) for file, text in pages.items()}
    linked = {file: sheets for file, sheets in linked.items() if sheets}
    shared = commonprefix(list(linked.values()))
    if not shared:
        return
    css = merged(shared, folder / "_static", names_in_use(pages.values(), folder))
    css += f"\n{small_fonts(css, folder / '_static')}"
    (folder / "_static" / SHEET).write_text(css, encoding="utf-8")
    version = f"{zlib.crc32(css.encode()):08x}"
    for file in linked:
        text = with_one_sheet(pages[file], file, folder, shared, version)
        if text != pages[file]:
            file.write_text(text, encoding="utf-8")


def pages_in(folder: Path) -> Iterator[Path]:
    """The pages of a built book."""
    for file in sorted(folder.rglob("*.html")):
        if file.relative_to(folder).parts[0] not in ("_static", "_sources"):
            yield file


def sheets_of(text: str, file: Path, folder: Path) -> list[str]:
    """The style sheets that a page links to, in their order, from the static folder.

    Those for paper alone are left out. A page that was rewritten by an earlier build
    says what its sheet was made of.
    """
    sheets = []
    for link in LINK.findall(text):
        if before := MERGED.search(link):
            sheets += html.unescape(before[1]).split()
        elif path := _sheet(link, file, folder):
            sheets.append(path)
    return sheets


def _sheet(link: str, file: Path, folder: Path) -> str:
    """Path of a sheet below the static files; empty if it is not there."""
    address = urlsplit(html.unescape(ADDRESS.search(link)[1]))
    path = (file.parent / address.path).resolve()
    static = (folder / "_static").resolve()
    if 'media="print"' in link or not path.is_relative_to(static):
        return ""
    return path.relative_to(static).as_posix()


def names_in_use(pages: Iterable[str], folder: Path) -> set[str]:
    """Tags, classes and ids of pages, scripts, and of what Python shows in a page."""
    names = set(TOGETHER)
    for page in pages:
        names |= names_in_page(page)
    static = folder / "_static"
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


def with_one_sheet(
    text: str, file: Path, folder: Path, shared: list[str], version: str
) -> str:
    """A page that links to the common sheet in place of those that it was made of."""
    static = f"{'../' * (len(file.relative_to(folder).parts) - 1)}_static/"
    common = (
        f'<link rel="stylesheet" href="{static}{SHEET}?v={version}" '
        f'data-merged="{html.escape(" ".join(shared))}">\n'
    )
    links = iter([common])

    def replaced(found: re.Match) -> str:
        if before := MERGED.search(found[0]):
            others = html.unescape(before[1]).split()[len(shared) :]
            own = [
                f'<link rel="stylesheet" href="{static}{name}">\n' for name in others
            ]
            return next(links, "") + "".join(own)
        if _sheet(found[0], file, folder) in shared:
            return next(links, "")
        return found[0]

    return LINK.sub(replaced, text)
