"""Every change of a mark, in a file that only grows: ``changes/CHAPTER.jsonl``.

A line is written before the gradebook commits the change. Where that fails, a run is
killed in between, or somebody marks by hand, the log and the gradebook differ; the next
run finds the difference and logs it as found.
"""

from __future__ import annotations

import getpass
import json
import os
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from pathlib import Path

from autograder.files import printable
from autograder.marks.deadlines import deadlines_of
from autograder.marks.scores import Marks

PENALTY = "late penalty"
MARK = "mark"  # as a whole, of who is excused
UNKNOWN = "not known"  # who changed what was found; nbgrader does not say
_KEYS = ("when", "who", "student", "what", "from", "to", "why")


@dataclass(frozen=True)
class Change:
    """One change of a mark.

    Attributes:
        when: in UTC, to the second.
        who: account that ran the command, or ``UNKNOWN``.
        student: nbgrader's id.
        what: the exercise, ``PENALTY``, or ``MARK``.
        before: points until then; None if there was no mark.
        after: points from then on; None if there is no mark any more.
        why: the reason, in words.
    """

    when: str
    who: str
    student: str
    what: str
    before: float | None
    after: float | None
    why: str

    def line(self) -> str:
        """The change as a person reads it."""
        time = self.when.replace("T", " ").removesuffix("Z") + " UTC"
        points = f"{_shown(self.before)} -> {_shown(self.after)}"
        words = f"{self.student}  {self.what}: {points}  ({self.why})"
        return printable(f"{time}  {self.who}  {words}")


class AuditLog:
    """The changes of the marks of one chapter.

    Args:
        course: folder of the course.
        chapter: name of the chapter.
    """

    def __init__(self, course: Path, chapter: str) -> None:
        self.path = course / "changes" / f"{chapter}.jsonl"
        self._course, self._chapter = course, chapter
        self._noted: list[Change] = []

    def changes(self) -> list[Change]:
        """All changes so far; a line that was cut off by a crash is passed over."""
        if not self.path.exists():
            return []
        with self.path.open(encoding="utf-8", errors="replace") as file:
            return [change for line in file if (change := _change(line)) is not None]

    def note(
        self,
        student: str,
        what: str,
        before: float | None,
        after: float | None,
        why: str,
        who: str | None = None,
    ) -> None:
        """Have a change written by the next ``write``, if it is one."""
        if before != after:
            who = account() if who is None else who
            self._noted.append(Change(now(), who, student, what, before, after, why))

    def write(self) -> None:
        """Append what was noted; call it before the gradebook commits."""
        if not self._noted:
            return
        self.path.parent.mkdir(exist_ok=True)
        text = "".join(map(_text, self._noted)).encode()
        with self.path.open("ab+") as file:
            if file.tell():  # a crash may have cut the last line off
                file.seek(-1, os.SEEK_END)
                text = text if file.read() == b"\n" else b"\n" + text
            file.write(text)
        self.forget()

    def forget(self) -> None:
        """Write nothing of what was noted: the change was not made."""
        self._noted = []

    def find(self, marks: Mapping[str, Marks]) -> None:
        """Log what marks and excuses say, by student, and this log does not know."""
        known = {(c.student, c.what): c.after for c in self.changes()}
        deadlines = deadlines_of(self._course, self._chapter)
        for student, theirs in marks.items():
            was = known.pop((student, MARK), theirs.score) is None
            excused = deadlines is not None and student in deadlines.excused
            if excused and not was:
                self.note(student, MARK, theirs.score, None, "excused", UNKNOWN)
            elif was and not excused:
                why = "no longer excused"
                self.note(student, MARK, None, theirs.score, why, UNKNOWN)
            held = {**theirs.scores, PENALTY: theirs.late_penalty}
            for what, after in held.items():
                before = known.pop((student, what), None)
                if before is None and _is_nothing(theirs, what):
                    continue
                by_hand = what in theirs.by_hand
                why = "by hand" if by_hand else "not by this grader's own commands"
                why = f"found: {why}, since the last run"
                self.note(student, what, before, after, why, UNKNOWN)
        for (student, what), before in known.items():
            why = "found: no longer in the gradebook"
            self.note(student, what, before, None, why, UNKNOWN)
        self.write()


def _is_nothing(marks: Marks, what: str) -> bool:
    """Whether a score of zero only says that nobody has marked this yet."""
    if what == PENALTY:
        return not marks.late_penalty
    unmarked = marks.auto_scores.get(what) is None and what not in marks.by_hand
    return unmarked and not marks.scores[what]


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def account() -> str:
    """Who runs this, as the system calls them."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as in some containers
        return f"account {os.getuid()}"


def _text(change: Change) -> str:
    pairs = dict(zip(_KEYS, astuple(change), strict=True))
    return json.dumps(pairs, ensure_ascii=False) + "\n"


def _change(line: str) -> Change | None:
    """What a line says; None if it is no line of ours."""
    try:
        entry = json.loads(line)
        return Change(*(entry[key] for key in _KEYS))
    except (ValueError, KeyError, TypeError):
        return None


def _shown(points: float | None) -> str:
    return "no mark" if points is None else f"{points:g}"
