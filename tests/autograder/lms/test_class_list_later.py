"""A class list that comes after the first archive, or does not fit to it."""

from __future__ import annotations

import zipfile

import pytest
from nbgrader.api import Gradebook

from autograder.__main__ import main
from autograder.grading.grade import grade
from autograder.lms.upload_ids import kept_roster, people_in
from autograder.marks.whole_class import (
    expected_of,
    note_on_strangers,
    report_on_class,
)
from tests.autograder.conftest import TOPIC

CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section\n"
    '"Doe, Jane",12345,S1,jdoe,A\n"Cox, Al",12346,S2,acox,A\n"Dee, Bo",12347,S3,bd,A\n'
)
MOODLE = (
    "Identifier,Full name,Email address,Status\n"
    "Participant 71,Al Cox,al@x.edu,Submitted for grading\n"
    "Participant 72,Bo Dee,bo@x.edu,No submission\n"
)
JANE = f"doejane_12345_1_{TOPIC}.ipynb"
AL = f"coxal_12346_2_{TOPIC}.ipynb"
MOODLE_FILE = "_assignsubmission_file"


@pytest.fixture
def run(course, tmp_path, capsys):
    """Run ``collect``; its status, and what it printed."""

    def collected(files, roster="", *words, chapter=TOPIC):
        archive = tmp_path / "class.zip"
        with zipfile.ZipFile(archive, "w") as packed:
            for name in files:
                packed.writestr(name, name)
        if roster:
            (tmp_path / "list.csv").write_text(roster)
            words = (*words, "--roster", str(tmp_path / "list.csv"))
        at = ["--course", str(course), *words]
        status = main(["collect", chapter, str(archive), *at])
        told = capsys.readouterr()
        return status, told.out + told.err

    return collected


def folders(course):
    return {path.name for path in (course / "submitted").iterdir()}


def test_canvas_list_after_the_first_archive_joins_by_id(course, run):
    run([JANE, AL])
    status, told = run([JANE, AL], CANVAS)
    assert status == 0
    assert "0 new, 0 changed, 2 as before" in told
    assert "not handed in: bd\n" in told
    assert "in no class list" not in told
    assert folders(course) == {"doejane_12345", "coxal_12346"}
    class_ = people_in(course, TOPIC)
    assert {s: p.ids["canvas"] for s, p in class_.items()} == {
        "doejane_12345": "12345",
        "coxal_12346": "12346",
        "bd": "12347",
    }
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        assert {s.id for s in book.students} == set(class_)
        assert book.find_student("coxal_12346").last_name == "Cox"
    # It holds for the next chapter too, and for somebody who comes with the list.
    run(["doejane_12345_4_masking.ipynb"], chapter="masking")
    assert (course / "submitted" / "doejane_12345" / "masking").is_dir()
    run([JANE, f"deebo_12347_3_{TOPIC}.ipynb"])
    assert folders(course) == {"doejane_12345", "coxal_12346", "bd"}


def test_list_comes_into_a_new_gradebook_though_no_environment_is_active(
    course, run, monkeypatch
):
    (course / "gradebook.db").unlink()
    monkeypatch.setenv("PATH", "")
    status, told = run([JANE], CANVAS)
    assert status == 0, told
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        assert {s.id for s in book.students} == {"jdoe", "acox", "bd"}


def test_participants_of_blind_marking_keep_their_names_when_they_are_revealed(
    course, run
):
    run([f"Participant_71{MOODLE_FILE}/{TOPIC}.ipynb"])
    status, told = run([f"Al Cox_71{MOODLE_FILE}/{TOPIC}.ipynb"], MOODLE)
    assert status == 0
    assert "not handed in: bo@x.edu\n" in told
    assert "in no class list" not in told
    assert folders(course) == {"Participant_71"}
    # Another assignment has other numbers; the address is the same.
    later = MOODLE.replace("71", "91").replace("72", "92")
    run([f"Al Cox_91{MOODLE_FILE}/masking.ipynb"], later, chapter="masking")
    assert folders(course) == {"Participant_71"}
    assert (course / "submitted" / "Participant_71" / "masking").is_dir()


def test_grade_tells_of_all_who_handed_in_nothing_folder_or_not(course, run):
    run([JANE.replace(TOPIC, "masking")], CANVAS, chapter="masking")
    (course / "deadlines.csv").write_text(f"student,chapter,due\nbd,{TOPIC},excused\n")
    outcome = grade(TOPIC, course)
    assert sorted(outcome.missing) == ["acox", "jdoe"]
    assert outcome.excused == []
    assert grade(TOPIC, course, only=["jdoe"]).missing == ["jdoe"]


def test_work_beside_its_place_is_pointed_out(course, run):
    run([JANE], CANVAS)
    folder = course / "submitted" / "acox" / TOPIC.replace("_", " ").title()
    folder.mkdir(parents=True)
    grade(TOPIC, course)
    (note,) = report_on_class(course, TOPIC)[1]
    assert note == (
        f"not handed in: acox, but there is acox/{folder.name}; it has to be "
        f"acox/{TOPIC}/{TOPIC}.ipynb"
    )


def test_who_is_in_the_gradebook_alone_is_told_and_counts_once(course, run):
    run([JANE])
    url = f"sqlite:///{course / 'gradebook.db'}"
    with Gradebook(url) as book:
        book.add_student("doejane", lms_user_id="12345")  # of a course set up before
        book.add_student("guest")
    assert note_on_strangers(course) == []  # no list, so nothing is known
    run([JANE], CANVAS)
    assert expected_of(course, TOPIC) == {"doejane_12345", "acox", "bd", "guest"}
    (note,) = note_on_strangers(course)
    assert "without a submission: doejane, guest; " in note
    with Gradebook(url) as book:
        for name in ("doejane", "guest"):
            book.remove_student(name)
    assert note_on_strangers(course) == []


def test_list_in_which_somebody_else_has_a_name_that_is_kept_is_refused(course, run):
    run([JANE])
    before = folders(course)
    own = "student,canvas_id\nada,12345\ndoejane_12345,12346\n"
    status, told = run([JANE, AL], own)
    assert status == 2
    assert "doejane_12345 is the name under which ada was collected" in told
    assert folders(course) == before
    assert kept_roster(course) is None


def test_two_works_of_one_chapter_are_not_taken_for_those_of_one_person(course, run):
    run([JANE])
    (course / "submitted" / "jdoe" / TOPIC).mkdir(parents=True)
    run([AL], CANVAS)
    assert set(people_in(course, TOPIC)) == {"jdoe", "acox", "bd"}


@pytest.mark.parametrize(
    ("files", "roster", "said"),
    [
        (
            [JANE, AL],
            MOODLE,
            "of Moodle that names nobody in the archive, which is of Canvas",
        ),
        ([f"Al Cox_71{MOODLE_FILE}/x.ipynb"], CANVAS, "which is of Moodle"),
        ([f"Al Cox_73{MOODLE_FILE}/x.ipynb"], MOODLE, "which is of another assignment"),
    ],
)
def test_list_that_names_nobody_in_the_archive_is_refused_before_anything_is_written(
    course, run, files, roster, said
):
    status, told = run(files, roster)
    assert status == 2
    assert said in told
    assert len(told.splitlines()) == 1
    assert not (course / "collected").exists()
    assert not (course / "submitted").exists()
