"""From a system and back: collected, graded, exported and returned, with real nbgrader.

The oracle for the tables are small readers that match students as the systems' own
importers do.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import zipfile

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.__main__ import main
from autograder.exercise import load_topic
from autograder.handback.lms_tables import write_lms_tables
from autograder.marks.whole_class import report_on_class
from classroom.submissions import cell_source, submission
from tests.autograder.archives import zipped
from tests.autograder.conftest import TOPIC

pytestmark = pytest.mark.usefixtures("needs_sandbox")
CANVAS = (
    f"Student,ID,SIS User ID,SIS Login ID,Section,{TOPIC.replace('_', ' ')} (777)\n"
    "    Points Possible,,,,,100\n"
    '"Doe, Jane",12345,S1,jdoe,A,\n"Doe, Jane",12346,S2,jdoe2,A,\n'
    '"Zed, Zoe",12399,S9,zzed,B,\n'
)
MOODLE = (
    "Identifier,Full name,Email address,Status,Grade,Maximum Grade,"
    "Grade can be changed,Last modified (submission),Last modified (grade),"
    "Feedback comments\n"
    "Participant 71,Al Cox,al@x.edu,Submitted for grading,,50.00,Yes,-,-,"
    "=<p>-1 for style:\u00a0see me</p>\n"
    "Participant 72,Bo Dee,bo@x.edu,No submission,,50.00,Yes,-,-,\n"
)
GRADESCOPE = "Name,SID,Email\nCy Fox,300,cy@x.edu\n"
FOLDER = "Al Cox_71_assignsubmission_file"


@pytest.fixture(scope="module")
def course(released_course, tmp_path_factory, master, right, needs_sandbox):
    """A course with people from three systems, graded once."""
    place = tmp_path_factory.mktemp("trip")
    folder = place / "course"
    shutil.copytree(released_course, folder)
    wrong = cell_source(load_topic(TOPIC).mistakes("softmax")[0], "softmax")
    solved = json.dumps(submission(master, right))
    mistaken = json.dumps(submission(master, {**right, "softmax": wrong}))
    blank = json.dumps(master)
    (place / "canvas.csv").write_text(CANVAS)
    (place / "moodle.csv").write_text(MOODLE)
    (place / "gradescope.csv").write_text(GRADESCOPE)
    (place / "canvas.zip").write_bytes(
        zipped(
            {
                f"doejane_12345_67890_{TOPIC}.ipynb": mistaken,
                f"doejane_LATE_12346_67891_{TOPIC}-1.ipynb": blank,
            }
        )
    )
    (place / "moodle.zip").write_bytes(zipped({f"{FOLDER}/{TOPIC}.ipynb": solved}))
    (place / "gradescope.zip").write_bytes(
        zipped(
            {
                "export/submission_metadata.yml": (
                    "submission_501:\n  :submitters:\n  - :name: Cy Fox\n"
                    "    :sid: '300'\n    :email: cy@x.edu\n"
                ),
                f"export/submission_501/{TOPIC}.ipynb": solved,
            }
        )
    )
    at = ["--course", str(folder)]
    for system in ("gradescope", "moodle", "canvas"):
        archive, roster = (str(place / f"{system}.{end}") for end in ("zip", "csv"))
        assert main(["collect", TOPIC, archive, *at, "--roster", roster]) == 0
    assert main(["grade", TOPIC, *at]) == 0
    assert main(["report", TOPIC, *at]) == 0
    assert main(["feedback", TOPIC, *at]) == 0
    return folder


def table(course, which):
    with (course / "reports" / f"{TOPIC}_{which}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def in_the_gradebook(course):
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        return {s.student.id: s.score for s in book.assignment_submissions(TOPIC)}


def test_class_list_is_in_the_gradebook_as_well(course):
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        found = {s.id: (s.last_name, s.first_name, s.email) for s in book.students}
        zoe = book.find_student("zzed")
        assert (zoe.lms_user_id, zoe.submissions) == ("12399", [])
    assert found["jdoe2"] == ("Doe", "Jane", None)
    assert found["bo@x.edu"] == ("Dee", "Bo", "bo@x.edu")


def most_points():
    return sum(exercise.points for exercise in load_topic(TOPIC).exercises.values())


def test_canvas_matches_students_and_the_assignment(course, capsys):
    points, *rows = table(course, "canvas")
    (column,) = [name for name in points if name.endswith("(777)")]  # its own number
    assert points["Student"].strip() == "Points Possible"
    scores = in_the_gradebook(course)
    by_id = {row["ID"]: row[column] for row in rows if row["ID"]}
    assert {k: v and float(v) for k, v in by_id.items()} == {
        "12345": scores["jdoe"],
        "12346": 0,  # a zero
        "12399": "",  # nothing handed in, so nothing is changed in Canvas
    }
    _, notes = write_lms_tables(course, report_on_class(course, TOPIC)[0])
    assert any("out of 100 points" in note for note in notes)


def test_moodle_matches_participants(course):
    rows = table(course, "moodle")
    assert list(rows[0]) == MOODLE.splitlines()[0].split(",")
    # It takes the number that follows the word, as its importer does.
    grades = {int(r["Identifier"][len("Participant ") :]): r["Grade"] for r in rows}
    assert grades == {71: "50", 72: ""}  # of 50
    comments = ["=<p>-1 for style:\u00a0see me</p>", ""]  # a teacher's own, as it is
    assert [r["Feedback comments"] for r in rows] == comments
    assert [row["Last modified (grade)"] for row in rows] == ["-", "-"]


@pytest.mark.parametrize(
    ("maximum", "grade", "said"),
    [
        ("100,00", "100", "takes another maximum than"),
        ("Scale: fair", None, "says 'Scale: fair' where the maximum grade belongs"),
        ("", None, ""),
    ],
)
def test_moodles_maximum_may_be_written_with_a_comma(
    course, tmp_path, maximum, grade, said
):
    mine = tmp_path / "course"
    shutil.copytree(course, mine)
    (sheet,) = [
        p for p in (mine / "collected").glob("*.csv") if "50.00" in p.read_text()
    ]
    sheet.write_text(sheet.read_text().replace("50.00", f'"{maximum}"'))
    _, notes = write_lms_tables(mine, report_on_class(mine, TOPIC)[0])
    grades = {row["Identifier"]: row["Grade"] for row in table(mine, "moodle")}
    assert grades["Participant 71"] == (grade or str(most_points()))
    told = [note for note in notes if "Moodle" in note]
    assert [said in note for note in told] == [True] * bool(said)


def test_gradescopes_table_names_the_submission(course):
    (row,) = [r for r in table(course, "gradescope") if r["Email"] == "cy@x.edu"]
    assert row["Submission ID"] == "501"
    assert float(row["Total Score"]) == most_points()


def test_report_tells_zero_late_and_not_handed_in_apart(course):
    states = {row["student"]: row["status"] for row in table(course, "scores")}
    assert states == {
        "jdoe": "handed in",
        "jdoe2": "late",
        "al@x.edu": "handed in",
        "cy@x.edu": "handed in",
        "zzed": "not handed in",
        "bo@x.edu": "not handed in",
    }
    page = (course / "reports" / f"{TOPIC}.html").read_text()
    scores = in_the_gradebook(course).values()
    mean = sum(scores) / len(scores)
    words = " ".join(re.sub(r"<[^>]*>", " ", page).split())
    assert f"the mean is {round(mean, 1):g}." in words
    assert "not handed in: no mark 2 " in words


def test_who_is_still_to_be_graded_has_no_zero_and_is_named(course, tmp_path, capsys):
    """It came after the last run, its report is damaged, or the gradebook is older."""
    mine = tmp_path / "course"
    shutil.copytree(course, mine)
    shutil.copytree(mine / "submitted" / "jdoe", mine / "submitted" / "zzed")
    (mine / "reports" / TOPIC / "jdoe.json").write_text("")
    with Gradebook(f"sqlite:///{mine / 'gradebook.db'}") as book:
        book.remove_submission(TOPIC, "cy@x.edu")
    at = ["--course", str(mine)]
    assert main(["report", TOPIC, *at]) == 0
    said = capsys.readouterr().out
    for name in ("zzed", "jdoe", "cy@x.edu"):
        assert f"to be graded: {name} (" in said
    rows = {row["student"]: row for row in table(mine, "scores")}
    waiting = {name for name, row in rows.items() if row["status"] == "to be graded"}
    assert waiting == {"zzed", "jdoe", "cy@x.edu"}
    assert all(rows[name]["score"] == "" for name in waiting)
    page = (mine / "reports" / f"{TOPIC}.html").read_text()
    words = " ".join(re.sub(r"<[^>]*>", " ", page).split())
    assert "of them still to be graded 3 " in words
    assert "not handed in: no mark 1 " in words
    assert main(["grade", TOPIC, *at]) == 0
    capsys.readouterr()
    assert main(["report", TOPIC, *at]) == 0
    assert "to be graded" not in capsys.readouterr().out


def test_extension_here_outweighs_that_the_lms_calls_it_late(course):
    """Canvas does not know it, and packs no time that would tell if it was enough."""
    path = course / "deadlines.csv"
    lines = f"student,chapter,due\n,{TOPIC},2026-11-12\njdoe2,{TOPIC},+3 days\n"
    path.write_text(lines)
    try:
        report, notes = report_on_class(course, TOPIC)
    finally:
        path.unlink()
    assert report.state_of("jdoe2") == "handed in"
    (said,) = notes
    assert "marked as late by the LMS" in said
    assert ": jdoe2;" in said
    report, notes = report_on_class(course, TOPIC)
    assert (report.state_of("jdoe2"), notes) == ("late", [])


def test_feedback_for_moodle_has_its_folders(course):
    with zipfile.ZipFile(course / "feedback" / f"{TOPIC}_moodle.zip") as archive:
        assert archive.namelist() == [f"{FOLDER}/{TOPIC}.html"]
        page = archive.read(f"{FOLDER}/{TOPIC}.html").decode()
    most = float(most_points())
    assert f"(Score: {most} / {most})" in page


def test_feedback_for_canvas_has_its_names_and_the_marks(course):
    with zipfile.ZipFile(course / "feedback" / f"{TOPIC}_canvas.zip") as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    assert set(files) == {
        f"doejane_12345_67890_{TOPIC}.ipynb",
        f"doejane_LATE_12346_67891_{TOPIC}-1.ipynb",
    }
    data = files[f"doejane_12345_67890_{TOPIC}.ipynb"]
    notebook = nbformat.read(io.StringIO(data.decode()), as_version=4)
    nbformat.validate(notebook)
    score = in_the_gradebook(course)["jdoe"]
    assert f"{score:g} of {most_points():g} points" in notebook.cells[0].source
    assert load_topic(TOPIC).mistakes("softmax")[0].hint in notebook.cells[0].source
