"""The submissions to one chapter in one run: what is done, and what to write."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autograder.errors import GraderFault
from autograder.files import printable, write_atomically
from autograder.grading.worker import Job
from autograder.marks.gradebook import ChapterMarks
from autograder.marks.reports import report_in, report_path
from autograder.marks.rules import Rule, credited
from autograder.marks.scores import Marks
from autograder.submissions.submitted import Submission, handed_in, read, read_secret
from autograder.submissions.timestamps import time_of

COMMON = 5  # mistakes of a class that are told after a run
SHOWN = 3  # names of a kind in one line
LOOK_AGAIN = "was marked by hand, and may have another answer now: look again"

Examined = tuple[Submission, dict, str]  # with its report and the notebook to be kept


@dataclass
class Outcome:
    """What a grading run did.

    Attributes:
        graded: reports by student, of submissions examined in this run.
        unchanged: students whose report was there already.
        missing: students of whom there is nothing, so that they get no mark.
        excused: students whose mark does not count, so that nothing is examined.
        refused: names that were not graded at all, with the reason.
        unexamined: students whose submission could not be examined through no provable
            fault of its own, with the reason. Nothing was written about them.
        changes: lines about scores that differ from what was in the gradebook.
    """

    graded: dict[str, dict[str, Any]] = field(default_factory=dict)
    unchanged: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    excused: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    unexamined: dict[str, str] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)

    def lines(self, chapter: str) -> list[str]:
        """What to tell an instructor about the run, as a terminal may show it."""
        reports = sorted(self.graded.items())
        found = [
            f"{chapter}: {len(reports)} examined, {len(self.unchanged)} "
            "unchanged since the last run"
        ]
        if self.missing:
            found.append(
                f"  not handed in: {some(sorted(self.missing))} (no mark, and not zero)"
            )
        if self.excused:
            found.append(f"  excused: {some(sorted(self.excused))} (not examined)")
        for student, reason in sorted(self.refused.items()):
            found.append(f"  not graded: {student}: {reason}")
        for student, reason in sorted(self.unexamined.items()):
            found.append(f"  not examined: {printable(student)}: {printable(reason)}")
        for student, report in reports:
            if report["refused"]:
                found.append(f"  zero: {student}: {report['refused']}")
            found += [f"  note: {student}: {note}" for note in report["notes"]]
        found += [f"  changed: {line}" for line in sorted(self.changes)]
        mistakes = Counter(
            f"{exercise['name']}: {exercise['mistake']}"
            for _, report in reports
            for exercise in report["exercises"]
            if exercise["mistake"] and not exercise["own_helper"]
        )
        ranked = sorted(mistakes.items(), key=lambda item: (-item[1], item[0]))
        if ranked:
            some_ = f"the {COMMON} most frequent of {len(ranked)} known mistakes"
            found.append(f"  {some_ if len(ranked) > COMMON else 'known mistakes'}:")
        for mistake, count in ranked[:COMMON]:
            often = "once" if count == 1 else f"{count} times"
            found.append(f"    {often}  {mistake}")
        return [printable(line) for line in found]


def some(names: list[str]) -> str:
    """The first few names, and how many there are more."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


@dataclass(frozen=True)
class ChapterSubmissions:
    """The submissions to one chapter.

    ``before`` is what the gradebook held when the run began, by student; ``rules`` give
    points back for one cause.
    """

    course: Path
    job: Job
    marks: ChapterMarks
    before: dict[str, Marks]
    outcome: Outcome
    rules: Sequence[Rule] = ()

    def is_missing(self, name: str) -> bool:
        """Whether a student has handed in nothing for this chapter."""
        return not handed_in(self.course / "submitted", name, self.job.chapter)

    def note_missing(self, name: str) -> None:
        """Record that a student has handed in nothing; marks that are there stay."""
        known = name in self.before
        (self.outcome.unchanged if known else self.outcome.missing).append(name)

    def finished(self, name: str) -> Submission | None:
        """The submission of a student, if an earlier run recorded this very one.

        It did not if the gradebook or the kept notebook differs from its report: the
        gradebook may be a new one, or nbgrader's own autograder may have written both.
        """
        try:
            submission = self.read(name)
        except GraderFault:  # examining the submission will report it
            return None
        report = report_in(report_path(self.course, self.job.chapter, name))
        kept = _digest(self._kept_notebook(name))
        if (
            report is None
            or not submission.is_told_by(report)
            or report.get("chapter_notebook") != self.job.fingerprint
            or kept is None
            or report.get("kept") != kept
        ):
            return None
        before = self._scores_before(name)
        counting = credited(report, self.rules)["exercises"]
        same = all(before.get(e["name"]) == e["score"] for e in counting)
        return submission if same else None

    def leave_unchanged(self, submission: Submission) -> None:
        """Record that a finished submission stays as it is.

        Its time stamp and its secret may have changed all the same.
        """
        self._write_beside(submission)
        self.outcome.unchanged.append(submission.student)

    def _scores_before(self, student: str) -> dict[str, float | None]:
        """The automatic scores that the gradebook held when the run began."""
        return self.before[student].auto_scores if student in self.before else {}

    def _kept_notebook(self, student: str) -> Path:
        """Where the examined notebook is kept, for feedback."""
        folder = self.course / "autograded" / student / self.job.chapter
        return folder / f"{self.job.chapter}.ipynb"

    def read(self, name: str) -> Submission:
        """What a student handed in.

        Raises:
            GraderFault: this machine could not read it.
        """
        return read(self.course / "submitted", name, self.job.chapter)

    def write(self, examined: Sequence[Examined]) -> None:
        """Write some outcomes: notebooks, gradebook, and last of all the reports.

        Together, because the disk has to be waited for each time.
        """
        told: dict[str, list[str]] = {}
        for submission, report, notebook in examined:
            told[submission.student] = self._marked_before(submission, report)
            write_atomically(self._kept_notebook(submission.student), notebook)
            self._write_beside(submission)
        unreadable = self.marks.write(
            ((s.student, credited(r, self.rules), s.timestamp) for s, r, _ in examined),
            told,
        )
        self.outcome.changes += [
            f"{student}: {name} {LOOK_AGAIN}"
            for student, names in told.items()
            for name in names
        ]
        for submission, report, _ in examined:
            student = submission.student
            self._note_changes(student, report)
            if submission.note:
                report["notes"].append(submission.note)
            if student in unreadable:
                report["notes"].append("the time stamp could not be read")
            self._write_report(submission, report)
            self.outcome.graded[student] = report

    def _marked_before(self, submission: Submission, report: dict) -> list[str]:
        """The instructor's own questions with a mark for an earlier submission.

        The report of an earlier run tells which it was. It is written last, so a run
        that is killed loses nothing.
        """
        student = submission.student
        said = report_in(report_path(self.course, self.job.chapter, student)) or {}
        if student not in self.before or submission.is_told_by(said):
            return []
        exercises = {exercise["name"] for exercise in report["exercises"]}
        return sorted(self.before[student].by_hand.keys() - exercises)

    def _note_changes(self, student: str, report: dict) -> None:
        before = self._scores_before(student)
        for exercise in credited(report, self.rules)["exercises"]:
            name, now = exercise["name"], exercise["score"]
            if before.get(name) not in (None, now):
                line = f"{student}: {name} {before[name]:g} -> {now:g}"
                by_hand = self.before[student].by_hand.get(name)
                if by_hand is not None:
                    line += f"; your mark of {by_hand:g} by hand stays, and counts"
                self.outcome.changes.append(line)

    def _write_report(self, submission: Submission, report: dict) -> None:
        student = submission.student
        kept_report = {
            **report,
            "student": student,
            "submission": submission.digest,
            "chapter_notebook": self.job.fingerprint,
            "kept": _digest(self._kept_notebook(student)),
        }
        path = report_path(self.course, self.job.chapter, student)
        write_atomically(path, json.dumps(kept_report, indent=1))

    def _write_beside(self, submission: Submission) -> None:
        """Put beside the examined notebook what nbgrader needs to return feedback.

        Its commands give up at a time stamp that they cannot read, and
        ``release_feedback`` for a whole class where one secret is missing. Whoever did
        not hand in through the exchange gets a secret that nobody knows.
        """
        student, chapter = submission.student, self.job.chapter
        folder = self._kept_notebook(student).parent
        stamp = submission.timestamp or ""
        write_atomically(folder / "timestamp.txt", stamp if time_of(stamp) else "")
        secret = read_secret(self.course / "submitted", student, chapter)
        path = folder / "submission_secret.txt"
        if secret is not None or not path.exists():
            write_atomically(path, secret or secrets.token_hex(64))

    def tell_penalties(self) -> None:
        """Report whose late penalty has changed in this run."""
        for student, now in sorted(self.marks.read().items()):
            if student in self.before:
                old, new = self.before[student].late_penalty, now.late_penalty
                if old != new:
                    line = f"{student}: late penalty {old:g} -> {new:g}"
                    self.outcome.changes.append(line)


def _digest(path: Path) -> str | None:
    """Of the content of a file; None if it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None
