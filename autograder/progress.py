"""How far a student is: read from the saved notebooks, without running anything.

The points are those given by ``check``; they count as long as the answer has not been
edited since.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from IPython.core.inputtransformer2 import TransformerManager

from autograder.book import chapter_names
from autograder.errors import AutograderError
from autograder.files import Unusable
from autograder.notebooks import chapter_of, grade_id, read_notebook, source
from autograder.record import RECORD, fingerprint, is_stub
from autograder.rows import points_in_words

CHANGED = "changed since it was checked"
UNCHECKED = "not checked yet"
TO_DO = "to do"


class NoNotebooks(AutograderError):
    """A folder holds no notebook of the course."""


@dataclass(frozen=True)
class Work:
    """The state of one exercise.

    Attributes:
        score: points that its check gave to the answer that is there now.
        max_score: points of all its cases.
        state: in words, when it is not done.
        later: points that are judged at grading, and not before.
    """

    name: str
    score: float
    max_score: float
    state: str
    later: float = 0.0

    @property
    def done(self) -> bool:
        """Whether it has all its points."""
        return self.score >= self.max_score

    @property
    def open(self) -> bool:
        """Whether there is something left to do, as far as ``check`` can tell."""
        return self.score + self.later < self.max_score


@dataclass(frozen=True)
class Chapter:
    """The state of one notebook."""

    name: str
    path: Path
    saved: float
    exercises: list[Work]

    @property
    def open(self) -> list[Work]:
        """The exercises at which there is something left to do."""
        return [work for work in self.exercises if work.open]

    @property
    def begun(self) -> bool:
        """Whether an answer was written to any exercise."""
        return any(work.done or work.state != TO_DO for work in self.exercises)


def progress(folder: Path | str = ".") -> None:
    """Print what is done in the notebooks of a folder, or in one, and where to go on.

    This is for notebooks: where there is nothing to show, it prints why.
    """
    try:
        print(table_of(Path(folder)))
    except AutograderError as error:
        print(error)


def table_of(place: Path) -> str:
    """What is done in the notebooks of a folder, or in one, and where to go on.

    Raises:
        NoNotebooks: there are no notebooks of the course.
    """
    return as_table(*read_notebooks(place))


def read_notebooks(place: Path) -> tuple[list[Chapter], list[str]]:
    """One notebook, or those of a folder and the folders in it, in the book's order.

    Returns:
        The chapters, and a line for each notebook that is not counted.

    Raises:
        NoNotebooks: there are none.
    """
    inside = sorted([*place.glob("*.ipynb"), *place.glob("[!.]*/*.ipynb")])
    read, notes = [], []
    for path in [place] if place.is_file() else inside:
        try:
            read.append(read_chapter(path))
        except Unusable as error:
            notes.append(f"not read: {path}: {error}")
    found: dict[str, Chapter] = {}
    for chapter in sorted(filter(None, read), key=lambda c: c.path.stem != c.name):
        if found.setdefault(chapter.name, chapter) is not chapter:
            notes.append(f"not counted: {chapter.path}, one more of {chapter.name}")
    if not found:
        why = notes[0] if notes else "name the folder in which they are"
        raise NoNotebooks(f"{place} holds no notebooks of the course; {why}")
    order = {name: number for number, name in enumerate(chapter_names())}
    return sorted(
        found.values(), key=lambda c: (order.get(c.name, len(order)), c.name)
    ), notes


def read_chapter(path: Path) -> Chapter | None:
    """The state of the exercises in one notebook; ``None`` if it has none.

    Raises:
        Unusable: it is no notebook, or damaged.
    """
    data = read_notebook(path)
    try:
        exercises = list(_exercises(data["cells"]))
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        raise Unusable("its cells are damaged") from None
    if not exercises:
        return None
    return Chapter(chapter_of(data, path), path, path.stat().st_mtime, exercises)


def _exercises(cells: list[dict[str, Any]]) -> list[Work]:
    code = [source(cell) for cell in cells if cell["cell_type"] == "code"]
    sources = set(map(fingerprint, as_run(s for s in code if not is_stub(s))))
    answers = {grade_id(cell): source(cell) for cell in reversed(cells)}
    works = []
    for cell in cells:
        name = grade_id(cell).removeprefix("check-")
        if grade_id(cell) == name or name not in answers:
            continue
        points = float(cell["metadata"]["nbgrader"]["points"])
        found = _record(cell, name)
        score = later = 0.0
        if found and found["cell"] in sources:
            score = float(found["score"])
            later = float(found.get("later", 0))
            state = points_in_words(score, points, later)
        elif is_stub(answers[name]):
            state = TO_DO
        else:
            state = CHANGED if found else UNCHECKED
        works.append(Work(name, score, points, state, later))
    return works


def as_run(sources: Iterable[str]) -> Iterator[str]:
    """The sources of cells as the kernel knows them, but for those that cannot run."""
    manager = TransformerManager()
    for text in sources:
        with suppress(Exception):  # no Python so far, or what IPython stumbles over
            yield manager.transform_cell(text)


def _record(cell: dict[str, Any], name: str) -> dict[str, Any] | None:
    """What the last check in a cell found."""
    records = [
        output["metadata"][RECORD]
        for output in cell.get("outputs", [])
        if RECORD in output.get("metadata", {})
    ]
    records = [entry for entry in records if entry["exercise"] == name]
    return records[-1] if records else None


def next_step(chapters: list[Chapter]) -> tuple[Chapter, Work] | None:
    """Where to go on: in the notebook that was begun and saved last, or after it.

    Returns:
        A chapter and the first of its exercises that is open; ``None`` if none is.
    """
    begun = [chapter for chapter in chapters if chapter.begun]
    last = max(begun, key=lambda chapter: chapter.saved, default=chapters[0])
    here = chapters.index(last)
    for chapter in chapters[here:] + chapters[:here]:
        if chapter.open:
            return chapter, chapter.open[0]
    return None


def as_table(chapters: list[Chapter], notes: list[str]) -> str:
    """The table that ``progress`` prints."""
    rows = [("chapter", _columns("done", "points"))]
    for chapter in chapters:
        rows.append((chapter.name, _totals(chapter.exercises)))
        if chapter.begun:
            left = [work for work in chapter.exercises if not work.done]
            rows += [(f"    {work.name}", work.state) for work in left]
    everything = [work for chapter in chapters for work in chapter.exercises]
    rows.append(("all", _totals(everything)))
    width = max(len(name) for name, _ in rows)
    lines = [f"{name:{width}}  {rest}" for name, rest in rows]
    return "\n".join([*lines, "", *notes, _where_to_go_on(chapters, everything)])


def _where_to_go_on(chapters: list[Chapter], everything: list[Work]) -> str:
    following = next_step(chapters)
    if following:
        chapter, work = following
        return f"Next: {work.name} in {chapter.path}: {work.state}"
    later = sum(work.later for work in everything)
    rest = f"; {later:g} points are judged at grading" if later else ""
    return f"Everything is done{rest}."


def _totals(works: list[Work]) -> str:
    done = sum(work.done for work in works)
    score, of = sum(w.score for w in works), sum(w.max_score for w in works)
    return _columns(f"{done} of {len(works)}", f"{score:g} of {of:g}")


def _columns(done: str, points: str) -> str:
    return f"{done:>8}  {points:>11}"
