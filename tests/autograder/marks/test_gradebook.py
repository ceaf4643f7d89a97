"""A gradebook that nbgrader never wrote gets a line, and never becomes a mark.

The oracle is sqlite3, which puts in what a person with an editor could.
"""

from __future__ import annotations

import shutil
import signal
import sqlite3
import threading

import nbformat
import pytest

from autograder.__main__ import main
from autograder.marks.gradebook import ChapterMarks
from autograder.marks.rules import read_rules
from classroom.submissions import hand_in, submission
from tests.autograder.conftest import TOPIC
from tests.autograder.grading.test_grade import nbgrader
from tests.autograder.made_up import record, report_on

pytestmark = pytest.mark.usefixtures("attacker")
STUDENTS = ("student01", "student02")
CASE = "the scores that were given are unchanged"
REGRADE = ["regrade", TOPIC, "--case", CASE, "--points", "1", "--yes"]
REPORT = ["report", TOPIC]


@pytest.fixture(scope="module")
def marked(released_course, tmp_path_factory, master, right):
    """A class that has marks and reports; everybody fails one case."""
    course = tmp_path_factory.mktemp("marked") / "course"
    shutil.copytree(released_course, course)
    hand_in(course, TOPIC, dict.fromkeys(STUDENTS, submission(master, right)))
    record(course, TOPIC, [report_on(student, TOPIC, [CASE]) for student in STUDENTS])
    return course


@pytest.fixture
def course(marked, tmp_path):
    copied = tmp_path / "course"
    shutil.copytree(marked, copied)
    return copied


def database(course):
    return sqlite3.connect(course / "gradebook.db")


def change(course, statement):
    with database(course) as book:
        book.execute(statement)
    book.close()


def scores(course):
    book = database(course)
    found = book.execute("select auto_score from grade order by id").fetchall()
    book.close()
    return found


HOSTILE = {
    "a text as a score": "update grade set auto_score = 'full'",
    "an infinite score": "update grade set manual_score = 9e999",
    "a time that is none": "update submitted_assignment set timestamp = 'yesterday'",
}


@pytest.mark.parametrize("statement", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_no_nbgrader_wrote_is_refused_in_a_line(course, capsys, statement):
    change(course, statement)
    before = scores(course)
    for command in (REGRADE, REPORT):
        assert main([*command, "--course", str(course)]) == 2
        (line,) = capsys.readouterr().err.strip().splitlines()
        assert line.startswith("autograder: the gradebook ")
        assert "restore a copy" in line
    assert scores(course) == before
    assert not read_rules(course, TOPIC)


def test_a_gradebook_that_takes_nothing_keeps_marks_and_rules(course, capsys):
    change(
        course,
        "create trigger full before update on grade begin "
        "select raise(abort, 'database or disk is full'); end",
    )
    before = scores(course)
    assert main([*REGRADE, "--course", str(course)]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "the gradebook cannot be written: database or disk is full; run" in line
    assert scores(course) == before
    assert not read_rules(course, TOPIC)


@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(),
    reason="only the main thread is interrupted",
)
def test_an_interrupt_leaves_no_rule_without_its_marks(course, monkeypatch, capsys):
    real, before = ChapterMarks.regrade, scores(course)

    def interrupted(*arguments):
        signal.raise_signal(signal.SIGINT)
        real(*arguments)

    monkeypatch.setattr(ChapterMarks, "regrade", interrupted)
    assert main([*REGRADE, "--course", str(course)]) == 130
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "interrupted; what was finished is kept" in line
    assert [rule.name for rule in read_rules(course, TOPIC)] == [CASE]
    assert scores(course) != before


def test_a_question_that_goes_or_comes_after_grading_gets_a_way_on(course, capsys):
    path = course / "source" / TOPIC / f"{TOPIC}.ipynb"
    release = course / "release" / TOPIC / f"{TOPIC}.ipynb"
    source, before = path.read_text(), release.read_bytes()
    notebook = nbformat.reads(source, as_version=4)
    notebook.cells = [c for c in notebook.cells if "nbgrader" not in c.metadata]
    nbformat.write(notebook, path)
    assert main(["course", str(course), TOPIC]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert len(line) < 300 and "taken out since it was graded. Put them back" in line
    notebook = nbformat.reads(source, as_version=4)
    question = nbformat.v4.new_markdown_cell("Why?")
    question.metadata["nbgrader"] = {
        **{"grade": True, "solution": True, "locked": False, "task": False},
        **{"points": 2, "grade_id": "why", "schema_version": 3},
    }
    notebook.cells.append(question)
    nbformat.write(notebook, path)
    assert main(["course", str(course), TOPIC]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert f"questions were added to source/{TOPIC}" in line
    assert f"nbgrader db assignment remove {TOPIC} --force" in line
    assert release.read_bytes() == before
    # The way on is one.
    nbgrader(course, "db", "assignment", "remove", TOPIC, "--force")
    assert main(["course", str(course), TOPIC]) == 0
    assert '"grade_id": "why"' in release.read_text()
