"""Points given back to a whole class for one cause, by rules that a chapter keeps.

``regrades/CHAPTER.json`` holds them. A rule names a case or a mistake of an exercise,
and how many of the points that it cost are given back. Reports keep what the judge
found; the points are added whenever a score is written into the gradebook, so rules
hold for later runs and later submissions too, and can be taken back. The log of
changes tells of those that no longer hold.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from autograder.errors import AutograderError
from autograder.files import plain_file, write_atomically
from autograder.reasons import Reason

MISTAKE, CASE = "mistake", "case"
MAX_RULES = 4 * 2**20  # bytes
_UNTRIED = (Reason.STUB, Reason.TOO_EASY)


class BadRules(AutograderError):
    """The rules of a chapter cannot be read."""


@dataclass(frozen=True)
class Rule:
    """What is given back, and for what.

    Attributes:
        number: of the rule, by which it is taken back.
        exercise: whose points they are.
        kind: ``MISTAKE`` or ``CASE``.
        name: of the mistake, or title of the case.
        points: how many, at most; None for all that it cost.
        why: the reason, which students read; empty if none was given.
        who: account that made it.
        when: in UTC.
    """

    number: int
    exercise: str
    kind: str
    name: str
    points: float | None
    why: str
    who: str
    when: str

    @property
    def cause(self) -> tuple[str, str, str]:
        """What it is about: no two rules are about the same."""
        return self.exercise, self.kind, self.name

    @property
    def subject(self) -> str:
        """What it is about, in words."""
        name = self.name.replace("_", " ") if self.kind == MISTAKE else self.name
        return f"{self.exercise}, {self.kind} “{name}”"

    @property
    def label(self) -> str:
        """How the audit log names it."""
        return f"regrade {self.number}: {self.subject}; {self.why or self.worth}"

    @property
    def worth(self) -> str:
        """How much is given back, in words."""
        if self.points is None:
            return "forgiven"
        return f"{_points(self.points)} back"

    def line(self) -> str:
        """The rule as a list of rules shows it."""
        why = f"{self.why}; " if self.why else ""
        made = f"{why}{self.who}, {self.when}"
        return f"{self.number}: {self.subject}: {self.worth} ({made})"


def read_rules(course: Path, chapter: str) -> list[Rule]:
    """The rules of a chapter.

    Raises:
        BadRules: somebody changed the file, and something in it is wrong.
    """
    path = rules_path(course, chapter)
    if not path.exists():
        return []
    try:
        entries = json.loads(plain_file(path, MAX_RULES))
        return [Rule(**entry) for entry in entries]
    except (ValueError, TypeError, RecursionError) as error:
        raise BadRules(
            f"{path} does not hold the rules that `regrade` wrote ({error}): put the "
            "file back, or remove it to give up all rules of the chapter"
        ) from None


def keep_rules(course: Path, chapter: str, rules: Sequence[Rule]) -> None:
    """Make these the rules of a chapter."""
    text = json.dumps([asdict(rule) for rule in rules], indent=1, ensure_ascii=False)
    write_atomically(rules_path(course, chapter), text + "\n")


def rules_path(course: Path, chapter: str) -> Path:
    """Where the rules of a chapter are kept."""
    return course / "regrades" / f"{chapter}.json"


def credited(report: Mapping[str, Any], rules: Sequence[Rule]) -> Mapping[str, Any]:
    """A report with what the rules give back added to its scores.

    Exercises that get points say so under ``regraded``, and under ``rules`` for the
    log. A submission that could not be examined gets nothing.
    """
    if report["refused"]:
        return report
    exercises = [_with_credit(exercise, rules) for exercise in report["exercises"]]
    pairs = zip(exercises, report["exercises"], strict=True)
    gained = sum(now["score"] - before["score"] for now, before in pairs)
    return {**report, "exercises": exercises, "score": report["score"] + gained}


def _with_credit(exercise: dict[str, Any], rules: Sequence[Rule]) -> dict[str, Any]:
    score, given = exercise["score"], []
    for rule in rules:
        credit = min(_worth(rule, exercise), exercise["max_score"] - score)
        if credit > 0:
            score += credit
            given.append((rule, credit))
    if not given:
        return exercise
    said = [_said(rule, credit) for rule, credit in given]
    labels = "; ".join(rule.label for rule, _ in given)
    return {**exercise, "score": score, "regraded": "\n\n".join(said), "rules": labels}


def _said(rule: Rule, credit: float) -> str:
    """What students read of points that they got back."""
    verb = "was" if credit == 1 else "were"
    said = f"Regraded: {_points(credit)} {verb} given back ({rule.subject})"
    return f"{said}: {rule.why}" if rule.why else f"{said}."


def _points(number: float) -> str:
    return "1 point" if number == 1 else f"{number:g} points"


def _worth(rule: Rule, exercise: Mapping[str, Any]) -> float:
    """The points that a rule gives back, before what is lost at all limits them."""
    if rule.exercise != exercise["name"]:
        return 0
    if rule.kind == MISTAKE:
        lost = exercise["max_score"] - exercise["score"]
        lost = lost if exercise["mistake"] == rule.name else 0
    else:
        lost = sum(
            case["points"]
            for case in exercise["cases"]
            if case["title"] == rule.name and _was_answered(exercise, case)
        )
    return lost if rule.points is None else min(rule.points, lost)


def _was_answered(exercise: Mapping[str, Any], case: Mapping[str, Any]) -> bool:
    """Whether an answer that counts for something failed in a case.

    A stub does not count, nor one value for all cases. Nothing is said of the cases of
    an answer that was refused for a call.
    """
    if case["passed"] or not case["message"] or case["reason"] in _UNTRIED:
        return False
    return Reason.NOTHING_RETURNED not in (exercise["reason"], case["reason"])
