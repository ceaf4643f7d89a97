"""What forged points are worth: stock nbgrader and this grader, side by side.

Each notebook of the attack tests is right but for one exercise, which is wrong and
holds the attack. It is graded by both. So are notebooks in which one exercise calls
what it should build, in ways that hide this. Run with ``make attacks``.
"""

from __future__ import annotations

import contextlib
import io
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbgrader.api import Gradebook, MissingEntry

from autograder.grading.grade import grade
from autograder.release.course import make_course
from autograder.release.settings import settings_of
from autograder.sandbox.limits import Limits
from benchmarks.stock import autograde, boxed
from classroom.forgeries import (
    CALLS,
    CALLS_EXERCISE,
    CALLS_TOPIC,
    CALLS_WRONG,
    IN_THE_SOLUTION,
    TOPIC,
    WRONG,
)
from classroom.submissions import hand_in, right_answers, submission

PATIENCE = 30  # seconds for one notebook under stock nbgrader
PATIENCE_FOR_TORCH = 120
HONEST = "the same answers, no attack"


@dataclass(frozen=True)
class Table:
    """Attacks on one exercise, and what to write above and below them.

    Attributes:
        topic: the chapter.
        exercise: the one that is attacked.
        attacks: answers to it by name; the first one is without an attack.
        head: of the table.
        patience: seconds for one notebook under stock nbgrader.
    """

    topic: str
    exercise: str
    attacks: Mapping[str, str]
    head: str
    patience: float


FORGED = Table(
    TOPIC,
    "softmax",
    {HONEST: WRONG, **IN_THE_SOLUTION},
    "points for a wrong answer and",
    PATIENCE,
)
CALLED = Table(
    CALLS_TOPIC,
    CALLS_EXERCISE,
    {"a wrong answer, no call": CALLS_WRONG, **CALLS},
    "points for calling what was to be built",
    PATIENCE_FOR_TORCH,
)


def main() -> int:
    """Grade every attack twice and print what it was given."""
    show(FORGED)
    print()
    show(CALLED)
    return 0


def show(table: Table) -> None:
    """Grade the attacks of a table twice and print it."""
    attacks, topic = table.attacks, table.topic
    students = {f"s{number:02}": attacks[name] for number, name in enumerate(attacks)}
    with tempfile.TemporaryDirectory(prefix="forgeries-") as folder:
        ours, theirs = Path(folder) / "ours", Path(folder) / "stock"
        with contextlib.redirect_stdout(io.StringIO()):
            make_course(ours, [topic])
        master = nbformat.read(ours / "release" / topic / f"{topic}.ipynb", 4)
        answers = right_answers(topic)
        hand_in(
            ours,
            topic,
            {
                s: submission(master, {**answers, table.exercise: c})
                for s, c in students.items()
            },
        )
        shutil.copytree(ours, theirs)
        grade(topic, ours, limits=Limits(cell_seconds=5, submission_seconds=30))
        ended = {s: stock(theirs, topic, s, table.patience) for s in students}
        marks = [scores(ours, topic, students), scores(theirs, topic, students)]
    honest = [mark["s00"] for mark in marks]
    print(f"{table.head:60}{'stock nbgrader':>20}{'ours':>6}")
    gained = 0
    for student, name in zip(students, attacks, strict=True):
        told = ended[student] or (
            "not graded" if marks[1][student] is None else f"{marks[1][student]:g}"
        )
        gained += (marks[1][student] or 0) > honest[1]
        print(f"{name:60}{told:>20}{marks[0][student]:6g}")
    more = sum(mark > honest[0] for mark in marks[0].values())
    print(f"\nearned more than without the attack, of {len(attacks) - 1}:")
    print(f"stock nbgrader {gained}, this grader {more}")


def stock(course: Path, topic: str, student: str, patience: float) -> str:
    """Autograde one submission; how that went wrong, if it did."""
    try:
        done = subprocess.run(
            [*boxed(course), *autograde(topic), "--student", student],
            capture_output=True,
            text=True,
            timeout=patience,
        )
    except subprocess.TimeoutExpired:
        return f"hangs (> {patience:g} s)"
    return "" if done.returncode == 0 else "stops with an error"


def scores(
    course: Path, topic: str, students: dict[str, str]
) -> dict[str, float | None]:
    """Scores in the gradebook."""
    settings = settings_of(course)
    found: dict[str, float | None] = {}
    with Gradebook(settings.gradebook, settings.course_id) as book:
        for student in students:
            try:
                found[student] = book.find_submission(topic, student).score
            except MissingEntry:
                found[student] = None
    return found


if __name__ == "__main__":
    sys.exit(main())
