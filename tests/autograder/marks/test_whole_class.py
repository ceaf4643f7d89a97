"""Who is in the class and has no mark, and what is said of each."""

from __future__ import annotations

import pytest
from nbgrader.api import Gradebook

from autograder.__main__ import main
from autograder.grading.grade import grade
from autograder.marks.whole_class import expected_of, report_on_class
from classroom.submissions import hand_in
from tests.autograder.archives import zipped
from tests.autograder.conftest import TOPIC
from tests.autograder.made_up import record, report_on

CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section\n"
    '"Doe, Jane",12345,S1,jdoe,A\n"Cox, Al",12346,S2,acox,A\n"Dee, Bo",12347,S3,bd,A\n'
)


@pytest.fixture
def collect(course, tmp_path):
    """Collect what Jane handed in."""

    def run(chapter=TOPIC):
        archive, roster = tmp_path / "class.zip", tmp_path / "list.csv"
        archive.write_bytes(zipped({f"doejane_12345_1_{chapter}.ipynb": "{}"}))
        roster.write_text(CANVAS)
        words = ["--course", str(course), "--roster", str(roster)]
        assert main(["collect", chapter, str(archive), *words]) == 0

    return run


def test_list_comes_into_a_new_gradebook_though_no_environment_is_active(
    course, collect, monkeypatch
):
    (course / "gradebook.db").unlink()
    monkeypatch.setenv("PATH", "")
    collect()
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        assert {s.id for s in book.students} == {"jdoe", "acox", "bd"}
        assert book.find_student("acox").last_name == "Cox"
        assert book.find_student("acox").lms_user_id == "12346"


def test_grade_tells_of_all_who_handed_in_nothing_folder_or_not(course, collect):
    collect("masking")
    (course / "deadlines.csv").write_text(f"student,chapter,due\nbd,{TOPIC},excused\n")
    outcome = grade(TOPIC, course)
    assert sorted(outcome.missing) == ["acox", "jdoe"]
    assert outcome.excused == []
    assert grade(TOPIC, course, only=["jdoe"]).missing == ["jdoe"]


def test_who_is_in_the_gradebook_or_the_list_is_expected(course, collect):
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        book.add_student("guest")
    collect()
    assert expected_of(course) == {"jdoe", "acox", "bd", "guest"}
    grade(TOPIC, course)
    report, notes = report_on_class(course, TOPIC)
    assert (report.missing, notes) == (["acox", "bd", "guest"], [])


def test_who_is_still_to_be_graded_has_no_zero_and_is_named(course, collect, master):
    """Work came after the last run, a report is damaged, or the gradebook is older."""
    collect()
    record(
        course, TOPIC, [report_on(student, TOPIC) for student in ("acox", "bd", "x")]
    )
    hand_in(course, TOPIC, dict.fromkeys(("acox", "bd"), master))
    (course / "reports" / TOPIC / "acox.json").write_text("")
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        book.remove_submission(TOPIC, "bd")
    report, notes = report_on_class(course, TOPIC)
    assert report.waiting == ["acox", "bd", "jdoe"]
    assert report.missing == []
    assert [report.score_of(student, None) for student in report.waiting] == [None] * 3
    assert notes == ["to be graded: acox, bd, jdoe; call grade again"]
