"""Pictures that load lazily, in space reserved for them.

Each picture of a page says how large it is, so nothing moves when it arrives. Figures
of cells are drawings, one for light pages and one for dark (``themed_figures.py``), of
which a browser loads the one that is shown. PNG becomes WebP without any loss, which
takes a third of the bytes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path, PurePosixPath
from urllib.parse import unquote
from xml.etree import ElementTree

from PIL import Image
from sphinx.application import Sphinx

from autograder.files import write_atomically
from tools.pages.page import Page
from tools.pages.themed_figures import is_figure, themed

FOLDER = "_images"
TAG = re.compile(r"<img\b[^>]*>")
SOURCE = re.compile(r'\bsrc="([^"]+)"')
SIZED = re.compile(r"\b(?:width|height)\s*[=:]")
CLASS = re.compile(r'\bclass="')
# What the theme shows on light or on dark pages has these classes, by its ending.
THEMES = {".light.svg": "only-light", ".dark.svg": "only-dark"}
# What pages show in place of the pictures of cells, by the ending of those.
INSTEAD = {".png": (".webp",), ".svg": tuple(THEMES)}
NUMBER = re.compile(r"\d+(?:\.\d+)?")
UNITS = {"": 1.0, "px": 1.0, "pt": 4 / 3, "in": 96.0, "cm": 96 / 2.54, "mm": 9.6 / 2.54}


def make_lazy(app: Sphinx, pages: list[Page]) -> None:
    """Let the pictures of pages wait."""
    for page in pages:
        place = Path(app.outdir, page.name).parent
        page.body = with_lazy_pictures(page.body, place)


def shown_instead(file: Path) -> list[Path]:
    """The files that pages show in place of a picture, if it is one of a cell.

    Pictures of other formats are shown as they are: there are no such files.
    """
    endings = INSTEAD.get(file.suffix, ())
    return [file.with_name(f"{file.stem}{ending}") for ending in endings]


def with_lazy_pictures(body: str, place: Path) -> str:
    """HTML whose pictures have their size, wait until they are near, and are small.

    Args:
        body: HTML.
        place: the folder in which it will be. What it shows is there already, and
            Sphinx's own pictures give way to those that are shown in their place.
    """

    def mark(found: re.Match) -> str:
        tag = found[0]
        source = SOURCE.search(tag)
        if source is None or source[1].startswith("data:") or "loading=" in tag:
            return tag
        more = ' loading="lazy" decoding="async"'
        address = PurePosixPath(unquote(source[1]))
        if address.parent.name != FOLDER:
            return tag.replace("<img", f"<img{more}", 1)
        file = Path(os.path.normpath(place / address))  # the place may not be there yet
        shown = shown_instead(file)
        drawn = draw(file, shown)
        if not SIZED.search(tag):
            width, height = size(shown[0] if drawn else file)
            if width and height:
                more += f' width="{width}" height="{height}"'
        tag = tag.replace("<img", f"<img{more}", 1)
        return "".join(_showing(path, tag, address) for path in shown) if drawn else tag

    return TAG.sub(mark, body)


def _showing(path: Path, tag: str, address: PurePosixPath) -> str:
    """A tag of a picture with another file in place of the one at its address."""
    ending = path.name.removeprefix(address.stem)
    source = SOURCE.search(tag)[0]
    tag = tag.replace(source, source.replace(address.suffix, ending), 1)
    return _with_class(tag, THEMES[ending]) if ending in THEMES else tag


def _with_class(tag: str, name: str) -> str:
    if CLASS.search(tag):
        return CLASS.sub(f'class="{name} ', tag, count=1)
    return tag.replace("<img", f'<img class="{name}"', 1)


def draw(file: Path, targets: Sequence[Path]) -> bool:
    """Write what pages show in place of a picture, which is then removed.

    Sphinx copies a picture, with its time, whenever it writes a page that has it. Where
    it has gone, an earlier build has drawn what is shown.

    Returns:
        Whether there are such files; there are none for drawings that are no figures.
    """
    if not targets or not file.exists():
        return bool(targets)
    time = file.stat().st_mtime
    if all(path.exists() and path.stat().st_mtime >= time for path in targets):
        pass
    elif file.suffix == ".png":
        webp(file, targets[0])
    else:
        svg = file.read_text(encoding="utf-8")
        if not is_figure(svg):
            return False
        for path, dark in zip(targets, (False, True), strict=True):
            write_atomically(path, themed(svg, dark))
    file.unlink()
    return True


def webp(file: Path, target: Path) -> None:
    """Write a picture as WebP, pixel by pixel as it is."""
    with Image.open(file) as picture:
        # Twice as fast as Pillow's own choice, and 2 % larger.
        written = BytesIO()
        picture.save(written, "WebP", lossless=True, exact=True, method=1, quality=30)
    write_atomically(target, written.getvalue())


def size(file: Path) -> tuple[int, int]:
    """Width and height of a picture in pixels of CSS; 0 if a drawing says neither."""
    if file.suffix != ".svg":
        with Image.open(file) as picture:
            return picture.size
    root = ElementTree.parse(file).getroot()
    box = NUMBER.findall(root.get("viewBox", "")) or ("0", "0")
    room = [float(number) for number in box[-2:]]
    width, height = _length(root.get("width")), _length(root.get("height"))
    return round(width or room[0]), round(height or room[1])


def _length(text: str | None) -> float:
    """A length of SVG in pixels; 0 if there is none, or it depends on the page."""
    found = re.fullmatch(r"([\d.]+)([a-z]*)", text or "")
    return float(found[1]) * UNITS.get(found[2], 0) if found else 0
