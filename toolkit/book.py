"""The sections of this book as plain texts, for chapters that read it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

CHAPTERS = Path(__file__).resolve().parents[1] / "chapters"
_FENCE = re.compile(r"^(`{3,}|~{3,})(?:\{([\w:-]+)\})?")
_SKIPPED = (
    *("code-cell", "exercise", "solution", "raw"),
    *("math", "literalinclude", "glossary", "quiz"),
)
_ROLE = re.compile(r"\{[\w:-]+\}`([^`<]*?)(?:\s*<[^>`]*>)?`")
_CITATION = re.compile(r"\s*\{cite(?::\w)?\}`[^`]*`")


class Section(NamedTuple):
    """One section: the name of its chapter's file, its heading, and its prose."""

    chapter: str
    heading: str
    text: str


def sections() -> list[Section]:
    """The sections of all chapters, in alphabetical order of the chapters.

    Code, exercises, solutions, quizzes and formulas on lines of their own are left out.
    Where the chapters are not installed, the documentation of ``torch.nn`` takes their
    place.
    """
    files = sorted(CHAPTERS.glob("*.md"))
    found = [section for file in files for section in _sections_of(file)]
    return found or list(_documentation())


def _sections_of(file: Path) -> Iterator[Section]:
    lines = list(_prose(file.read_text(encoding="utf-8")))
    starts = [i for i, line in enumerate(lines) if re.match(r"##? ", line)]
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
        text = " ".join(" ".join(lines[start + 1 : stop]).split())
        if len(text.split()) >= 20:
            yield Section(file.stem, _plain(lines[start].lstrip("# ")), _plain(text))


def _prose(text: str) -> Iterator[str]:
    """Lines without the metadata at the top and without the blocks that are skipped."""
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    closing = None
    for line in text.splitlines():
        fence = _FENCE.match(line)
        if closing:
            if line.startswith(closing):
                closing = None
        elif fence and (fence[2] in _SKIPPED or (not fence[2] and len(fence[1]) == 3)):
            closing = None if _closes_a_box(line, fence) else fence[1]
        elif not fence and not line.startswith((":", "(", "|", "<!--", "+++")):
            yield line


def _closes_a_box(line: str, fence: re.Match) -> bool:
    """A bare fence ends a box whose text was kept; one with a language opens code."""
    return not fence[2] and line.strip() == fence[1]


def _plain(text: str) -> str:
    text = _ROLE.sub(r"\1", _CITATION.sub("", text))
    return re.sub(r"[*`]|\$\$.*?\$\$", "", text)


def _documentation() -> Iterator[Section]:
    from torch import nn

    for name, member in inspect.getmembers(nn, inspect.isclass):
        first = (inspect.getdoc(member) or "").split("\n\n")[0]
        if len(first.split()) >= 8:
            yield Section("torch.nn", name, first)
