"""A chapter's class report: who needs help, with which exercise, after which mistake.

Everything is computed from the reports that ``grade`` left and from the marks in the
gradebook, so it can be made again at any time. The page loads and runs nothing; the
table of scores beside it is for whoever wants to sort.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.book import chapter_title
from autograder.files import write_atomically
from autograder.marks.reports import EXCUSED, LOW, MISSING, ClassReport, scores_of
from autograder.reporting.causes import (
    NONE,
    causes_in,
    left_as_they_were,
)
from autograder.reporting.pages import number, of, percent, templates
from autograder.tables import write_csv

SHOWN = 6  # people on the first screen
TAUGHT = 5  # causes on the first screen


@dataclass(frozen=True)
class Exercise:
    """How an exercise went, by what the grader gave and without marks by hand.

    Attributes:
        name: of the exercise.
        asked: submissions that were examined on it.
        solved: those that have all of its points.
        share: the mean share of its points, from 0 to 1.
        not_begun: those that left it as it was.
        unexplained: wrong answers of which nobody knows the cause.
    """

    name: str
    asked: int
    solved: int
    share: float
    not_begun: int
    unexplained: int

    @property
    def says(self) -> str:
        """How it went, in words."""
        lost = of(self.asked - self.solved, self.asked)
        parts = [f"{lost} lost points, and the mean is {percent(self.share)}"]
        if self.not_begun:
            parts.append(f"{self.not_begun} did not begin it")
        if self.unexplained:
            parts.append(f"{self.unexplained} wrong in an unknown way")
        return ", ".join(parts)


def write_class_report(course: Path, report: ClassReport) -> dict[str, Path]:
    """Write the page and the table of a chapter into ``reports/``.

    Returns:
        What was written: ``page`` and ``scores``.
    """
    folder, chapter, names = course / "reports", report.chapter, report.names
    page, scores = folder / f"{chapter}.html", folder / f"{chapter}_scores.csv"
    write_atomically(page, as_page(report))
    columns = ["student", "score", "max_score", "late_penalty", *names, "refused"]
    write_csv(
        scores,
        [*columns, "status"],
        ([*_scores(report, s, names), report.state_of(s)] for s in report.everybody),
    )
    return {"page": page, "scores": scores}


def as_page(report: ClassReport) -> str:
    """The class report as one HTML page without outside resources."""
    causes, exercises = causes_in(report), exercises_in(report)
    why = [cause for cause in causes if cause.kind != NONE]
    open_ = [cause for cause in causes if cause.kind == NONE]
    hard = sorted((e for e in exercises if e.share < 1), key=lambda e: e.share)
    return (
        templates()
        .get_template("classreport.html")
        .render(
            title=chapter_title(report.chapter),
            shown=SHOWN,
            taught=TAUGHT,
            states=_states(report),
            marks=_marks(report),
            help=needing_help(report),
            hard=[(e.name, e.says) for e in hard],
            explained=why,
            shared=[cause for cause in why if len(cause.students) > 1],
            unexplained=open_,
            puzzles=sum(len(cause.students) for cause in open_),
            students=[_student(report, name) for name in report.everybody],
            examined=len(report.examined),
        )
    )


def exercises_in(report: ClassReport) -> list[Exercise]:
    """How each exercise of a chapter went, in the order of the chapter."""
    earned: dict[str, list[float]] = {}
    points: dict[str, float] = {}
    for r in report.examined:
        for exercise in r["exercises"]:
            name, cases = exercise["name"], exercise["cases"]
            points.setdefault(name, sum(case["points"] for case in cases))
            got = sum(case["points"] for case in cases if case["passed"])
            earned.setdefault(name, []).append(got)
    left = left_as_they_were(report)
    unknown: Counter[str] = Counter()
    for cause in causes_in(report):
        unknown[cause.exercise] += len(cause.students) * (cause.kind == NONE)
    return [
        Exercise(
            name,
            len(got),
            sum(one >= points[name] for one in got),
            statistics.fmean(got) / points[name] if points[name] else 1.0,
            len(left.get(name, ())),
            unknown[name],
        )
        for name, got in earned.items()
    ]


def _states(report: ClassReport) -> list[tuple[str, str]]:
    """How many handed in, how many have no mark, and how many have a zero."""
    due = len(report.everybody) - len(report.excused)
    zeros = sum(r["score"] == 0 for r in report.reports)
    unread = len(report.reports) - len(report.examined)
    why = f" ({unread} could not be examined)" if unread else ""
    found = [
        (of(len(report.reports) + len(report.waiting), due), "handed in"),
        (str(len(report.waiting)), "of them still to be graded"),
        (str(len(report.late)), "of them late"),
        (str(len(report.missing)), "not handed in: no mark"),
        (str(len(report.excused)), "excused: no mark"),
        (str(zeros), f"with zero points{why}"),
    ]
    return [(value, what) for value, what in found if value != "0"]


def _marks(report: ClassReport) -> str:
    scores = [r["score"] for r in report.reports]
    full = sum(score >= report.max_score for score in scores)
    most = number(report.max_score)
    if len(scores) == 1:
        return f"The mark is {number(scores[0])} of {most} points."
    return (
        f"Half of those who handed in have {number(statistics.median(scores))} of "
        f"{most} points or more, and the mean is {number(statistics.fmean(scores))}. "
        f"{of(full, len(scores)).capitalize()} have all points."
    )


def needing_help(report: ClassReport) -> list[tuple[str, str]]:
    """Who may need help with a chapter, and why; the lowest marks first.

    Those who have handed in nothing come last: of them no more is known.
    """
    found = []
    left = Counter(s for names in left_as_they_were(report).values() for s in names)
    for r in sorted(report.reports, key=lambda r: (r["score"], r["student"])):
        count = len(r["exercises"])
        if r["refused"]:
            found.append((r["student"], f"zero: {r['refused']}"))
        elif count and left[r["student"]] == count:
            found.append((r["student"], "handed in, but no exercise was begun"))
        elif r["score"] < LOW * report.max_score:
            points = f"{number(r['score'])} of {number(report.max_score)} points"
            found.append((r["student"], points))
    return found + [(student, MISSING) for student in report.missing]


def _student(report: ClassReport, name: str) -> list[Any]:
    """A line in the table of students."""
    r, state = report.report_on(name), report.state_of(name)
    if state in (MISSING, EXCUSED) or r is None:
        return [name, state, None, None, ""]
    if r["refused"]:
        why, state = r["refused"], f"zero ({state})"
    else:
        most = {e["name"]: e["max_score"] for e in r["exercises"]}
        lost = [n for n, got in scores_of(r).items() if got < most.get(n, got)]
        if r["late_penalty"]:
            lost.append(f"lateness ({number(r['late_penalty'])})")
        why = ", ".join(lost)
    share = r["score"] / report.max_score if report.max_score else None
    return [name, state, r["score"], share, why]


def _scores(report: ClassReport, student: str, names: Iterable[str]) -> Sequence[Any]:
    """A student's line in the table of scores; empty where there are none."""
    r = report.report_on(student)
    if r is None:
        return [student, "", report.max_score, "", *("" for _ in names), ""]
    scores = [scores_of(r).get(name, "") for name in names]
    first = [student, r["score"], r["max_score"], r["late_penalty"]]
    return [*first, *scores, r["refused"] or ""]
