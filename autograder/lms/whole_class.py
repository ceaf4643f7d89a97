"""A chapter's reports with the marks that count, and with those who have none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from autograder.grading.class_list import students_in
from autograder.grading.deadlines import Deadlines, deadlines_of
from autograder.grading.gradebook import ChapterMarks
from autograder.grading.reports import ClassReport, read_reports
from autograder.grading.submissions import NothingSubmitted, students
from autograder.lms.record import kept_roster, people_in, read_record
from autograder.release.settings import settings_of


def report_on_class(course: Path, chapter: str) -> tuple[ClassReport, list[str]]:
    """The reports on a chapter with the marks that count, and who has none.

    Returns:
        The report, and a line for each whose report and marks do not fit together.

    Raises:
        NoReports: nobody was graded.
        CourseError: the folder is no course.
        GradebookError: the gradebook cannot be read.
        BadTable: a class list was changed, and cannot be used any more.
    """
    reports = read_reports(course, chapter)  # none at all is the first thing to say
    settings = settings_of(course.resolve())
    with ChapterMarks(settings.gradebook, settings.course_id, chapter) as book:
        marks = book.read()
    notes = [
        f"not in the tables: {student}: has marks but no report; grade again"
        for student in sorted(set(marks) - reports.students)
    ]
    notes += [
        f"not in the tables: {student}: is no longer in the gradebook"
        for student in sorted(reports.students - set(marks))
    ]
    deadlines = deadlines_of(course, chapter) or Deadlines()
    counting = {s: m for s, m in marks.items() if s not in deadlines.excused}
    report = reports.counting(counting)
    class_ = everybody(course) | set(people_in(course, chapter))
    late = [s for s, entry in read_record(course, chapter).items() if entry.late]
    late += [s for s, found in marks.items() if found.late]
    return replace(
        report,
        missing=sorted(class_ - set(marks) - reports.students - deadlines.excused),
        excused=sorted(deadlines.excused),
        late=sorted(set(late) & report.students),
        extended={s: m.until for s, m in marks.items() if m.until},
    ), notes


def everybody(course: Path) -> set[str]:
    """All in the class: in the gradebook, in a class list, or with a submission.

    Raises:
        CourseError: the folder is no course.
        GradebookError: the gradebook cannot be read.
        BadTable: a class list was changed, and cannot be used any more.
    """
    settings = settings_of(course.resolve())
    found = students_in(settings.gradebook, settings.course_id)
    roster = kept_roster(course)
    listed = {person.student for person in roster.people} if roster else set()
    return found | listed | _with_folders(course)


def _with_folders(course: Path) -> set[str]:
    """Those who have handed in anything for any chapter."""
    try:
        return set(students(course / "submitted")[0])
    except NothingSubmitted:
        return set()
