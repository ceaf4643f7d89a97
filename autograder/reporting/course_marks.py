"""The marks of a whole course: students by chapters, final marks, who needs help."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autograder.book import chapter_names
from autograder.errors import AutograderError
from autograder.exercise import UnknownExercise, require_topic
from autograder.marks.reports import EXCUSED, LOW, WAITING, ClassReport, NoReports
from autograder.marks.whole_class import report_on_class
from autograder.reporting.pages import percent
from autograder.shell import command
from autograder.tables import BadTable, number_in, read_table

FALLEN = 0.25  # by how much a chapter is below somebody's own mean before it
IN_A_ROW = 2  # chapters that were not handed in, up to the last


class NothingGraded(AutograderError):
    """The course has no graded chapter."""


@dataclass(frozen=True)
class Student:
    """What somebody has in a course.

    Attributes:
        name: nbgrader's id.
        shares: of the points of each chapter, from 0 to 1; None where nothing was
            handed in. Chapters of which somebody is excused, and those in which the
            work is still to be graded, are not here.
        excused: the chapters of which somebody is excused.
        dropped: chapters that count for nothing, because they are the lowest.
        so_far: the mark of what was handed in, from 0 to 1; None if that is nothing.
        final: the mark if what was not handed in is a zero; None if nothing counts.
        at_risk: why this student may need help; empty if nothing says so.
        waiting: chapters in which the work is still to be graded.
    """

    name: str
    shares: dict[str, float | None]
    excused: list[str]
    dropped: list[str]
    so_far: float | None
    final: float | None
    at_risk: list[str]
    waiting: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class CourseMarks:
    """The marks of a course.

    Attributes:
        chapters: those that were graded, in the order of the book.
        weights: how much each counts.
        students: everybody, by name.
        notes: what does not fit together.
    """

    chapters: list[str]
    weights: dict[str, float]
    students: list[Student]
    notes: list[str]

    def trend(self) -> list[tuple[str, int, int, int, int, float | None, float]]:
        """Each chapter: handed in, of that to be graded, not handed in, excused, ...

        Returns:
            At the end the mean share of what was graded, and the weight.
        """
        rows = []
        for chapter in self.chapters:
            found = [s.shares[chapter] for s in self.students if chapter in s.shares]
            marks = [share for share in found if share is not None]
            waiting = sum(chapter in student.waiting for student in self.students)
            excused = sum(chapter in student.excused for student in self.students)
            mean = statistics.fmean(marks) if marks else None
            counts = (len(marks) + waiting, waiting, len(found) - len(marks), excused)
            rows.append((chapter, *counts, mean, self.weights[chapter]))
        return rows

    @property
    def at_risk(self) -> list[Student]:
        """Who may need help; the lowest marks first."""
        found = [student for student in self.students if student.at_risk]
        return sorted(found, key=lambda s: (s.final or 0.0, s.name))


def course_marks(
    course: Path, weights: Mapping[str, float] | None = None, drop: int = 0
) -> CourseMarks:
    """Work out the marks of a course from those of its chapters.

    Args:
        course: folder of the course.
        weights: how much each chapter counts; all the same if None.
        drop: how many of each student's lowest chapters do not count.

    Raises:
        NothingGraded: no chapter has a report.
        CourseError: the folder is no course.
        GradebookError: the gradebook cannot be read.
        BadTable: the deadlines or a class list cannot be used.
    """
    graded = {path.name for path in (course / "reports").glob("*") if path.is_dir()}
    reports, notes = {}, []
    for chapter in [name for name in chapter_names() if name in graded]:
        try:
            reports[chapter], more = report_on_class(course, chapter)
        except NoReports as error:  # nobody handed it in, or all are excused
            more = [f"does not count: {error}"]
        notes += [f"{chapter}: {note}" for note in more]
    if not reports:
        raise NothingGraded(
            f"no chapter was graded in {course}: grade one with "
            f"`{command('grade', 'CHAPTER', '--course', course)}`"
        )
    counting = {chapter: (weights or {}).get(chapter, 0.0) for chapter in reports}
    counting = counting if weights else dict.fromkeys(reports, 1.0)
    names = sorted({name for report in reports.values() for name in report.everybody})
    students = [_student(name, reports, counting, drop) for name in names]
    fewer = sum(_drops_fewer(student, counting, drop) for student in students)
    if fewer:
        notes.append(
            f"--drop {drop} would leave nothing that counts for {fewer} of "
            f"{len(students)} students: their best chapter counts all the same"
        )
    return CourseMarks(list(reports), counting, students, notes)


def _drops_fewer(student: Student, weights: Mapping[str, float], drop: int) -> bool:
    """Whether somebody has too few chapters for so many to be dropped."""
    counting = any(weights[chapter] > 0 for chapter in student.shares)
    return counting and len(student.dropped) < drop


def _student(
    name: str,
    reports: Mapping[str, ClassReport],
    weights: Mapping[str, float],
    drop: int,
) -> Student:
    states = {chapter: report.state_of(name) for chapter, report in reports.items()}
    excused, waiting = (
        [chapter for chapter, state in states.items() if state == kind]
        for kind in (EXCUSED, WAITING)
    )
    shares = {
        chapter: _share(report, name)
        for chapter, report in reports.items()
        if chapter not in (*excused, *waiting)
    }
    weighed = [chapter for chapter in shares if weights[chapter] > 0]
    lowest = sorted(weighed, key=lambda c: (shares[c] or 0.0, c))
    dropped = lowest[: min(drop, max(0, len(lowest) - 1))]
    kept = {c: shares[c] for c in weighed if c not in dropped}
    handed_in = {c: share for c, share in kept.items() if share is not None}
    zeros = {c: share or 0.0 for c, share in kept.items()}
    so_far = _mean(handed_in, weights)
    return Student(
        name,
        shares,
        excused,
        dropped,
        so_far,
        _mean(zeros, weights),
        _reasons(list(shares.values()), so_far),
        waiting,
    )


def _share(report: ClassReport, name: str) -> float | None:
    """The share of the points; extra credit can make it more than one."""
    score = report.score_of(name, None)
    return None if score is None else score / report.max_score


def _mean(shares: Mapping[str, float], weights: Mapping[str, float]) -> float | None:
    """The weighted mean, sum of w_c s_c / sum of w_c; None of nothing."""
    total = sum(weights[chapter] for chapter in shares)
    if not total:
        return None
    return sum(weights[c] * share for c, share in shares.items()) / total


def _reasons(shares: Sequence[float | None], so_far: float | None) -> list[str]:
    """Why somebody with these shares, in the order of the chapters, may need help."""
    reasons = []
    handed_in = [share for share in shares if share is not None]
    if so_far is not None and so_far < LOW:
        reasons.append(f"the mark so far is {percent(so_far)}")
    missing = next((n for n, s in enumerate(reversed(shares)) if s is not None), None)
    missing = len(shares) if missing is None else missing
    if missing >= IN_A_ROW:
        reasons.append(f"nothing handed in for the last {missing} chapters")
    if len(handed_in) > 1:
        before = statistics.fmean(handed_in[:-1])
        if handed_in[-1] <= before - FALLEN:
            reasons.append(f"from {before:.0%} down to {handed_in[-1]:.0%}")
    return reasons


def read_weights(path: Path) -> dict[str, float]:
    """How much chapters count: a table of ``chapter`` and ``weight``.

    Raises:
        Unusable: it is no file that can be read.
        BadTable: something in it is wrong; then nothing of it is used.
    """
    table = read_table(path)
    for column in ("chapter", "weight"):
        if column not in table.columns:
            what = f"row 1: no column {column}; there have to be chapter and weight"
            raise BadTable(path, [what])
    weights: dict[str, float] = {}
    for row in table.unique("chapter"):
        try:
            require_topic(row["chapter"])
        except UnknownExercise as error:
            table.problem(row, "chapter", str(error))
        weight = number_in(row["weight"])
        if weight is None:
            what = f"{row['weight']!r} is no number from 0 on, such as 2 or 0.5"
            table.problem(row, "weight", what)
        weights[row["chapter"]] = weight or 0.0
    if not table.problems and not any(weights.values()):
        table.problem(1, "weight", "all are 0, so nothing would count")
    table.require_sound()
    return weights
