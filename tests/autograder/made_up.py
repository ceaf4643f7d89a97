"""Made-up reports of a chapter, as ``grade`` leaves them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def exercise(
    name: str,
    passed: Mapping[str, bool],
    points: Mapping[str, int],
    mistake: str | None = None,
    message: str = "",
) -> dict[str, Any]:
    """What a report says about an exercise.

    Args:
        name: of the exercise.
        passed: whether each case passed, by title.
        points: of each case, by title.
        mistake: that was recognised.
        message: that the student got.
    """
    cases = [
        {
            "title": t,
            "points": points[t],
            "passed": bool(ok),
            "message": "" if ok else "2 of 3 values differ",
            "judged": True,
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
