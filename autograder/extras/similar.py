"""Pairs of students who are wrong in the same rare ways, and files for other detectors.

A right answer that two students share says little; a mistake that they share and few
others make says more. Wrong values cannot be compared, because each submission is asked
with inputs of its own: their causes are, as the class report finds them. Code is left
to detectors that are made for it, Dolos and JPlag.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import nbformat

from autograder.errors import AutograderError
from autograder.files import Unusable, write_atomically
from autograder.marks.reports import ClassReport, kept_path
from autograder.notebooks import grade_id, read_notebook, source
from autograder.release.course import master_text
from autograder.reporting.causes import Cause, causes_in
from autograder.reporting.pages import templates

MOST = 30  # pairs that are shown
MOST_SHARING = 0.25  # of the class: what more of it share is no evidence


@dataclass(frozen=True)
class Pair:
    """Two students, with all rare wrong answers that they share.

    ``evidence`` is how many bits these hold: each counts as many as a wrong answer
    that this share of the class gives, so that the rarer it is, the more it counts.
    """

    students: tuple[str, str]
    shared: list[Cause] = field(default_factory=list)
    evidence: float = 0.0


def similar_pairs(report: ClassReport) -> list[Pair]:
    """All pairs that share a rare wrong answer, those with most evidence first."""
    found: dict[tuple[str, str], Pair] = {}
    for cause in causes_in(report):
        sharing, total = len(cause.students), len(report.examined)
        if not 2 <= sharing <= max(2, MOST_SHARING * total):
            continue
        for two in combinations(sorted(cause.students), 2):
            pair = found.get(two, Pair(two))
            bits = math.log2(total / sharing)
            found[two] = Pair(two, [*pair.shared, cause], pair.evidence + bits)
    return sorted(found.values(), key=lambda pair: (-pair.evidence, pair.students))


def write_page(course: Path, report: ClassReport, pairs: Sequence[Pair]) -> Path:
    """Write the pairs with what they share, and both answers, side by side."""
    path = course / "reports" / f"{report.chapter}_similar.html"
    graded, shown = Graded(course, report.chapter), pairs[:MOST]
    students = {student for pair in shown for student in pair.students}
    answers = {student: graded.answers_of(student) for student in students}
    page = (
        templates(__package__)
        .get_template("similar.html")
        .render(
            title=f"Similar submissions: {report.chapter}",
            size=len(report.examined),
            pairs=shown,
            left=len(pairs) - len(shown),
            answers=answers,
        )
    )
    write_atomically(path, page)
    return path


class Graded:
    """The code of a chapter as it was graded, from the notebooks in ``autograded/``.

    Args:
        course: folder of the course.
        chapter: its name.

    Raises:
        CourseError: the course has no release of the chapter.
    """

    def __init__(self, course: Path, chapter: str) -> None:
        self._course, self._chapter = course, chapter
        master = nbformat.reads(master_text(course, chapter), as_version=4)
        self.given = [c.source for c in master.cells if c.cell_type == "code"]
        self._given = {text.strip() for text in self.given} | {""}

    def path(self, student: str) -> Path:
        """Where the graded notebook of a student is."""
        return kept_path(self._course, self._chapter, student)

    def answers_of(self, student: str) -> dict[str, str]:
        """What a student wrote for each exercise, without stubs."""
        return {grade_id(c): source(c) for c in self._own_cells(student) if grade_id(c)}

    def all_of(self, student: str) -> str:
        """All code that a student wrote, as the text of one file."""
        return "\n\n\n".join(map(source, self._own_cells(student))) + "\n"

    def _own_cells(self, student: str) -> list[dict[str, Any]]:
        try:
            cells = read_notebook(self.path(student))["cells"]
            code = [c for c in cells if c.get("cell_type") == "code"]
            return [c for c in code if source(c).strip() not in self._given]
        except (Unusable, AttributeError, KeyError, TypeError):
            return []  # it was removed, or somebody changed it


def write_exports(course: Path, folder: Path, report: ClassReport) -> None:
    """Write the submissions of a chapter for Dolos and JPlag, into a new folder.

    Each becomes one Python file in ``submissions/``, without stubs. ``base/`` holds the
    code that everybody was given, references too, which both leave out of account.

    Source: https://dolos.ugent.be/docs; https://github.com/jplag/JPlag/wiki.

    Raises:
        AutograderError: the folder exists and is not empty.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise AutograderError(f"{folder} exists; name a folder that is new or empty")
    graded = Graded(course, report.chapter)
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    given = [*graded.given, *_references(course, report.chapter)]
    write_atomically(folder / "base" / "base.py", "\n\n".join(given) + "\n")
    for student in (r["student"] for r in report.examined):
        text = graded.all_of(student).encode("utf-8", "replace")
        write_atomically(folder / "submissions" / f"{student}.py", text)


def _references(course: Path, chapter: str) -> list[str]:
    """The answers in the instructor's notebook, if it is there."""
    path = course / "source" / chapter / f"{chapter}.ipynb"
    try:
        cells = read_notebook(path)["cells"]
        return [source(cell) for cell in cells if cell.get("cell_type") == "code"]
    except (Unusable, KeyError, TypeError, AttributeError):
        return []
