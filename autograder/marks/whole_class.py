"""A chapter's reports with the marks that count, and the students without one.

Who has no mark may have handed in all the same: after the last run, or what could not
be examined. Such work is still to be graded, and counts nowhere as a zero.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from autograder.marks.class_list import students_in
from autograder.marks.deadlines import Deadlines, deadlines_of
from autograder.marks.gradebook import marks_in
from autograder.marks.reports import WAITING, ClassReport, read_reports
from autograder.marks.scores import Marks
from autograder.release.settings import settings_of
from autograder.submissions.submitted import NothingSubmitted, handed_in, students


def report_on_class(course: Path, chapter: str) -> tuple[ClassReport, list[str]]:
    """The reports on a chapter with the marks that count, and who has none.

    Returns:
        The report, and a line about those who are still to be graded, and one about
        what is still to be marked by hand.
    """
    settings_of(course.resolve())  # whether it is a course is the first thing to say
    reports, marks = read_reports(course, chapter), marks_in(course, chapter)
    deadlines = deadlines_of(course, chapter) or Deadlines()
    excused = deadlines.excused
    counting = {s: m for s, m in marks.items() if s not in excused}
    report = reports.counting(counting)
    without = expected_of(course) - report.students - excused
    submitted = course / "submitted"
    waiting = {s for s in without if s in marks or handed_in(submitted, s, chapter)}
    report = replace(
        report,
        missing=sorted(without - waiting),
        excused=sorted(excused),
        waiting=sorted(waiting),
        late=sorted(s for s in report.students if marks[s].late),
    )
    notes = []
    if waiting:
        notes.append(f"{WAITING}: {', '.join(report.waiting)}; call grade again")
    examined = (marks[found["student"]] for found in report.examined)
    return report, notes + _notes_on_marks_by_hand(examined)


def _notes_on_marks_by_hand(marks: Iterable[Marks]) -> list[str]:
    """A line about questions that nobody has marked yet, and one about old marks."""
    missing: Counter[str] = Counter()
    again: Counter[str] = Counter()
    for found in marks:
        for name in found.to_look_at:
            (again if name in found.by_hand else missing)[name] += 1
    ways = {
        "still to be marked by hand, and a zero until then": missing,
        "marked by hand, and to be looked at again": again,
    }
    return [
        f"{what}: {', '.join(f'{name} ({counts[name]})' for name in sorted(counts))}; "
        "the formgrader shows them under Manual Grading"
        for what, counts in ways.items()
        if counts
    ]


def expected_of(course: Path) -> set[str]:
    """All in the class: in the gradebook, as all of a class list are, or with work.

    Raises:
        CourseError: the folder is no course.
    """
    found = students_in(settings_of(course.resolve()))
    try:
        return found | set(students(course / "submitted")[0])
    except NothingSubmitted:
        return found
