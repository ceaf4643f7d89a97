"""Sphinx extension: pictures that are loaded when they are near, in room kept for them.

Each picture of a page says how large it is, so nothing moves when it arrives. PNG
becomes WebP without any loss, which takes a third of the bytes for figures with lines
and words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

from PIL import Image
from sphinx.application import Sphinx

TAG = re.compile(r"<img\b[^>]*>")
SOURCE = re.compile(r'\bsrc="([^"]+)"')
SIZED = re.compile(r"\b(?:width|height)\s*[=:]")
NUMBER = re.compile(r"\d+(?:\.\d+)?")
UNITS = {"": 1.0, "px": 1.0, "pt": 4 / 3, "in": 96.0, "cm": 96 / 2.54, "mm": 9.6 / 2.54}


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx, after what changes the body of a page."""
    app.connect("html-page-context", mark_pictures, priority=800)
    app.connect("html-collect-pages", leave_out_originals)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def mark_pictures(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Let the pictures of a page wait."""
    if "body" not in context:
        return
    images = app.builder.images
    files = {name: Path(app.srcdir) / file for file, name in images.items()}
    folder = Path(app.outdir) / "_images"
    context["body"] = with_lazy_pictures(context["body"], files, folder)


def leave_out_originals(app: Sphinx) -> Iterable[tuple[str, dict[str, Any], str]]:
    """Have no picture copied that pages show as WebP; this adds no page.

    Pages may have been written in other processes, so what says so is the file.
    """
    images, folder = app.builder.images, Path(app.outdir) / "_images"
    for file, name in list(images.items()):
        if name.endswith(".png") and smaller(name, folder).exists():
            del images[file]
    return ()


def smaller(name: str, folder: Path) -> Path:
    """The file of a picture as WebP.

    Args:
        name: of the picture.
        folder: that of all pictures of the book.
    """
    return folder / f"{PurePosixPath(name).stem}.webp"


def with_lazy_pictures(body: str, files: dict[str, Path], folder: Path) -> str:
    """HTML whose pictures have their size, wait until they are near, and are small.

    Args:
        body: HTML.
        files: the pictures of the book by the last part of their address.
        folder: where pictures of another format are written.

    Returns:
        The new HTML.
    """

    def mark(found: re.Match) -> str:
        tag = found[0]
        source = SOURCE.search(tag)
        if source is None or source[1].startswith("data:") or "loading=" in tag:
            return tag
        more = ' loading="lazy" decoding="async"'
        address = PurePosixPath(unquote(source[1]))
        file = files.get(address.name)
        if file is not None and not SIZED.search(tag):
            width, height = size(file)
            if width and height:
                more += f' width="{width}" height="{height}"'
        if file is not None and file.suffix == ".png":
            webp(file, smaller(address.name, folder))
            tag = tag.replace(source[0], source[0].replace(".png", ".webp"), 1)
        return tag.replace("<img", f"<img{more}", 1)

    return TAG.sub(mark, body)


def webp(file: Path, target: Path) -> None:
    """Write a picture as WebP, pixel by pixel as it is, unless that was done before."""
    if target.exists() and target.stat().st_mtime >= file.stat().st_mtime:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(file) as picture:
        # Twice as fast as Pillow's own choice, and 2 % larger.
        picture.save(target, lossless=True, exact=True, method=1, quality=30)


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
