"""The book's chapters, where a checkout is at hand: their folder and their order."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from autograder.exercise import topic_names
from toolkit.book import CHAPTERS, pages


def chapters_folder() -> Path:
    """The folder of the chapters in this checkout; it need not exist."""
    return CHAPTERS


@cache
def chapter_title(name: str) -> str:
    """The title of a chapter; where the chapters are not at hand, its file's name."""
    path = CHAPTERS / f"{name}.md"
    if path.is_file():
        heading = re.search(r"^# (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        if heading:
            return heading[1]
    return name.replace("_", " ")


def without_code(chapter: str) -> str:
    """A chapter without its code cells, in which comments look like headings."""
    return re.sub(r"^(`{3,})\{code-cell\}.*?^\1$", "", chapter, flags=re.M | re.S)


def chapter_names() -> list[str]:
    """Topics whose chapters are in the table of contents, in its order.

    Without a table of contents, as in an installed wheel, there are none.
    """
    return list(_chapters())


@cache
def _chapters() -> tuple[str, ...]:
    """Read once: a file is asked about by its name, and a folder may hold thousands."""
    listed, topics = [Path(page).name for page in pages()], set(topic_names())
    return tuple(name for name in listed if name in topics)
