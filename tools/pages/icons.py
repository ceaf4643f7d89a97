"""Icons in a font of a few kilobytes.

The theme's fonts for icons have thousands of them, in 300 KB; pages draw about twenty.
So the style sheet of all pages (``styles.py``) says which characters come from a
small font, which stands in it. The theme's fonts are still named by the theme's rules,
so an icon that was overlooked here is only slower: a browser then asks for them.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from fontTools.ttLib import TTFont

from tools.pages.subset_font import subset_font

THEME = "styles/pydata-sphinx-theme.css"  # which names the fonts
FACE = re.compile(r"@font-face\s*\{([^}]*)\}")
FILE = re.compile(r"url\(([^)]*\.ttf)\)")
SOURCE = re.compile(r"src:[^;}]*;?")
# Characters of private use, written as codes or as they are.
CODE = re.compile(r"\\([ef][0-9a-f]{3})\b", re.IGNORECASE)
CHARACTER = re.compile("[\ue000-\uf8ff]")


class Face(NamedTuple):
    """A font of the theme: what its rule says but for the source, and its file."""

    rule: str
    file: Path


def small_fonts(css: str, static: Path) -> str:
    """Rules for the icons that a style sheet draws, with the fonts for them.

    Args:
        css: the rules that some page can use.
        static: the folder with the theme's style sheet.
    """
    theme, icons = static / THEME, codes(css)
    named = faces(theme.read_text(encoding="utf-8"), theme.parent)
    return "\n".join(filter(None, (small_face(face, icons) for face in named)))


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
