"""Find the chapter of a notebook, from its content or its file name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from autograder.exercise import UnknownExercise, find_topic, load_topic, topic_names
from autograder.notebooks import METADATA_KEY
from autograder.submissions.cells import defined_in, joined, part_of

MAX_NAMES = 100  # of what a notebook defines; more are not looked up
MAX_NAME = 60  # characters; no exercise has a longer name


def is_named_after(chapter: str, name: str) -> bool:
    """Whether a file's name has that of a chapter in it."""
    return chapter in re.sub("[- ]", "_", name.casefold())


def chapter_in(data: dict[str, Any], chapter: str) -> str | None:
    """The chapter that a notebook is of, as far as it tells.

    Args:
        data: of the notebook, from ``notebooks.parse_notebook``.
        chapter: the one that is asked for. It is that if anything of it is there.
    """
    names = [name for name in _names_in(data) if len(name) <= MAX_NAME]
    names = list(dict.fromkeys(names))[:MAX_NAMES]
    if not load_topic(chapter).exercises.keys().isdisjoint(names):
        return chapter
    said = part_of(data.get("metadata"), METADATA_KEY).get("chapter")
    if said in topic_names():
        return said
    topics: Counter[str] = Counter()
    for name in names:
        try:
            topics[find_topic(name).name] += 1
        except UnknownExercise:
            continue
    return topics.most_common(1)[0][0] if topics else None


def _names_in(data: dict[str, Any]) -> Iterator[str]:
    """Names of exercises that the cells of a notebook may answer.

    Released cells that prepare a chapter may define what another one asks for.
    """
    for cell in filter(lambda cell: isinstance(cell, dict), data["cells"]):
        entry = part_of(cell.get("metadata"), "nbgrader")
        if isinstance(grade_id := entry.get("grade_id"), str):
            yield grade_id
        ours = entry.get("locked") is True and not entry.get("solution")
        if cell.get("cell_type") == "code" and not ours:
            yield from sorted(defined_in(joined(cell.get("source")) or ""))
