"""Tables for the systems, from made-up reports and class lists as systems export them.

The oracle are small readers that match students as the systems' own importers do.
"""

from __future__ import annotations

import csv

import pytest

from autograder.handback.lms_tables import write_lms_tables
from autograder.marks.reports import ClassReport
from tests.autograder.conftest import TOPIC
from tests.autograder.made_up import exercise, report

MOST = 10
CANVAS = (
    f"Student,ID,SIS User ID,SIS Login ID,Section,{TOPIC.replace('_', ' ')} (777)\n"
    '    Points Possible,,,,,"100,00"\n'
    '"Doe, Jane",12345,S1,jdoe,A,\n"Zed, Zoe",12399,S9,zzed,B,\n'
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
SCORES = {"jdoe": 7, "al@x.edu": 5, "cy@x.edu": 10, "ada": 4}


@pytest.fixture
def tables(tmp_path):
    """Write the tables of a class that has these lists: the rows, and the notes."""
    reports = []
    for student, score in SCORES.items():
        points = {"right": score, "wrong": MOST - score}
        passed = {"right": True, "wrong": False}
        reports.append(report(student, [exercise("softmax", passed, points)]))
    class_ = ClassReport(
        TOPIC, reports, missing=["zzed", "bo@x.edu"], excused=["dan"], late=["jdoe"]
    )
    (tmp_path / "collected").mkdir()

    def write(**lists):
        for name, text in lists.items():
            (tmp_path / "collected" / f"{name}.csv").write_text(text)
        paths, notes = write_lms_tables(tmp_path, class_)
        found = {}
        for system, path in paths.items():
            with path.open(newline="", encoding="utf-8") as file:
                found[system] = list(csv.DictReader(file))
        return found, notes

    return write


def test_canvas_matches_students_and_the_assignment(tables):
    found, (note,) = tables(canvas=CANVAS)
    points, *rows = found["canvas"]
    (column,) = [name for name in points if name.endswith("(777)")]  # its own number
    assert points["Student"].strip() == "Points Possible"
    assert points[column] == str(MOST)
    assert {row["ID"]: row[column] for row in rows if row["ID"]} == {
        "12345": "7",
        "12399": "",  # nothing handed in, so nothing is changed in Canvas
    }
    by_login = {row["SIS Login ID"]: row[column] for row in rows}
    assert (by_login["dan"], by_login["ada"]) == ("EX", "4")  # in no list of Canvas
    assert "out of 100 points" in note


@pytest.mark.parametrize(
    ("maximum", "grade", "said"),
    [
        ("50.00", "25", "maximum grade '50.00', and marks are out of 10"),
        ("100,00", "50", "maximum grade '100,00'"),
        ("Scale: fair", "5", "maximum grade 'Scale: fair'"),
        ("", "5", ""),
    ],
)
def test_moodles_worksheet_is_filled_in(tables, maximum, grade, said):
    worksheet = {f"{TOPIC}_worksheet": MOODLE.replace("50.00", f'"{maximum}"')}
    found, notes = tables(**worksheet)
    rows = found["moodle"]
    assert list(rows[0]) == MOODLE.splitlines()[0].split(",")
    # Moodle takes the number that follows the word, as its importer does.
    grades = {int(r["Identifier"][len("Participant ") :]): r["Grade"] for r in rows}
    assert grades == {71: grade, 72: ""}
    comments = ["=<p>-1 for style:\u00a0see me</p>", ""]  # a teacher's own, as it is
    assert [r["Feedback comments"] for r in rows] == comments
    assert [row["Last modified (grade)"] for row in rows] == ["-", "-"]
    assert [said in note for note in notes] == [True] * bool(said)


def test_gradescopes_table_has_everybody_with_the_state(tables):
    found, _ = tables(gradescope=GRADESCOPE, canvas=CANVAS)
    rows = {row["Name"]: row for row in found["gradescope"]}
    cy, jane = rows["Cy Fox"], rows["Doe, Jane"]
    assert (cy["SID"], cy["Status"], cy["Total Score"]) == ("300", "handed in", "10")
    assert jane["Status"] == "late"
    assert rows["Zed, Zoe"]["Status"] == "not handed in"
