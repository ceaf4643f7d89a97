"""Why the answers of a class are wrong: causes and symptoms, with their students."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from autograder.exercise import UnknownExercise
from autograder.hints import where_to_read
from autograder.marks.reports import ClassReport
from autograder.reasons import OF_A_TEST, Reason

# Kinds of explanation: a known mistake, an observed symptom, or none.
MISTAKE, SYMPTOM, NONE = "known mistake", "symptom", "no cause found"
_NUMBER = re.compile(r"[-−]?\d[\d.,]*(?:e[-+]?\d+)?")


@dataclass(frozen=True)
class Cause:
    """A reason why answers to an exercise are wrong, and who gave such answers.

    Attributes:
        exercise: its name.
        kind: ``MISTAKE``, ``SYMPTOM`` or ``NONE``.
        name: of the mistake, in words; empty for others.
        says: what the students were told; without a cause, what the first case that
            failed says.
        failed: titles of the cases that failed, of the first student.
        students: who, in the order of their names.
        lost: points, all students together.
    """

    exercise: str
    kind: str
    name: str
    says: str
    failed: tuple[str, ...]
    students: tuple[str, ...]
    lost: float

    @property
    def reading(self) -> str:
        """Where in the book to read; empty for an exercise that is not in it."""
        try:
            return where_to_read(self.exercise)
        except UnknownExercise:
            return ""


@dataclass(frozen=True)
class _Wrong:
    student: str
    says: str
    failed: tuple[str, ...]
    lost: float


def causes_in(report: ClassReport) -> list[Cause]:
    """The causes in a chapter, those that most students share first.

    An exercise that somebody left as it was is in none of them. What looks like a known
    mistake, but may come from a wrong function that is called, is no mistake. Symptoms
    are one if only the numbers in them differ; wrong answers without a cause are put
    together if they fail the same cases and the first of these says the same.
    """
    found: dict[tuple, list[_Wrong]] = {}
    for r in report.examined:
        for exercise in r["exercises"]:
            failed = [case for case in exercise["cases"] if not case["passed"]]
            if not failed or exercise["reason"] == Reason.STUB:
                continue
            key, says = _key(exercise, failed)
            titles = tuple(case["title"] for case in failed)
            lost = sum(case["points"] for case in failed)
            wrong = _Wrong(r["student"], says, titles, lost)
            found.setdefault((exercise["name"], *key), []).append(wrong)
    causes = [
        Cause(
            exercise,
            kind,
            what.replace("_", " ") if kind == MISTAKE else "",
            Counter(sorted(wrong.says for wrong in all_wrong)).most_common(1)[0][0],
            all_wrong[0].failed,
            tuple(wrong.student for wrong in all_wrong),
            sum(wrong.lost for wrong in all_wrong),
        )
        for (exercise, kind, what, *_), all_wrong in found.items()
    ]
    return sorted(
        causes, key=lambda c: (-len(c.students), -c.lost, c.exercise, c.name, c.says)
    )


def _key(exercise: dict[str, Any], failed: list[dict[str, Any]]) -> tuple[tuple, str]:
    """What wrong answers with one cause share, and what is said of this one."""
    says, reason = exercise["message"], Reason(exercise["reason"])
    if exercise["mistake"] and not exercise["own_helper"]:
        return (MISTAKE, exercise["mistake"]), says
    if reason.is_told or exercise["own_helper"]:
        return (SYMPTOM, _NUMBER.sub("#", says)), says
    says = failed[0]["message"]
    titles = tuple(case["title"] for case in failed)
    if failed[0]["reason"] in OF_A_TEST:  # an answer that is a test: its rows say why
        return (SYMPTOM, _NUMBER.sub("#", says), titles), f"“{titles[0]}”: {says}"
    return (NONE, _NUMBER.sub("#", says), titles), says


def left_as_they_were(report: ClassReport) -> dict[str, list[str]]:
    """Who did not begin an exercise, by its name."""
    found: dict[str, list[str]] = {}
    for r in report.examined:
        for exercise in r["exercises"]:
            if exercise["reason"] == Reason.STUB:
                found.setdefault(exercise["name"], []).append(r["student"])
    return found
