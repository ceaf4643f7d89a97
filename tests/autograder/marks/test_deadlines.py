"""Due dates, extensions and excuses from one table, with nbgrader's own penalties."""

from __future__ import annotations

import csv
import shutil

import pytest
from nbgrader.api import Gradebook

from autograder.__main__ import main
from autograder.exercise import load_topic
from autograder.marks.deadlines import deadlines_of
from autograder.marks.gradebook_errors import GradebookError
from classroom.submissions import hand_in, submission
from tests.autograder.conftest import TOPIC

AT_NOON = "2026-10-01 12:00 UTC"
STAMPS = {  # when each handed in
    "early": "2026-10-01 11:00:00 UTC",
    "late": "2026-10-01 15:00:00 UTC",
    "longer": "2026-10-03 15:00:00 UTC",
    "until": "2026-10-02 14:00:00 UTC",
    "ill": "2026-10-09 12:00:00 UTC",
}
PENALTY = """
from nbgrader.plugins import BasePlugin


class OnePointAnHour(BasePlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return total_seconds_late / 3600
"""


@pytest.fixture(scope="module")
def started(released_course, tmp_path_factory, master, right):
    """A course in which everybody handed in, and nbgrader takes a point an hour."""
    folder = tmp_path_factory.mktemp("deadlines") / "course"
    shutil.copytree(released_course, folder)
    (folder / "hourly.py").write_text(PENALTY)
    with (folder / "nbgrader_config.py").open("a") as config:
        config.write("c.AssignLatePenalties.plugin_class = 'hourly.OnePointAnHour'\n")
    hand_in(folder, TOPIC, dict.fromkeys(STAMPS, submission(master, right)))
    for student, stamp in STAMPS.items():
        path = folder / "submitted" / student / TOPIC / "timestamp.txt"
        path.write_text(stamp)
    return folder


@pytest.fixture
def course(started, tmp_path):
    folder = tmp_path / "course"
    shutil.copytree(started, folder)
    return folder


def say(course, text):
    """Give the course a table of deadlines; the exit status."""
    path = course.parent / "deadlines.csv"
    path.write_text(text)
    return main(["deadlines", str(path), "--course", str(course)])


def test_deadlines_are_applied_and_seen(course, commands_share_workers, capsys):
    everything = sum(e.points for e in load_topic(TOPIC).exercises.values())
    lines = [
        "student,chapter,due",
        f",{TOPIC},{AT_NOON}",
        f"longer,{TOPIC},2026-10-03 12:00 UTC",
        f"until,{TOPIC},2026-10-02 14:00+0200",
        f"ill,{TOPIC},excused",
    ]
    at = ["--course", str(course)]
    assert say(course, "\n".join(lines)) == 0
    assert "2 extensions, 1 excused" in capsys.readouterr().out
    assert main(["grade", TOPIC, *at, "--student", "late"]) == 0
    assert "1 examined" in capsys.readouterr().out
    assert main(["grade", TOPIC, *at]) == 0
    assert "excused: ill" in capsys.readouterr().out
    # Hours after the time that each had: noon; two days later; 12:00 UTC on the 2nd.
    assert counted(course) == {
        "early": everything,
        "late": everything - 3,
        "longer": everything - 3,
        "until": everything - 2,
    }
    assert main(["report", TOPIC, *at]) == 0
    with (course / "reports" / f"{TOPIC}_scores.csv").open() as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert {s: row["status"] for s, row in rows.items()} == {
        **{"early": "handed in", "late": "late", "longer": "late", "until": "late"},
        "ill": "excused",
    }
    assert rows["ill"]["score"] == ""
    with (course / "reports" / f"{TOPIC}_canvas.csv").open() as file:
        marks = {row["SIS Login ID"]: row[TOPIC] for row in csv.DictReader(file)}
    assert marks["ill"] == "EX"
    # An extension that is taken back, and a longer one: told, and nothing examined.
    capsys.readouterr()
    lines[2:4] = [f"until,{TOPIC},2026-10-04"]
    assert say(course, "\n".join(lines)) == 0
    assert main(["grade", TOPIC, *at]) == 0
    said = capsys.readouterr().out
    assert "0 examined, 4 unchanged" in said
    # Fifty-one hours, a point each, cost no more than the score.
    assert f"changed: longer: late penalty 3 -> {everything:g}" in said
    assert "changed: until: late penalty 2 -> 0" in said
    assert main(["changes", TOPIC, *at, "--student", "until"]) == 0
    said = capsys.readouterr().out
    assert "late penalty: 0 -> 2 " in said and "late penalty: 2 -> 0 " in said


def test_without_a_table_the_dates_of_nbgrader_hold(course, grade):
    full = sum(e.points for e in load_topic(TOPIC).exercises.values())
    two = {"only": ["early", "late"]}
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        book.update_or_create_assignment(TOPIC, duedate="2026-10-01 12:00:00 UTC")
    grade(TOPIC, course, **two)
    assert counted(course) == {"early": full, "late": full - 3}
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        book.grant_extension(TOPIC, "late", hours=1)
    outcome = grade(TOPIC, course, **two)
    assert (outcome.graded, outcome.changes) == ({}, ["late: late penalty 3 -> 2"])
    settings = course / "nbgrader_config.py"
    text = settings.read_text().replace("c.AssignLate", "# c.AssignLate")
    settings.write_text(text)
    assert grade(TOPIC, course, **two).changes == ["late: late penalty 2 -> 0"]
    settings.write_text(text + "c.LateSubmissionPlugin.penalty_method = 'half'\n")
    with pytest.raises(GradebookError, match="penalty of late .* cannot be worked out"):
        grade(TOPIC, course, **two)


def counted(course):
    """What counts, by student, as nbgrader works it out."""
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        found = book.assignment_submissions(TOPIC)
        return {s.student.id: s.score - s.late_submission_penalty for s in found}


GOOD = f"student,chapter,due\n,{TOPIC},{AT_NOON}\n"
FAULTS = {
    f"{GOOD}lat,{TOPIC},2026-12-01": "row 3, column student: nobody is called 'lat'; d",
    f"{GOOD}late,simple,excused": "row 3, column chapter: there is no chapter 'simple'",
    f"{GOOD}late,{TOPIC},12.11.2026": "row 3, column due: '12.11.2026' is no date such",
    f"{GOOD}late,{TOPIC},2026-12-01 Mars/Base": "is no date",
    f"{GOOD}late,{TOPIC},+3 days": "row 3, column due: '+3 days' is no date",
    f"{GOOD},masking,excused": "row 3, column due: 'excused' is no date",
    f"{GOOD}late,{TOPIC},2026-09-01": "row 3, column due: it is before the due date",
    f"{GOOD}ill,{TOPIC},excused\nill,{TOPIC},excused": "row 4, column student: row 3",
    f"{GOOD}late,masking,2026-12-01": "row 3, column due: masking has no due date",
    f"{GOOD}late,{TOPIC},1,2,3": "row 3: 5 cells, but the header has 3",
    "": "row 1: it is empty",
    "student,chapter\n": "row 1: no column due",
    "student;chapter;due\nlate;x;\xe4": "row 2: it is not in UTF-8; save it as",
}


@pytest.mark.parametrize("text", FAULTS)
def test_a_fault_is_told_with_its_place_and_nothing_is_taken_over(course, capsys, text):
    assert say(course, GOOD) == 0
    capsys.readouterr()
    path = course.parent / "faulty.csv"
    path.write_bytes(text.encode("latin-1"))
    assert main(["deadlines", str(path), "--course", str(course)]) == 2
    assert FAULTS[text] in capsys.readouterr().err
    assert (course / "deadlines.csv").read_text() == GOOD


def test_a_table_that_somebody_broke_later_stops_grading(course, capsys):
    (course / "deadlines.csv").write_text(f"student,chapter,due\n,{TOPIC},soon\n")
    assert main(["grade", TOPIC, "--course", str(course)]) == 2
    assert "row 2, column due: 'soon' is no date" in capsys.readouterr().err
    assert counted(course) == {}


@pytest.mark.parametrize(
    ("due", "read"),
    [
        ("2026-10-24 18:00 Europe/Berlin", "2026-10-24 16:00"),
        ("2026-10-25 18:00 Europe/Berlin", "2026-10-25 17:00"),  # clocks were set back
        ("2026-10-24 18:00+0100", "2026-10-24 17:00"),
        ("2026-11-12 UTC", "2026-11-12 23:59"),  # the end of the day
    ],
)
def test_a_due_date_is_read_in_the_zone_that_it_names(tmp_path, due, read):
    (tmp_path / "deadlines.csv").write_text(f"student,chapter,due\n,{TOPIC},{due}\n")
    assert f"{deadlines_of(tmp_path, TOPIC).due:%Y-%m-%d %H:%M}" == read
