"""What forged points are worth: stock nbgrader and this grader, side by side.

Each notebook of the attack tests is right but for one exercise, which is wrong and
holds the attack. It is graded by both. Run with ``make attacks``.
"""

from __future__ import annotations

import contextlib
import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
from nbgrader.api import Gradebook, MissingEntry

from autograder.grading.grade import grade
from autograder.release.course import make_course
from autograder.release.settings import settings_of
from autograder.sandbox.limits import Limits
from benchmarks.stock import autograde, boxed
from classroom.forgeries import IN_THE_SOLUTION, TOPIC, WRONG
from classroom.submissions import hand_in, right_answers, submission

PATIENCE = 30  # seconds for one notebook under stock nbgrader
HONEST = "the same answers, no attack"


def main() -> int:
    """Grade every forgery twice and print what it was given."""
    attacks = {HONEST: WRONG, **IN_THE_SOLUTION}
    students = {f"s{number:02}": attacks[name] for number, name in enumerate(attacks)}
    with tempfile.TemporaryDirectory(prefix="forgeries-") as folder:
        ours, theirs = Path(folder) / "ours", Path(folder) / "stock"
        with contextlib.redirect_stdout(io.StringIO()):
            make_course(ours, [TOPIC])
        master = nbformat.read(ours / "release" / TOPIC / f"{TOPIC}.ipynb", 4)
        answers = right_answers(TOPIC)
        hand_in(
            ours,
            TOPIC,
            {
                s: submission(master, {**answers, "softmax": c})
                for s, c in students.items()
            },
        )
        shutil.copytree(ours, theirs)
        grade(TOPIC, ours, limits=Limits(cell_seconds=5, submission_seconds=30))
        ended = {student: stock(theirs, student) for student in students}
        marks = [scores(ours, students), scores(theirs, students)]
    honest = [mark["s00"] for mark in marks]
    print(f"{'points for a wrong answer and':60}{'stock nbgrader':>20}{'ours':>6}")
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
    return 0


def stock(course: Path, student: str) -> str:
    """Autograde one submission; how that went wrong, if it did."""
    try:
        done = subprocess.run(
            [*boxed(course), *autograde(TOPIC), "--student", student],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return f"hangs (> {PATIENCE} s)"
    return "" if done.returncode == 0 else "stops with an error"


def scores(course: Path, students: dict[str, str]) -> dict[str, float | None]:
    """Scores in the gradebook."""
    settings = settings_of(course)
    found: dict[str, float | None] = {}
    with Gradebook(settings.gradebook, settings.course_id) as book:
        for student in students:
            try:
                found[student] = book.find_submission(TOPIC, student).score
            except MissingEntry:
                found[student] = None
    return found


if __name__ == "__main__":
    sys.exit(main())
