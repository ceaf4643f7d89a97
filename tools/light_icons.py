"""Sphinx extension: icons in a font of a few kilobytes.

The theme's fonts for icons have thousands of them, in 300 KB; pages draw about twenty.
When all pages are written, a style sheet that they load says which characters come from
a small font, which stands in it. The theme's fonts are still named by the theme's style
sheet, so an icon that was overlooked here is only slower: a browser then asks for them.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from fontTools.ttLib import TTFont
from sphinx.application import Sphinx

from tools.subset_font import subset_font

SHEET = "icons.css"  # in the static files
THEME = "styles/pydata-sphinx-theme.css"  # which has the rules of all icons
FACE = re.compile(r"@font-face\s*\{([^}]*)\}")
FILE = re.compile(r"url\(([^)]*\.ttf)\)")
SOURCE = re.compile(r"src:[^;}]*;?")
RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
NAME = re.compile(r"\bfa-[\w-]+")
# Characters of private use, written as codes or as they are.
CODE = re.compile(r"\\([ef][0-9a-f]{3})\b", re.IGNORECASE)
CHARACTER = re.compile("[\ue000-\uf8ff]")


class Face(NamedTuple):
    """A font of the theme: what its rule says but for the source, and its file."""

    rule: str
    file: Path


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_css_file(SHEET)
    app.connect("build-finished", write_icons)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_icons(app: Sphinx, exception: Exception | None) -> None:
    """Write the style sheet with the icons that pages, scripts and styles name."""
    if exception or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    theme = static / THEME
    css = theme.read_text(encoding="utf-8")
    icons = icons_in(css, names_in_use(Path(app.outdir)))
    for sheet in static.glob("**/*.css"):
        if sheet not in (theme, static / SHEET):
            icons |= codes(sheet.read_text(encoding="utf-8"))
    rules = [small_face(face, icons) for face in faces(css, theme.parent)]
    (static / SHEET).write_text("\n".join(filter(None, rules)), encoding="utf-8")


def names_in_use(folder: Path) -> set[str]:
    """The classes of icons in pages and in the scripts that all pages load."""
    pages = [*folder.glob("*.html"), *folder.glob("chapters/**/*.html")]
    scripts = [*folder.glob("_static/*.js"), *folder.glob("_static/scripts/*.js")]
    return {
        name
        for file in (*pages, *scripts)
        for name in NAME.findall(file.read_text(encoding="utf-8"))
    }


def icons_in(css: str, names: set[str]) -> set[int]:
    """Characters that a style sheet draws for these classes, or whatever has none."""
    icons = set()
    for selector, declarations in RULE.findall(css):
        of_rule = set(NAME.findall(selector))
        if not of_rule or of_rule & names:
            icons |= codes(declarations)
    return icons


def codes(css: str) -> set[int]:
    """Characters of private use that are written in a style sheet."""
    written = {int(code, 16) for code in CODE.findall(css)}
    return written | {ord(character) for character in CHARACTER.findall(css)}


def faces(css: str, folder: Path) -> Iterator[Face]:
    """The fonts of a style sheet in a folder whose files can be read here."""
    for declarations in FACE.findall(css):
        if found := FILE.search(declarations):
            yield Face(SOURCE.sub("", declarations), folder / found[1].strip("\"'"))


def small_face(face: Face, icons: set[int]) -> str:
    """A rule for those of the icons that the font has; empty if it has none."""
    with TTFont(face.file, lazy=True) as font:
        drawn = sorted(icons & font.getBestCmap().keys())
    if not drawn:
        return ""
    font = subset_font(face.file, map(chr, drawn))
    source = f"data:font/woff;base64,{base64.b64encode(font).decode()}"
    characters = ",".join(f"U+{code:x}" for code in drawn)
    return (
        f"@font-face{{{face.rule.rstrip(';')};unicode-range:{characters};"
        f'src:url("{source}") format("woff")}}'
    )
