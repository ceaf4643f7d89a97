"""Give points back for one cause: list the changes first, then make them."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autograder.errors import AutograderError
from autograder.files import printable
from autograder.marks.audit import AuditLog, account, now
from autograder.marks.gradebook import ChapterMarks
from autograder.marks.reports import read_reports
from autograder.marks.rules import (
    MISTAKE,
    Rule,
    credited,
    keep_rules,
    read_rules,
)
from autograder.marks.scores import Marks
from autograder.release.settings import settings_of

NEAR = 3  # names that an error offers


@dataclass
class Effects:
    """What a change of the rules does.

    Attributes:
        changes: marks before and after, by student, late penalties included.
        by_hand: students whose mark by hand stays as it is.
    """

    changes: dict[str, tuple[float, float]] = field(default_factory=dict)
    by_hand: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """The list of who changes by how much."""
        lines = [
            f"  {student}: {before:g} -> {after:g} ({after - before:+g})"
            for student, (before, after) in sorted(self.changes.items())
        ]
        for student in sorted(self.by_hand):
            lines.append(f"  {student}: marked by hand, and stays; look at it again")
        total = sum(after - before for before, after in self.changes.values())
        number = len(self.changes)
        changed = "1 mark changes" if number == 1 else f"{number} marks change"
        points = "point" if abs(total) == 1 else "points"
        lines.append(f"{changed}, by {total:+g} {points} in all")
        return lines


@dataclass(frozen=True)
class Regrade:
    """The rules of a chapter, its reports and its open gradebook.

    Attributes:
        rules: those that the chapter has now.
    """

    course: Path
    chapter: str
    rules: list[Rule]
    reports: Mapping[str, Mapping[str, Any]]
    marks: ChapterMarks
    held: Mapping[str, Marks]

    def with_rule(
        self,
        kind: str,
        name: str,
        points: float | None,
        why: str,
        exercise: str | None,
    ) -> list[Rule]:
        """The rules with one more; it replaces one about the same cause.

        Args:
            kind: ``MISTAKE`` or ``CASE``.
            name: of the mistake, or title of the case.
            points: given back at most; None for all that it cost.
            why: the reason, which students read.
            exercise: whose it is, where several have one of this name.

        Raises:
            AutograderError: no exercise has one, or several have.
        """
        exercise, name = self._find(kind, name, exercise)
        number = max((rule.number for rule in self.rules), default=0) + 1
        rule = Rule(number, exercise, kind, name, points, why, account(), now())
        return [*(old for old in self.rules if old.cause != rule.cause), rule]

    def numbered(self, number: int) -> Rule:
        """One of the rules.

        Raises:
            AutograderError: there is none of this number.
        """
        for rule in self.rules:
            if rule.number == number:
                return rule
        numbers = ", ".join(str(rule.number) for rule in self.rules) or "none"
        raise AutograderError(
            f"{self.chapter} has no rule {number}; there are {numbers}"
        )

    def effects(self, rules: Sequence[Rule]) -> Effects:
        """What changes if these become the rules of the chapter; nothing is done."""
        found, changing = Effects(), self._changing(rules)
        after = self.marks.as_if_regraded(changing.items())
        for student in changing:
            old, new = self.held[student], after[student]
            if old.score != new.score:
                found.changes[student] = old.score, new.score
            by_hand = old.by_hand.keys()
            if any(old.auto_scores[n] != new.auto_scores[n] for n in by_hand):
                found.by_hand.append(student)
        return found

    def do(self, rules: Sequence[Rule], why: str) -> None:
        """Make these the rules of the chapter, and give everybody their marks.

        The rules are kept first: should the machine die, ``grade`` finishes the work.

        Raises:
            GradebookError: it cannot be written; rules and marks stay as they were.
        """
        keep_rules(self.course, self.chapter, rules)
        try:
            self.marks.regrade(self._changing(rules).items(), why)
        except BaseException:
            keep_rules(self.course, self.chapter, self.rules)
            raise

    def _changing(self, rules: Sequence[Rule]) -> dict[str, Mapping[str, Any]]:
        """The new reports of those whose scores would change."""
        return {
            student: credited(report, rules)
            for student, report in self.reports.items()
            if student in self.held
            and _scores(report, self.rules) != _scores(report, rules)
        }

    def _find(self, kind: str, name: str, exercise: str | None) -> tuple[str, str]:
        """The exercise and the exact name of a mistake or a case in the reports."""
        known = [pair for pair in self._known(kind) if exercise in (None, pair[0])]
        found = [pair for pair in known if _plain(pair[1]) == _plain(name)]
        if len(found) > 1:
            which = " or ".join(f"--exercise {e}" for e, _ in found)
            raise AutograderError(
                f"several exercises have a {kind} {name!r}: add {which}"
            )
        if not found:
            there = {_plain(one): one for _, one in known}
            near = difflib.get_close_matches(_plain(name), there, n=NEAR, cutoff=0.5)
            names = " or ".join(there[n] for n in near)
            raise AutograderError(
                f"{exercise or self.chapter} has no {kind} {printable(name)!r} by "
                "which anybody lost points; "
                + (f"did you mean {names}?" if names else "the class report lists them")
            )
        return found[0]

    def _known(self, kind: str) -> list[tuple[str, str]]:
        """Exercises with the names of mistakes, or of cases, in the reports."""
        found = []
        for report in self.reports.values():
            for e in report["exercises"]:
                told = [case["title"] for case in e["cases"] if not case["passed"]]
                if kind == MISTAKE:
                    told = [e["mistake"]] if e["mistake"] else []
                found += [(e["name"], name) for name in told]
        return list(dict.fromkeys(found))


@contextmanager
def open_regrade(course: Path, chapter: str) -> Iterator[Regrade]:
    """The rules of a chapter, with what it takes to change them."""
    course = course.resolve()
    settings = settings_of(course)
    reports = {r["student"]: r for r in read_reports(course, chapter).reports}
    rules, log = read_rules(course, chapter), AuditLog(course, chapter)
    with ChapterMarks(
        settings.gradebook, settings.course_id, chapter, settings.late, log
    ) as marks:
        held = marks.read()
        log.find(held)
        yield Regrade(course, chapter, rules, reports, marks, held)


def _scores(report: Mapping[str, Any], rules: Sequence[Rule]) -> dict[str, float]:
    return {e["name"]: e["score"] for e in credited(report, rules)["exercises"]}


def _plain(name: str) -> str:
    """A name as people write it: underscores, case and blanks do not matter."""
    return " ".join(name.replace("_", " ").casefold().split())
