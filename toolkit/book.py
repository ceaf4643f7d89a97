"""What this book consists of: its pages in order, and its sections as plain texts."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

CHAPTERS = Path(__file__).resolve().parents[1] / "chapters"
CONTENTS = CHAPTERS.parent / "_toc.yml"
_FENCE = re.compile(r"^(`{3,}|~{3,})(?:\{([\w:-]+)\})?")
_SKIPPED = (
    *("code-cell", "exercise", "solution", "raw"),
    *("math", "literalinclude", "glossary", "quiz"),
)
_ROLE = re.compile(r"\{[\w:-]+\}`([^`<]*?)(?:\s*<[^>`]*>)?`")
_CITATION = re.compile(r"\s*\{cite(?::\w)?\}`[^`]*`")


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
