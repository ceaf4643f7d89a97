"""What this book consists of: its parts and its pages, in order."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

CHAPTERS = Path(__file__).resolve().parents[1] / "chapters"
CONTENTS = CHAPTERS.parent / "_toc.yml"


class Part(NamedTuple):
    """A part of the book: its caption and its pages, as ``_toc.yml`` names them."""

    caption: str
    pages: list[str]


def parts(contents: Path = CONTENTS) -> list[Part]:
    """The parts of a table of contents, the first page in front without a caption.

    Where the file is missing, as in an installed wheel, there are none.
    """
    if not contents.is_file():
        return []
    import yaml  # not in the browser, where there is no such file either

    table = yaml.safe_load(contents.read_text(encoding="utf-8"))
    found = [Part(p.get("caption", ""), _files(p)) for p in table.get("parts", [])]
    first = [table["root"]] if "root" in table else []
    return [Part("", [*first, *_files(table)]), *found]


def pages(contents: Path = CONTENTS) -> list[str]:
    """All pages of a table of contents, in their order."""
    return [page for part in parts(contents) for page in part.pages]


def _files(entry: dict[str, Any]) -> list[str]:
    """Pages named under an entry of ``_toc.yml``, in their order."""
    below = [*entry.get("chapters", []), *entry.get("sections", [])]
    return [page for item in below for page in [item["file"], *_files(item)]]
