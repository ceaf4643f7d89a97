"""The book's chapters, where a checkout is at hand: their folder and their order."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from autograder import own_topics
from autograder.exercise import topic_names
from toolkit.book import CHAPTERS, pages


def chapters_folder() -> Path:
    """The folder of the chapters in this checkout; it need not exist."""
    return CHAPTERS


def chapter_file(name: str) -> Path:
    """The file of a chapter of the book or of the course; it need not exist."""
    return own_topics.chapter_file(name, CHAPTERS)


@cache
def chapter_title(name: str) -> str:
    """The title of a chapter; where the chapters are not at hand, its file's name."""
    path = chapter_file(name)
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

    Without a table of contents, as in an installed wheel, there are none. Topics of the
    course follow, in alphabetical order.
    """
    topics = topic_names()
    listed = [name for name in _listed() if name in topics]
    own = [name for name in topics if name not in listed]
    return listed + [name for name in own if _is_own(name)]


def capstone_names() -> list[str]:
    """Chapters without exercises that run on the reader's own answers, in order."""
    return [
        name
        for name in _listed()
        if name not in topic_names()
        and chapter_file(name).is_file()
        and "autograder.mine" in chapter_file(name).read_text(encoding="utf-8")
    ]


def _is_own(name: str) -> bool:
    """Whether a chapter is one of the course, and not of the book."""
    file = chapter_file(name)
    return file.is_file() and file.parent != CHAPTERS


@cache
def _listed() -> tuple[str, ...]:
    """Read once: a file is asked about by its name, and a folder may hold thousands."""
    return tuple(Path(page).name for page in pages())
