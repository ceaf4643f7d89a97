"""Which scores a platform has: ``passback/CHAPTER.jsonl`` of a course.

There is a line for each score, written as soon as the platform has taken it. So an
interrupted run resumes where it stopped, and an unchanged mark is not sent again.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from autograder.files import plain_file

MAX_SENT = 256 * 2**20  # bytes of what was sent for one chapter


@dataclass(frozen=True)
class Sent:
    """A score that a platform has.

    Attributes:
        student: nbgrader's id.
        user: the platform's id.
        score: points; None if the score before was withdrawn.
        of: points that could be had.
        when: it was sent; empty if that is not known.
    """

    student: str
    user: str
    score: float | None
    of: float
    when: str = ""


def read_sent(course: Path, chapter: str, column: str) -> dict[str, Sent]:
    """What was sent last to a column, by user.

    A line that a crash cut off is no score that was sent.

    Raises:
        Unusable: the file cannot be read.
    """
    found: dict[str, Sent] = {}
    path = _journal(course, chapter)
    if not path.exists():
        return found
    for line in plain_file(path, MAX_SENT).decode(errors="replace").splitlines():
        try:
            entry = json.loads(line)
            score = entry["score"] if entry["score"] is None else float(entry["score"])
            student, user = str(entry["student"]), str(entry["user"])
            if entry["column"] == column:
                of, when = float(entry["of"]), str(entry.get("sent", ""))
                found[user] = Sent(student, user, score, of, when)
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
    return found


def keep_sent(course: Path, chapter: str, column: str, sent: Sent) -> None:
    """Note that a column has a score."""
    entry = {**vars(sent), "column": column}
    entry["sent"] = entry.pop("when")
    path, line = _journal(course, chapter), json.dumps(entry).encode() + b"\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":  # a crash cut the last line off
                line = b"\n" + line
        file.write(line)


def time_after(last: Sent | None) -> str:
    """The time, or that just after a score if this machine's clock is behind it.

    A platform refuses a score that is not later than the one it has.
    """
    now = datetime.now(UTC)
    with contextlib.suppress(ValueError, TypeError, OverflowError):
        if last is not None:
            sent = datetime.fromisoformat(last.when)
            now = max(now, sent + timedelta(microseconds=1))
    return now.isoformat(timespec="microseconds")


def _journal(course: Path, chapter: str) -> Path:
    return course / "passback" / f"{chapter}.jsonl"
