"""Find the chapter of a notebook, from its file name or its content."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from autograder.book import chapter_names
from autograder.exercise import UnknownExercise, find_topic, load_topic, topic_names
from autograder.notebooks import METADATA_KEY
from autograder.submissions.cells import defined_in

OTHER_CHAPTER = 3
MAX_NAMES = 100  # of what a notebook defines; more are not looked up
MAX_NAME = 60  # characters; no exercise has a longer name
# What a system, a browser or Jupyter adds to the name of another copy.
_AGAIN = re.compile(r"^copy of |(?:-checkpoint|-copy)?[- ]?\(?\d{0,4}\)?$")


def likeness(title: str, chapter: str) -> int:
    """How far a file's name without its ending is from that of the chapter.

    Returns:
        0 if it is the same but for case and what marks a copy, 1 if it contains it, 2
        if it has nothing to do with it, ``OTHER_CHAPTER`` if it is that of another one.
    """
    plain = chapter_in(title)
    if plain == chapter:
        return 0
    if plain in chapter_names():
        return OTHER_CHAPTER
    return 1 if chapter in plain else 2


def chapter_in(title: str) -> str:
    """A file's name without its ending, and without what marks a copy."""
    return re.sub(r"[- ]", "_", _AGAIN.sub("", title.casefold()))


def other_chapter(data: dict[str, Any], chapter: str) -> str | None:
    """The chapter whose notebook was handed in by mistake, if it is another one.

    Nothing of the right chapter may be in it: no cell and no function.

    Args:
        data: of the notebook, from ``notebooks.parse_notebook``.
        chapter: the chapter that was asked for.
    """
    names = list(dict.fromkeys(_names_in(data)))[:MAX_NAMES]
    if not load_topic(chapter).exercises.keys().isdisjoint(names):
        return None
    metadata = data.get("metadata")
    ours = metadata.get(METADATA_KEY) if isinstance(metadata, dict) else None
    said = ours.get("chapter") if isinstance(ours, dict) else None
    if said in topic_names():
        return said if said != chapter else None
    topics: Counter[str] = Counter()
    for name in names:
        try:
            topics[find_topic(name).name] += 1
        except UnknownExercise:
            continue
    return topics.most_common(1)[0][0] if topics else None


def _names_in(data: dict[str, Any]) -> list[str]:
    """Names of exercises that the cells of a notebook may answer.

    Released cells that prepare a chapter may define what another one asks for.
    """
    found = []
    for cell in data["cells"]:
        metadata = cell.get("metadata") if isinstance(cell, dict) else None
        entry = metadata.get("nbgrader") if isinstance(metadata, dict) else None
        grade_id = entry.get("grade_id") if isinstance(entry, dict) else None
        if isinstance(grade_id, str):
            found.append(grade_id)
        source = cell.get("source") if isinstance(cell, dict) else None
        lines = source if isinstance(source, list) else [source]
        ours = isinstance(entry, dict) and entry.get("locked") is True
        if ours and not entry.get("solution"):
            continue
        if _is_code(cell) and all(isinstance(line, str) for line in lines):
            found += sorted(defined_in("".join(lines)))
    return [name for name in found if len(name) <= MAX_NAME and name.isidentifier()]


def _is_code(cell: Any) -> bool:
    """Whether something in the list of cells is a cell of code."""
    return isinstance(cell, dict) and cell.get("cell_type") == "code"
