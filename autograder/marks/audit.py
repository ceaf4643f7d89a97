"""Every change of a mark, in a file that only grows: ``changes/CHAPTER.jsonl``.

A line is written before the gradebook commits the change, and removed if that fails.
When a run is killed in between, or somebody marks by hand, the log and the gradebook
differ; the next run finds the difference and logs it as found.
"""

from __future__ import annotations

import contextlib
import getpass
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from autograder.files import printable
from autograder.marks.scores import Marks

PENALTY = "late penalty"
UNKNOWN = "not known"  # who changed what was found; nbgrader does not say
_KEYS = ("when", "who", "student", "what", "from", "to", "why")


@dataclass(frozen=True)
class Change:
    """One change of a mark.

    Attributes:
        when: in UTC, to the second.
        who: account that ran the command, or ``UNKNOWN``.
        student: nbgrader's id.
        what: the exercise, or ``PENALTY``.
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
        self._noted: list[Change] = []
        self._ends: tuple[int, int] | None = None

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
        with self.path.open("ab+", buffering=0) as file:
            start = file.seek(0, os.SEEK_END)
            text = "".join(map(_text, self._noted)).encode()
            if start and not _ends_a_line(file, start):
                text = b"\n" + text  # a crash cut the last line off
            while text:  # where the disk is full, the beginning may be written
                text = text[file.write(text) :]
                self._ends = start, file.tell()
            os.fsync(file.fileno())
        self._noted = []

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Take back what is written in the block if the block fails."""
        self._noted, self._ends = [], None
        try:
            yield
        except BaseException:
            if self._ends is not None:
                start, end = self._ends
                if self.path.stat().st_size == end:  # nobody else has gone on
                    os.truncate(self.path, start)
            raise
        finally:
            self._noted, self._ends = [], None

    def find(self, marks: Mapping[str, Marks]) -> int:
        """Log what the gradebook holds and this log does not know.

        Args:
            marks: what the gradebook holds, by student.

        Returns:
            How many changes were found.
        """
        began = not self.path.exists()
        known = {(c.student, c.what): c.after for c in self.changes()}
        with self.transaction():
            for student, theirs in marks.items():
                held = {**theirs.scores, PENALTY: theirs.late_penalty}
                for what, after in held.items():
                    before = known.pop((student, what), None)
                    if before is None and _is_nothing(theirs, what):
                        continue
                    by_hand = what in theirs.by_hand
                    why = "by hand" if by_hand else "not by this grader's own commands"
                    why = f"found: {why}, since the last run"
                    why = "found when this log began" if began else why
                    self.note(student, what, before, after, why, UNKNOWN)
            for (student, what), before in known.items():
                why = "found: no longer in the gradebook"
                self.note(student, what, before, None, why, UNKNOWN)
            found = len(self._noted)
            self.write()
        return found


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


def _ends_a_line(file: IO[bytes], end: int) -> bool:
    file.seek(end - 1)
    return file.read(1) == b"\n"


def _text(change: Change) -> str:
    values = (change.when, change.who, change.student, change.what)
    entry = (*values, change.before, change.after, change.why)
    pairs = dict(zip(_KEYS, entry, strict=True))
    return json.dumps(pairs, ensure_ascii=False) + "\n"


def _change(line: str) -> Change | None:
    """What a line says; None if it is no line of ours."""
    try:
        entry = json.loads(line)
        when, who, student, what, before, after, why = (entry[key] for key in _KEYS)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not all(isinstance(text, str) for text in (when, who, student, what, why)):
        return None
    if not all(n is None or isinstance(n, int | float) for n in (before, after)):
        return None
    return Change(when, who, student, what, before, after, why)


def _shown(points: float | None) -> str:
    return "no mark" if points is None else f"{points:g}"
