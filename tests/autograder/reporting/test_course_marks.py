"""Final marks from made-up reports, with answers worked out by hand."""

from __future__ import annotations

import csv
import json
import re

import pytest

from autograder.__main__ import main
from autograder.marks.reports import WAITING, ClassReport, NoReports
from autograder.reporting import course_marks
from autograder.reporting.course_marks import read_weights
from autograder.tables import BadTable
from tests.autograder.made_up import report

CHAPTERS = ["simplified_attention", "scaling", "masking"]  # in the order of the book
OUT_OF = {"simplified_attention": 10, "scaling": 20, "masking": 40}
SCORES = {  # None: nothing handed in; "EX": excused
    "ada": [10, 20, 40],
    "bo": [10, 10, None],
    "cy": [5, "EX", 20],
    "di": [10, None, None],
    "ed": [10, 18, 16],
    "flo": [None, None, None],
    "gus": [3, 0, 16],
}


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course whose chapters have these reports."""
    for chapter in CHAPTERS:
        (tmp_path / "reports" / chapter).mkdir(parents=True)

    def report_on_class(course, chapter):
        place, most = CHAPTERS.index(chapter), OUT_OF[chapter]
        said = {name: scores[place] for name, scores in SCORES.items()}
        reports = [
            report(name, []) | {"score": float(score), "max_score": most}
            for name, score in said.items()
            if isinstance(score, int)
        ]
        missing = [name for name, score in said.items() if score is None]
        excused = [name for name, score in said.items() if score == "EX"]
        waiting = [name for name, score in said.items() if score == WAITING]
        return ClassReport(chapter, reports, missing, excused, waiting=waiting), []

    monkeypatch.setattr(course_marks, "report_on_class", report_on_class)
    return tmp_path


def marked(course, capsys, *words):
    """The table by student, and what the command said."""
    assert main(["marks", "--course", str(course), *words]) == 0
    with (course / "reports" / "course.csv").open() as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    return rows, capsys.readouterr().out


def numbers(rows, column):
    return {name: row[column] and float(row[column]) for name, row in rows.items()}


def test_final_marks_tell_zero_nothing_and_excused_apart(course, capsys):
    rows, _ = marked(course, capsys)
    assert rows["cy"]["scaling"] == "EX"
    assert rows["bo"]["masking"] == ""
    assert rows["gus"]["scaling"] == "0"
    assert numbers(rows, "so_far") == pytest.approx(
        {"ada": 100, "bo": 75, "cy": 50, "di": 100, "ed": 76.7, "gus": 23.3}
        | {"flo": ""},
        abs=0.05,
    )
    assert numbers(rows, "final") == pytest.approx(
        {"ada": 100, "bo": 50, "cy": 50, "di": 33.3, "ed": 76.7, "gus": 23.3}
        | {"flo": 0},
        abs=0.05,
    )


def test_weights_and_the_lowest_dropped(course, capsys, tmp_path):
    table = tmp_path / "weights.csv"
    table.write_text("chapter;weight\nsimplified_attention;1\nmasking;3\n")
    rows, _ = marked(course, capsys, "--weights", str(table))
    finals = numbers(rows, "final")
    assert finals["ed"] == (1 * 100 + 3 * 40) / 4  # scaling is not in the table
    assert finals["bo"] == 25
    rows, _ = marked(course, capsys, "--drop", "1")
    assert rows["ed"]["dropped"] == "masking"
    finals = numbers(rows, "final")
    assert (finals["ed"], finals["bo"], finals["gus"]) == (95, 75, 35)
    rows, said = marked(course, capsys, "--drop", "2")  # cy is excused of one of three
    assert "--drop 2 would leave nothing that counts for 1 of 7 students" in said
    rows, said = marked(course, capsys, "--drop", "9")  # one always counts
    assert numbers(rows, "final")["gus"] == 40
    assert "--drop 9 would leave nothing that counts for 7 of 7 students" in said


def test_the_mark_in_a_reason_is_the_one_in_the_table(course, capsys, tmp_path):
    table = tmp_path / "weights.csv"
    table.write_text("chapter,weight\nsimplified_attention,1\nmasking,3\n")
    for words_ in ([], ["--drop", "1"], ["--drop", "2"], ["--weights", str(table)]):
        rows, said = marked(course, capsys, *words_)
        for row in rows.values():
            so_far = row["so_far"] and float(row["so_far"])
            told = re.findall(r"the mark so far is (\d+)%", row["at_risk"])
            low = so_far != "" and so_far < 50
            assert bool(told) == low
            assert not told or abs(float(told[0]) - so_far) <= 0.5
    rows, _ = marked(course, capsys, "--drop", "2")  # gus has 30, 0 and 40 percent
    assert rows["gus"]["at_risk"] == "the mark so far is 40%"


def test_who_may_need_help_is_named_with_the_reason(course, capsys):
    rows, said = marked(course, capsys)
    assert {name for name, row in rows.items() if row["at_risk"]} == {
        *("bo", "di", "ed", "flo", "gus")
    }
    assert rows["di"]["at_risk"] == "nothing handed in for the last 2 chapters"
    assert rows["flo"]["at_risk"] == "nothing handed in for the last 3 chapters"
    assert rows["ed"]["at_risk"] == "from 95% down to 40%"
    assert rows["gus"]["at_risk"] == "the mark so far is 23%"
    order = [
        line.split(":")[1].strip() for line in said.splitlines() if " help: " in line
    ]
    assert order == ["flo", "gus", "di", "bo", "ed"]  # the lowest final marks first


def words(course):
    """The page as somebody reads it."""
    page = (course / "reports" / "course.html").read_text()
    page = re.sub("<(style|script)>.*?</\\1>", "", page, flags=re.DOTALL)
    return " ".join(re.sub("<[^>]*>", " ", page.replace("<wbr>", "")).split())


def test_the_page_tells_zero_nothing_and_excused_apart(course, capsys):
    marked(course, capsys)
    said = words(course)
    assert "simplified_attention 6 0 1 0 80% 1" in said
    assert "scaling 4 0 2 1 60% 1" in said  # gus has a zero, cy is excused
    assert "bo 100% 50% – 75% 50%" in said
    assert "cy 50% EX 50% 50% 50%" in said
    assert "gus 30% 0% 40% 23% 23%" in said
    assert "students 7 chapters graded 3 half" in said
    assert "flo : 0%; nothing handed in for the last 3 chapters" in said


def test_what_is_still_to_be_graded_is_handed_in_and_in_no_mean(
    course, capsys, monkeypatch
):
    monkeypatch.setitem(SCORES, "hal", [WAITING, 20, WAITING])
    marked(course, capsys)
    said = words(course)
    assert "simplified_attention 7 1 1 0 80% 1" in said  # of 8 students
    assert "scaling 5 0 2 1 68% 1" in said


def test_the_page_leads_to_the_reports_that_there_are(course, capsys):
    (course / "reports" / "scaling.html").write_text("")
    marked(course, capsys)
    page = (course / "reports" / "course.html").read_text()
    assert re.findall(r'href="([^#"]+)"', page) == ["scaling.html"]


def test_a_table_of_weights_with_faults_is_refused(tmp_path, capsys):
    path = tmp_path / "weights.csv"
    path.write_text("chapter,weight\nmaskin,1\nscaling,-1\nscaling,1\nmasking,x\n")
    with pytest.raises(BadTable) as refused:
        read_weights(path)
    places = [line.partition(":")[0] for line in refused.value.lines]
    assert places == [
        "row 2, column chapter",
        "row 3, column weight",
        "row 4, column chapter",
        "row 5, column weight",
    ]
    path.write_text("chapter;weight\nscaling;0,5\nmasking;1.5\n")
    assert read_weights(path) == {"scaling": 0.5, "masking": 1.5}
    path.write_text("chapter,weight\nscaling,0\n")
    with pytest.raises(BadTable, match="1 problem"):
        read_weights(path)
    path.write_text(json.dumps({}))
    assert main(["marks", "--course", str(tmp_path), "--weights", str(path)]) == 2


def test_a_chapter_that_nobody_handed_in_does_not_hide_the_others(
    course, capsys, monkeypatch
):
    usual = course_marks.report_on_class

    def report_on_class(course, chapter):
        if chapter == "scaling":
            raise NoReports("nobody has handed it in")
        return usual(course, chapter)

    monkeypatch.setattr(course_marks, "report_on_class", report_on_class)
    rows, said = marked(course, capsys)
    assert "scaling: does not count: nobody has handed it in" in said
    assert "scaling" not in rows["ada"]
    assert numbers(rows, "final")["ed"] == (100 + 40) / 2
    assert len(words(course)) > 100
    for chapter in ("simplified_attention", "masking"):
        (course / "reports" / chapter).rmdir()
    assert main(["marks", "--course", str(course)]) == 2
    assert "no chapter was graded" in capsys.readouterr().err


def test_nothing_graded_is_one_line(tmp_path, capsys):
    assert main(["marks", "--course", str(tmp_path)]) == 2
    assert "no chapter was graded" in capsys.readouterr().err
