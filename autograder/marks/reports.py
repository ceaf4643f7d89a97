"""The reports that grading left on a chapter, with the marks that count."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.errors import AutograderError
from autograder.files import Unusable, plain_file
from autograder.judge import Report
from autograder.shell import command

if TYPE_CHECKING:
    from autograder.marks.scores import Marks

MAX_REPORT = 64 * 2**20  # bytes
HANDED_IN, LATE = "handed in", "late"
LOW = 0.5  # a share of the points below which somebody may need help
MISSING, EXCUSED = "not handed in", "excused"
WAITING = "to be graded"


@dataclass(frozen=True)
class ClassReport:
    """The reports on one chapter, in the order of the students' names.

    ``score`` in a report is what counts: with scores by hand, extra credit and late
    penalties, where the gradebook has them.

    Attributes:
        chapter: its name.
        reports: of those whose marks count.
        missing: students who have handed in nothing.
        excused: students whose mark does not count, handed in or not.
        late: of those with a report, who was late by the time of their submission.
        waiting: students whose work is there, and is still to be graded.
    """

    chapter: str
    reports: list[dict[str, Any]]
    missing: list[str] = field(default_factory=list)
    excused: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)

    @property
    def students(self) -> set[str]:
        """Who has a report."""
        return {report["student"] for report in self.reports}

    @property
    def everybody(self) -> list[str]:
        """All students of the class, in the order of their names."""
        without = {*self.missing, *self.excused, *self.waiting}
        return sorted(self.students | without)

    def report_on(self, student: str) -> dict[str, Any] | None:
        """The report on a student whose mark counts."""
        return self._by_student.get(student)

    def score_of(self, student: str, without: Any) -> Any:
        """The score of a student, or something else for those who have none."""
        found = self.report_on(student)
        return without if found is None else found["score"]

    def state_of(self, student: str) -> str:
        """A student's status, in words."""
        if student in self.excused:
            return EXCUSED
        if student in self.waiting:
            return WAITING
        if student not in self._by_student:
            return MISSING
        return LATE if student in self.late else HANDED_IN

    @cached_property
    def _by_student(self) -> dict[str, dict[str, Any]]:
        return {report["student"]: report for report in self.reports}

    def counting(self, marks: Mapping[str, Marks]) -> ClassReport:
        """The same with the marks in the gradebook, of those who are in it.

        Raises:
            AutograderError: nobody is.
        """
        reports = [
            _with_marks(report, marks[report["student"]])
            for report in self.reports
            if report["student"] in marks
        ]
        if not reports:
            raise AutograderError(
                f"nobody with a report on {self.chapter} is in the gradebook"
            )
        return replace(self, reports=reports)

    @cached_property
    def max_score(self) -> float:
        """Points that can be had."""
        return max(report["max_score"] for report in self.reports)

    @property
    def names(self) -> list[str]:
        """All that has a score: exercises, and an instructor's own cells."""
        return list(dict.fromkeys(n for r in self.reports for n in scores_of(r)))

    @property
    def examined(self) -> list[dict[str, Any]]:
        """Reports on submissions that could be examined."""
        return [report for report in self.reports if not report["refused"]]


def read_reports(course: Path, chapter: str) -> ClassReport:
    """The reports on a chapter, with the scores that the grader gave.

    Raises:
        AutograderError: there are none.
    """
    folder = course / "reports" / chapter
    reports = []
    for path in sorted(folder.glob("*.json"), key=lambda path: path.stem):
        report = report_in(path)
        if report is not None:
            reports.append({**report, "late_penalty": 0.0, "own": {}})
    if not reports:
        raise AutograderError(
            f"{chapter} has no reports in {course}: nobody has handed it in, or it was "
            "not graded yet; grade it first with "
            f"`{command('grade', chapter, '--course', course)}`"
        )
    return ClassReport(chapter, reports)


def report_path(course: Path, chapter: str, student: str) -> Path:
    """Where the report on a submission is kept."""
    return course / "reports" / chapter / f"{student}.json"


def kept_path(course: Path, chapter: str, student: str) -> Path:
    """Where the examined notebook of a student is kept."""
    return course / "autograded" / student / chapter / f"{chapter}.ipynb"


def report_in(path: Path) -> dict[str, Any] | None:
    """The content of a file if it is a report, undamaged, and not some other file."""
    try:
        report = json.loads(plain_file(path, MAX_REPORT))
        exercises = [Report.from_dict(exercise) for exercise in report["exercises"]]
        numbers = [n for e in exercises for n in (e.score, e.max_score)]
        numbers += [report["score"], report["max_score"]]
        if report["student"] != path.stem or not all(map(math.isfinite, numbers)):
            return None
        notes = [str(note) for note in report["notes"]]
        return {**report, "refused": report["refused"], "notes": notes}
    except (Unusable, ValueError, KeyError, TypeError, RecursionError):
        return None  # the next run writes it anew


def _with_marks(report: dict[str, Any], marks: Marks) -> dict[str, Any]:
    """A report with the scores that count in place of its own."""
    exercises = [
        {**exercise, "score": marks.scores.get(exercise["name"], exercise["score"])}
        for exercise in report["exercises"]
    ]
    names = {exercise["name"] for exercise in exercises}
    return {
        **report,
        "score": marks.score,
        "max_score": sum(marks.max_scores.values()),
        "late_penalty": marks.late_penalty,
        "exercises": exercises,
        "own": {name: s for name, s in marks.scores.items() if name not in names},
    }


def scores_of(report: dict[str, Any]) -> dict[str, float]:
    """All scores in a report: of exercises, and of an instructor's own cells."""
    return {e["name"]: e["score"] for e in report["exercises"]} | report["own"]
