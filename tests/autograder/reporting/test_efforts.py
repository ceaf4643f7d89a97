"""Checks, hints and time, as notebooks tell that were handed in."""

from __future__ import annotations

import csv
import json
import statistics

import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from autograder import record
from autograder.marks.reports import ClassReport
from autograder.reporting.classreport import as_page
from autograder.reporting.efforts import Effort, Efforts, efforts_in, told_in
from autograder.reporting.exports import write_class_report
from autograder.submissions.submitted import read
from tests.autograder.conftest import TOPIC
from tests.autograder.made_up import exercise, report


def test_a_check_leaves_how_often_it_ran_and_how_many_hints_came_before():
    sources = [
        "from autograder.check import check\nfrom autograder.hints import hint",
        "def softmax(scores):\n    return scores",
        "check(softmax)",
        "hint(softmax)",
        "hint(softmax)",
        "check(softmax)",
        "hint(softmax)",
    ]
    notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
    cells = NotebookClient(notebook, kernel_name="python3").execute().cells
    first, last = told_in(cells[:3])["softmax"], told_in(cells)["softmax"]
    assert (first.checks, first.hints, first.seconds) == (1, 0, 0)
    assert (last.checks, last.hints) == (2, 2)
    assert last.seconds >= 0


def test_the_time_is_that_between_the_first_check_and_the_last(monkeypatch):
    now = iter([100.0, 175.25, 700.0])
    monkeypatch.setattr(record.time, "monotonic", lambda: next(now))
    done = record.Effort()
    assert done.checked("attend")["seconds"] == 0
    assert done.checked("attend") == {"checks": 2, "hints": 0, "seconds": 75}
    done.asked_for_hint("softmax")
    assert done.checked("softmax") == {"checks": 1, "hints": 1, "seconds": 0}


def cell(name="attend", checks=1, hints=0, seconds=0):
    entry = {"exercise": name, "checks": checks, "hints": hints, "seconds": seconds}
    output = {"output_type": "display_data", "metadata": {record.RECORD: entry}}
    return {"cell_type": "code", "metadata": {}, "source": "", "outputs": [output]}


ODD = [
    *(
        3,
        None,
        [],
        "x",
        {},
        {"outputs": 3},
        {"outputs": [3, None, {}, {"metadata": 1}]},
    ),
    {"outputs": [{"metadata": {record.RECORD: "x"}}]},
    {"outputs": [{"metadata": {record.RECORD: {"exercise": "attend"}}}]},
    *(cell(checks=0), cell(checks=-1), cell(checks=True), cell(checks=1.5)),
    *(cell(hints=10**9), cell(seconds="9"), cell(seconds=None), cell(name=["a"])),
    cell(checks=float("inf")),
]


@pytest.mark.parametrize("odd", ODD)
def test_anything_else_in_a_notebook_tells_nothing(odd):
    assert told_in([odd]) == {}
    assert told_in([odd, cell(checks=4), odd]) == {"attend": Effort(4, 0, 0)}


DONE = {  # checks, hints, seconds
    "ada": (1, 0, 0),
    "ben": (7, 2, 300),
    "cy": (4, 1, 61),
    "di": (2, 0, 30),
}


@pytest.fixture
def graded(tmp_path):
    """A course in which notebooks were handed in, and the report on it."""
    reports = []
    for student, numbers in DONE.items():
        folder = tmp_path / "submitted" / student / TOPIC
        folder.mkdir(parents=True)
        cells = [cell("attend", *numbers), cell("not_asked", *numbers)]
        data = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
        (folder / f"{TOPIC}.ipynb").write_text(json.dumps(data))
        answers = [exercise(n, {"a": True}, {"a": 1}) for n in ("softmax", "attend")]
        digest = read(tmp_path / "submitted", student, TOPIC).digest
        reports.append(report(student, answers) | {"submission": digest})
    (tmp_path / "reports").mkdir()
    return tmp_path, ClassReport(TOPIC, reports)


def test_a_class_is_told_by_its_medians(graded):
    course, class_ = graded
    found = efforts_in(course, class_)
    assert list(found) == ["softmax", "attend"]
    assert found["softmax"] == Efforts(0, None, 0, None)
    checks, _, seconds = zip(*DONE.values(), strict=True)
    assert found["attend"] == Efforts(
        4, statistics.median(checks), 2, statistics.median(seconds[1:])
    )


def test_a_notebook_that_was_replaced_or_removed_tells_nothing(graded):
    course, class_ = graded
    path = course / "submitted" / "ben" / TOPIC / f"{TOPIC}.ipynb"
    path.write_text(path.read_text().replace('"checks": 7', '"checks": 8'))
    (course / "submitted" / "cy" / TOPIC / f"{TOPIC}.ipynb").unlink()
    assert efforts_in(course, class_)["attend"] == Efforts(2, 1.5, 0, 30)


def test_page_and_table_say_what_is_not_known(graded):
    course, class_ = graded
    path = write_class_report(course, class_)["items"]
    with path.open(newline="") as file:
        rows = {(r["exercise"], r["case"]): r for r in csv.DictReader(file)}
    columns = ("checks_known_of", "median_checks", "asked_for_hints", "median_seconds")
    assert [rows["attend", ""][c] for c in columns] == ["4", "3", "2", "61"]
    assert [rows["softmax", ""][c] for c in columns] == ["0", "", "0", ""]
    assert [rows["attend", "a"][c] for c in columns] == ["", "", "", ""]
    page = as_page(class_, efforts=efforts_in(course, class_))
    assert "these\nnumbers are lower bounds" in page
    assert "2 of 4" in page
    assert "1 min" in page
