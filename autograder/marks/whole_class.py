"""A chapter's reports with the marks that count, and the students without one.

Who has no mark may have handed in all the same: after the last run, or what could not
be examined. Such work is still to be graded, and counts nowhere as a zero.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from autograder.lms.roster import Person
from autograder.lms.upload_ids import (
    kept_roster,
    kept_worksheet,
    people_in,
    read_upload_ids,
)
from autograder.marks.class_list import names_in, students_in
from autograder.marks.deadlines import Deadlines, deadlines_of
from autograder.marks.gradebook import ChapterMarks
from autograder.marks.reports import WAITING, ClassReport, read_reports
from autograder.marks.scores import Marks
from autograder.release.settings import settings_of
from autograder.submissions.submitted import (
    NothingSubmitted,
    handed_in,
    misplaced,
    students,
)


def report_on_class(course: Path, chapter: str) -> tuple[ClassReport, list[str]]:
    """The reports on a chapter with the marks that count, and who has none.

    Returns:
        The report, and a line for each whose report and marks do not fit together, and
        for what is still to be marked by hand.

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
    deadlines = deadlines_of(course, chapter) or Deadlines()
    counting = {s: m for s, m in marks.items() if s not in deadlines.excused}
    report = reports.counting(counting)
    class_ = expected_of(course, chapter) - deadlines.excused
    marked = set(marks)
    without = (class_ | reports.students) - marked - deadlines.excused
    new = {s for s in without if handed_in(course / "submitted", s, chapter)}
    waiting = new | marked - reports.students - deadlines.excused
    missing = sorted(class_ - marked - reports.students - waiting)
    notes = _notes_on_waiting(waiting, marked, reports.students)
    notes += _notes_on_places(course / "submitted", missing, chapter)
    notes += [
        f"not in the tables: {student}: is no longer in the gradebook"
        for student in sorted(reports.students - marked - waiting)
    ]
    notes += _notes_on_marks_by_hand(
        counting[found["student"]]
        for found in report.reports
        if found["student"] in counting and not found["refused"]
    )
    called = [s for s, entry in read_upload_ids(course, chapter).items() if entry.late]
    longer = {*deadlines.longer, *deadlines.until}
    longer |= {s for s, found in marks.items() if found.until}
    late = [s for s in called if s not in longer]
    late += [s for s, found in marks.items() if found.late]
    notes += _note_on_extensions(set(called) & longer & reports.students - set(late))
    return replace(
        report,
        missing=missing,
        excused=sorted(deadlines.excused),
        waiting=sorted(waiting),
        late=sorted(set(late) & report.students),
        extended={s: m.until for s, m in marks.items() if m.until},
    ), notes


def _notes_on_waiting(
    waiting: set[str], marked: set[str], reported: set[str]
) -> list[str]:
    """A line for each way in which marks and reports are not those of the work.

    Args:
        waiting: whose work is still to be graded.
        marked: who has marks.
        reported: who has a report.
    """
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


def _notes_on_places(submitted: Path, missing: list[str], chapter: str) -> list[str]:
    """A line for each student of whom there may be work in another place."""
    found = {student: misplaced(submitted, student, chapter) for student in missing}
    return [
        f"not handed in: {student}, but there is {place}; it has to be "
        f"{student}/{chapter}/{chapter}.ipynb"
        for student, place in found.items()
        if place
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
    lines = []
    for what, counts in ways.items():
        cells = ", ".join(f"{name} ({counts[name]})" for name in sorted(counts))
        if cells:
            where = "the formgrader shows them under Manual Grading"
            lines.append(f"{what}: {cells}; {where}")
    return lines


def _note_on_extensions(students: set[str]) -> list[str]:
    """A line about those whom an LMS calls late, and who had more time here.

    An LMS knows nothing of the extensions of the course, and packs no times that would
    tell whether one was long enough. So the extension counts.
    """
    return [
        "marked as late by the LMS, but not counted as late because of an extension "
        f"here: {', '.join(sorted(students))}; the archive has no times, so look in "
        "the LMS whether the extension was long enough"
    ][: len(students)]


def expected_of(course: Path, chapter: str) -> set[str]:
    """Who is to hand in a chapter, each once.

    A row of the gradebook is left out if it has an id or the address of somebody in a
    class list who is collected under another name.

    Raises:
        CourseError: the folder is no course.
        GradebookError: the gradebook cannot be read.
        BadTable: a class list was changed, and cannot be used any more.
    """
    people = people_in(course, chapter)
    known = {
        person.ids.get(kind, "")
        for person in (*_listed(course).values(), *people.values())
        for kind in ("canvas", "sid", "email")
    } - {""}
    told = _strangers(course)
    doubles = {student for student, texts in told.items() if known & set(texts)}
    return everybody(course) - doubles | set(people)


def note_on_strangers(course: Path) -> list[str]:
    """A line about who is in the gradebook alone, and how to take them out of it.

    Raises:
        CourseError: the folder is no course.
        GradebookError: the gradebook cannot be read.
        BadTable: a class list was changed, and cannot be used any more.
    """
    names = sorted(_strangers(course))
    return names and [
        "in the gradebook, but in no class list and without a submission: "
        f"{', '.join(names)}; to take one out with all marks, call "
        f"`nbgrader db student remove NAME --force` in {course}"
    ]


def _strangers(course: Path) -> dict[str, list[str]]:
    """What the gradebook tells of those in it alone; nobody if there is no list."""
    listed = _listed(course)
    if not listed:
        return {}
    settings = settings_of(course.resolve())
    told = names_in(settings.gradebook, settings.course_id)
    here = set(listed) | _with_folders(course)
    return {student: texts for student, texts in told.items() if student not in here}


def _listed(course: Path) -> dict[str, Person]:
    """Everybody whom the class list or a worksheet of any chapter names."""
    end = "_worksheet.csv"
    chapters = (p.name for p in sorted((course / "collected").glob(f"*{end}")))
    lists = [kept_roster(course)]
    lists += [kept_worksheet(course, name.removesuffix(end)) for name in chapters]
    return {
        person.student: person for found in lists if found for person in found.people
    }


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
