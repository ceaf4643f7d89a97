"""A chapter's reports with the marks that count, and the students without one.

Who has no mark may have handed in all the same: after the last run, or what could not
be examined. Such work is still to be graded, and counts nowhere as a zero.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from autograder.lms.upload_ids import people_in, read_upload_ids
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
        The report, and a line for each whose report and marks do not fit together, and
        for what is still to be marked by hand.
    """
    settings_of(course.resolve())  # whether it is a course is the first thing to say
    reports, marks = read_reports(course, chapter), marks_in(course, chapter)
    deadlines = deadlines_of(course, chapter) or Deadlines()
    excused, marked, reported = deadlines.excused, set(marks), reports.students
    counting = {s: m for s, m in marks.items() if s not in excused}
    report = reports.counting(counting)
    class_ = expected_of(course, chapter)
    without = (class_ | reported) - marked - excused
    new = {s for s in without if handed_in(course / "submitted", s, chapter)}
    waiting = new | marked - reported - excused
    notes = _notes_on_waiting(waiting, marked, reported)
    notes += [
        f"not in the tables: {student}: is no longer in the gradebook"
        for student in sorted(reported - marked - waiting)
    ]
    notes += _notes_on_marks_by_hand(
        counting[found["student"]]
        for found in report.reports
        if found["student"] in counting and not found["refused"]
    )
    # An LMS knows nothing of extensions here, and packs no times: the extension counts.
    longer = {*deadlines.longer, *deadlines.until}
    longer |= {s for s, found in marks.items() if found.until}
    uploads = read_upload_ids(course, chapter).items()
    late = {s for s, entry in uploads if entry.late} - longer
    late |= {s for s, found in marks.items() if found.late}
    return replace(
        report,
        missing=sorted(class_ - excused - marked - reported - waiting),
        excused=sorted(excused),
        waiting=sorted(waiting),
        late=sorted(late & report.students),
        extended={s: m.until for s, m in marks.items() if m.until},
    ), notes


def _notes_on_waiting(
    waiting: set[str], marked: set[str], reported: set[str]
) -> list[str]:
    """A line for each way in which marks and reports are not those of the work."""
    ways = {
        "handed in, but not graded": waiting - marked - reported,
        "marks but no report": waiting & marked,
        "a report but no marks in the gradebook": waiting & reported,
    }
    return [
        f"{WAITING}: {', '.join(sorted(found))} ({why}); call grade again"
        for why, found in ways.items()
        if found
    ]


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


def expected_of(course: Path, chapter: str = "") -> set[str]:
    """All in the class: in the gradebook, in a class list, or with a submission.

    Args:
        course: folder of the course.
        chapter: whose worksheet of Moodle counts as a class list too.
    """
    found = students_in(settings_of(course.resolve()))
    found |= set(people_in(course, chapter))
    try:
        return found | set(students(course / "submitted")[0])
    except NothingSubmitted:
        return found
