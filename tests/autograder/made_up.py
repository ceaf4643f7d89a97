"""Made-up reports of a chapter, as ``grade`` leaves them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from autograder.exercise import load_topic
from autograder.files import write_atomically
from autograder.marks.gradebook import ChapterMarks
from autograder.marks.reports import report_path
from autograder.reasons import Reason
from autograder.release.settings import settings_of


def exercise(
    name: str,
    passed: Mapping[str, bool],
    points: Mapping[str, int],
    mistake: str | None = None,
    message: str = "",
    reason: Reason | None = None,
    own_helper: bool = False,
) -> dict[str, Any]:
    """What a report says about an exercise.

    Args:
        name: of the exercise.
        passed: whether each case passed, by title.
        points: of each case, by title.
        mistake: that was recognised.
        message: that the student got.
        reason: the kind of what the message says; what fits the mistake if None.
        own_helper: whether it calls another wrong answer.
    """
    if reason is None:
        found = Reason.EDIT if message else Reason.NONE
        reason = Reason.MISTAKE if mistake else found
    cases = [
        {
            "title": t,
            "points": points[t],
            "passed": bool(ok),
            "message": "" if ok else "2 of 3 values differ",
            "judged": True,
            "reason": Reason.NONE if ok else Reason.DIFFERS,
        }
        for t, ok in passed.items()
    ]
    return {
        "name": name,
        "score": sum(c["points"] for c in cases if c["passed"]),
        "max_score": sum(points.values()),
        "mistake": mistake,
        "message": message,
        "cases": cases,
        "reason": reason,
        "own_helper": own_helper,
    }


def report(
    student: str, exercises: Sequence[dict[str, Any]], refused: str | None = None
) -> dict[str, Any]:
    """The report on a student."""
    return {
        "student": student,
        "score": 0 if refused else sum(e["score"] for e in exercises),
        "max_score": sum(e["max_score"] for e in exercises),
        "refused": refused,
        "notes": [],
        "late_penalty": 0.0,
        "own": {},
        "exercises": list(exercises),
    }


def report_on(
    student: str, chapter: str, failing: Collection[str] = ()
) -> dict[str, Any]:
    """The report on somebody who fails cases with these titles, and no others."""
    exercises = [
        exercise(
            name,
            {case.title: case.title not in failing for case in asked.cases},
            {case.title: case.points for case in asked.cases},
        )
        for name, asked in load_topic(chapter).exercises.items()
    ]
    return report(student, exercises)


def record(course: Path, chapter: str, reports: Sequence[dict[str, Any]]) -> None:
    """Have reports and marks in a course, as ``grade`` leaves them."""
    settings = settings_of(course)
    with ChapterMarks(settings.gradebook, settings.course_id, chapter) as book:
        book.write((said["student"], said, None) for said in reports)
    for said in reports:
        path = report_path(course, chapter, said["student"])
        write_atomically(path, json.dumps({**said, "seconds": 0.1}))
