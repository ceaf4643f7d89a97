"""Pairs of students who are wrong in the same rare ways, and files for other detectors.

A right answer that two students share says little; a mistake that they share and few
others make says more. Wrong values cannot be compared, because each submission is asked
with inputs of its own: the known cause and the failed cases are. Code is left to
detectors that are made for it, Dolos and JPlag.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import nbformat

from autograder.errors import AutograderError
from autograder.files import Unusable, write_atomically
from autograder.marks.reports import ClassReport
from autograder.notebooks import grade_id, read_notebook, source
from autograder.reasons import Reason
from autograder.release.course import master_text
from autograder.reporting.pages import templates

MOST = 30  # pairs that are shown
MOST_SHARING = 0.25  # of the class: what more of it share is no evidence
_DIGITS = re.compile(r"\d[\d.e+-]*")


class CannotCompare(AutograderError):
    """There is too little to compare, or something is in the way of the files."""


@dataclass(frozen=True)
class Shared:
    """A way in which an exercise was got wrong by two students and few others.

    Attributes:
        exercise: its name.
        wrong: the cause and the failed cases, in lines.
        sharing: how many students are wrong in this way, the two included.
    """

    exercise: str
    wrong: str
    sharing: int


@dataclass(frozen=True)
class Pair:
    """Two students, with all rare wrong answers that they share.

    ``evidence`` is how many bits these hold: each counts as many as a wrong answer
    that this share of the class gives, so that the rarer it is, the more it counts.
    """

    students: tuple[str, str]
    shared: list[Shared] = field(default_factory=list)
    evidence: float = 0.0


def similar_pairs(report: ClassReport) -> list[Pair]:
    """All pairs that share a rare wrong answer, those with most evidence first.

    Args:
        report: of a chapter.

    Raises:
        CannotCompare: fewer than two submissions were examined.
    """
    examined = report.examined
    if len(examined) < 2:
        raise CannotCompare(
            f"{len(examined)} submissions of {report.chapter} were examined; two are "
            "the least that can be compared"
        )
    giving: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in examined:
        for exercise in one["exercises"]:
            if wrong := wrong_way(exercise):
                giving[exercise["name"], wrong].append(one["student"])
    most = max(2, MOST_SHARING * len(examined))
    found: dict[tuple[str, str], Pair] = {}
    for (exercise, wrong), students in giving.items():
        if not 2 <= len(students) <= most:
            continue
        bits = math.log2(len(examined) / len(students))
        for two in combinations(sorted(students), 2):
            pair = found.get(two, Pair(two))
            shared = [*pair.shared, Shared(exercise, wrong, len(students))]
            found[two] = Pair(two, shared, pair.evidence + bits)
    return sorted(found.values(), key=lambda pair: (-pair.evidence, pair.students))


def wrong_way(exercise: Mapping[str, Any]) -> str:
    """How an answer was wrong, in words that are equal for equal ways to be wrong.

    Those are the known mistake, or else what was said, and each failed case with its
    message, without the numbers.

    Args:
        exercise: of a report.

    Returns:
        Nothing if the answer is right, or was never written.
    """
    failed = [case for case in exercise["cases"] if not case["passed"]]
    if not failed or all(case["reason"] == Reason.STUB for case in failed):
        return ""
    cause = exercise["mistake"] or _DIGITS.sub("#", exercise["message"])
    cases = [f"{c['title']}: {_DIGITS.sub('#', c['message'])}" for c in failed]
    return "\n".join(filter(None, [cause.replace("_", " "), *cases]))


def in_words(pair: Pair) -> str:
    """How much a pair shares, in one line."""
    names = ", ".join(shared.exercise for shared in pair.shared)
    others = min(shared.sharing for shared in pair.shared) - 2
    who = f"{others} others" if others else "nobody else"
    return (
        f"{' and '.join(pair.students)}: wrong in the same way in {names}, the rarest "
        f"with {who} ({pair.evidence:.1f} bits)"
    )


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
        folder = self._course / "autograded" / student / self._chapter
        return folder / f"{self._chapter}.ipynb"

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
        CannotCompare: the folder exists and is not empty.
        CourseError: the course has no release of the chapter.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CannotCompare(f"{folder} exists; name a folder that is new or empty")
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
