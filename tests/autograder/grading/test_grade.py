"""A class is graded into a real nbgrader gradebook."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.__main__ import main
from autograder.exercise import load_topic
from autograder.marks.whole_class import report_on_class
from autograder.release.course import make_course
from autograder.release.settings import CourseError, settings_of
from autograder.sandbox.limits import Limits
from classroom.submissions import cell_source, hand_in, submission
from tests.autograder.conftest import TOPIC

pytestmark = pytest.mark.usefixtures("needs_sandbox")
LIMITS = Limits(cell_seconds=5, submission_seconds=30)
RELEASE = f"release/{TOPIC}/{TOPIC}.ipynb"


def marks(course):
    """Scores in the gradebook by student."""
    with Gradebook(
        f"sqlite:///{course / 'gradebook.db'}", "attention-from-scratch"
    ) as book:
        return {s.student.id: s.score for s in book.assignment_submissions(TOPIC)}


def nbgrader(course, *words):
    scripts = Path(sys.executable).parent
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *words],
        cwd=course,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done


@pytest.fixture(scope="module")
def everything(right):
    return sum(e.points for e in load_topic(TOPIC).exercises.values())


@pytest.fixture(scope="module")
def honest(master, right):
    """Submissions of three kinds, by what was done."""
    wrong = cell_source(load_topic(TOPIC).mistakes("softmax")[0], "softmax")
    return {
        "right": submission(master, right),
        "blank": submission(master, {}),
        "wrong": submission(master, {**right, "softmax": wrong}),
    }


@pytest.fixture(scope="module")
def graded(
    grade, released_course, master, right, honest, tmp_path_factory, needs_sandbox
):
    """A small class, graded once; students by what they did."""
    course = tmp_path_factory.mktemp("graded") / "course"
    shutil.copytree(released_course, course)
    hand_in(course, TOPIC, {**honest, "名前": submission(master, right)})
    submitted = course / "submitted"
    (submitted / "nothing" / "other").mkdir(parents=True)
    (submitted / "broken" / TOPIC).mkdir(parents=True)
    (submitted / "broken" / TOPIC / f"{TOPIC}.ipynb").write_text("{broken")
    stamp = submitted / "right" / TOPIC / "timestamp.txt"
    stamp.write_text("2026-10-01 12:00:00 UTC")
    outcome = grade(TOPIC, course, limits=LIMITS)
    return course, outcome


@pytest.fixture
def again(graded, tmp_path):
    """A copy of the graded course, to do something to and to grade once more."""
    folder = tmp_path / "course"
    shutil.copytree(graded[0], folder, symlinks=True)
    return folder


def test_every_submission_has_a_decided_mark_its_reason_and_its_time(
    graded, everything
):
    course, outcome = graded
    scores = marks(course)
    assert scores.pop("right") == scores.pop("名前") == everything
    assert 0 < scores.pop("wrong") < everything
    assert scores == {"blank": 0, "broken": 0}
    assert outcome.missing == ["nothing"]
    assert any("not handed in: nothing" in line for line in outcome.lines(TOPIC))
    folder = course / "reports" / TOPIC
    reports = {path.stem: json.loads(path.read_text()) for path in folder.iterdir()}
    assert "not JSON" in reports["broken"]["refused"]
    assert any(found["mistake"] for found in reports["wrong"]["exercises"])
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        for found in book.assignment_submissions(TOPIC):
            grades = [g for n in found.notebooks for g in n.grades]
            assert not found.needs_manual_grade
            assert all(g.auto_score is not None for g in grades)
        stamp = book.find_submission(TOPIC, "right").timestamp
    assert str(stamp)[:10] == "2026-10-01"


def test_second_run_examines_nothing(grade, graded):
    course, first = graded
    again = grade(TOPIC, course, limits=LIMITS)
    assert again.graded == {}
    assert sorted(again.unchanged) == sorted(first.graded)


def test_changed_submission_is_examined_again_and_the_change_told(
    grade, again, master, right, everything
):
    hand_in(again, TOPIC, {"wrong": submission(master, right)})
    outcome = grade(TOPIC, again, limits=LIMITS)
    assert list(outcome.graded) == ["wrong"]
    assert marks(again)["wrong"] == everything
    assert any(line.startswith("wrong: softmax") for line in outcome.changes)


def test_scores_and_comments_by_hand_survive_and_count(grade, again, master, right):
    url = f"sqlite:///{again / 'gradebook.db'}"
    with Gradebook(url) as book:
        book.find_grade("check-softmax", TOPIC, TOPIC, "blank").manual_score = 1.5
        comment = book.find_comment("softmax", TOPIC, TOPIC, "blank")
        comment.manual_comment = "Well tried"
        book.db.commit()
    hand_in(again, TOPIC, {"blank": submission(master, right)})
    changes = grade(TOPIC, again, limits=LIMITS, force=True).changes
    (line,) = [line for line in changes if line.startswith("blank: softmax 0 ->")]
    assert line.endswith("; your mark of 1.5 by hand stays, and counts")
    assert all("by hand" not in other for other in changes if other != line)
    with Gradebook(url) as book:
        found = book.find_grade("check-softmax", TOPIC, TOPIC, "blank")
        assert found.score == 1.5
        comment = book.find_comment("softmax", TOPIC, TOPIC, "blank")
        assert comment.comment == "Well tried"


def test_a_mark_that_differs_from_its_report_is_set_right(
    grade, again, graded, everything
):
    """As when nbgrader's own autograder believed what a submission printed."""
    with Gradebook(f"sqlite:///{again / 'gradebook.db'}") as book:
        book.find_grade("check-softmax", TOPIC, TOPIC, "blank").auto_score = 99
        book.db.commit()
    outcome = grade(TOPIC, again, limits=LIMITS)
    assert list(outcome.graded) == ["blank"]
    assert outcome.changes == ["blank: softmax 99 -> 0"]
    assert marks(again) == marks(graded[0])


def test_exported_scores_are_those_that_nbgrader_exports(again):
    with Gradebook(f"sqlite:///{again / 'gradebook.db'}") as book:
        by_hand = book.find_grade("check-softmax", TOPIC, TOPIC, "blank")
        by_hand.manual_score, by_hand.extra_credit = 2.5, 1
        book.find_submission_notebook(TOPIC, TOPIC, "right").late_submission_penalty = 3
        book.db.commit()
    nbgrader(again, "export")
    with (again / "grades.csv").open() as file:
        theirs = {r["student_id"]: float(r["score"]) for r in csv.DictReader(file)}
    assert main(["report", TOPIC, "--course", str(again)]) == 0
    with (again / "reports" / f"{TOPIC}_scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    ours = {r["student"]: float(r["score"]) for r in rows if r["score"]}
    assert ours == theirs
    (missing,) = [r for r in rows if not r["score"]]
    assert (missing["student"], missing["status"]) == ("nothing", "not handed in")
    assert theirs["blank"] == 3.5
    with (again / "reports" / f"{TOPIC}_canvas.csv").open() as file:
        canvas = {r["SIS Login ID"]: r[TOPIC] for r in list(csv.DictReader(file))[1:]}
    assert canvas.pop("nothing") == ""
    assert {name: float(score) for name, score in canvas.items()} == theirs


def change_gradebook(course, statement):
    with contextlib.closing(sqlite3.connect(course / "gradebook.db")) as connection:
        connection.execute(statement)
        connection.commit()


OF_ANOTHER_VERSION = "DELETE FROM base_cell WHERE name = 'check-softmax'"
FULL = (
    "CREATE TRIGGER full BEFORE INSERT ON student "
    "BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END"
)
UNUSABLE = {
    "is no course": lambda c: (c / "nbgrader_config.py").unlink(),
    "no release of": lambda c: shutil.rmtree(c / "release"),
    "is no notebook": lambda c: (c / RELEASE).write_text('{"cells": 3}'),
    "nothing was submitted": lambda c: shutil.rmtree(c / "submitted"),
    "has no chapter": lambda c: (c / "gradebook.db").unlink(),
    "cannot be opened": lambda c: (c / "gradebook.db").write_text("x" * 9999),
    "no cell 'check-softmax' in": lambda c: change_gradebook(c, OF_ANOTHER_VERSION),
    "cannot be written: database or disk is full": lambda c: change_gradebook(c, FULL),
}


@pytest.mark.usefixtures("commands_share_workers")
@pytest.mark.parametrize("words", UNUSABLE)
def test_an_unusable_course_is_one_line_and_no_mark(
    course, master, right, capsys, caplog, words
):
    """nbgrader would log a traceback of some."""
    hand_in(course, TOPIC, {"one": submission(master, right)})
    UNUSABLE[words](course)
    assert main(["grade", TOPIC, "--course", str(course)]) == 2
    assert caplog.records == []
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert words in line
    assert not (course / "reports" / TOPIC / "one.json").exists()


def test_settings_are_looked_for_where_nbgrader_looks(course, tmp_path, monkeypatch):
    elsewhere = tmp_path / "jupyter"
    elsewhere.mkdir()
    (elsewhere / "nbgrader_config.py").write_text(
        "c.CourseDirectory.course_id = 'other'\n"
        "c.CourseDirectory.db_url = 'sqlite:///elsewhere.db'\n"
        "c.LateSubmissionPlugin.penalty_method = 'zero'\n"
    )
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(elsewhere))
    settings = settings_of(course)
    assert settings.course_id == "attention-from-scratch"  # the course's own file
    assert settings.gradebook == f"sqlite:///{course / 'elsewhere.db'}"
    assert settings.late.LateSubmissionPlugin.penalty_method == "zero"


def test_an_examined_notebook_that_was_changed_is_made_anew(grade, again, graded):
    """As by nbgrader's own autograder, even if the marks agree."""
    kept = again / "autograded" / "right" / TOPIC / f"{TOPIC}.ipynb"
    kept.write_text(kept.read_text().replace("softmax", "<script>"))
    assert list(grade(TOPIC, again, limits=LIMITS).graded) == ["right"]
    assert "<script>" not in kept.read_text()


def test_a_damaged_report_is_made_anew(grade, again, capsys):
    """Also one that still says what was handed in, and is a report in part."""
    folder = again / "reports" / TOPIC
    paths = sorted(folder.glob("*.json"))
    for path in paths:
        report = json.loads(path.read_text())
        path.write_text(json.dumps({**report, "exercises": [{}]}))
    paths[-1].write_text(100_000 * "[")
    assert main(["report", TOPIC, "--course", str(again)]) == 2
    said = capsys.readouterr().err
    assert f"{TOPIC} has no reports" in said
    outcome = grade(TOPIC, again, limits=LIMITS)
    assert sorted(outcome.graded) == [path.stem for path in paths]
    assert outcome.changes == []


def own_cell(kind, grade_id, source, **settings):
    """A cell that an instructor adds to a notebook in source/."""
    cell = getattr(nbformat.v4, f"new_{kind}_cell")(source)
    cell.metadata["nbgrader"] = {
        **{"grade_id": grade_id, "schema_version": 3, "task": False, "points": 10},
        **{"grade": True, "locked": False, "solution": True, **settings},
    }
    return cell


def change_source(course, change):
    path = course / "source" / TOPIC / f"{TOPIC}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    change(notebook)
    nbformat.write(notebook, path)
    return make_course(course, [TOPIC])


def test_a_question_of_the_instructor_is_marked_by_hand(
    grade, course, right, everything
):
    def ask(notebook):
        notebook.cells.append(own_cell("markdown", "essay", "Why?"))

    change_source(course, ask)
    released = nbformat.read(course / RELEASE, as_version=4)
    answered = submission(released, right)
    answered["cells"][-1]["source"] = "Because <img src=x onerror=alert(1)>"
    hand_in(course, TOPIC, {"one": answered})
    outcome = grade(TOPIC, course, limits=LIMITS)
    assert outcome.graded["one"]["notes"] == []
    kept = course / "autograded" / "one" / TOPIC / f"{TOPIC}.ipynb"
    last = nbformat.read(kept, as_version=4).cells[-1]
    assert last.source == "    Because <img src=x onerror=alert(1)>"
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        essay = book.find_grade("essay", TOPIC, TOPIC, "one")
        assert essay.needs_manual_grade
        (said,) = report_on_class(course, TOPIC)[1]
        assert said.startswith("still to be marked by hand, and a zero until then: ess")
        essay.manual_score, essay.needs_manual_grade = 7, False
        book.db.commit()
    assert report_on_class(course, TOPIC)[1] == []
    assert grade(TOPIC, course, limits=LIMITS).unchanged == ["one"]
    assert marks(course) == {"one": everything + 7}
    assert main(["report", TOPIC, "--course", str(course)]) == 0
    with (course / "reports" / f"{TOPIC}_canvas.csv").open() as file:
        most, mine = [float(row[TOPIC]) for row in csv.DictReader(file)]
    assert (most, mine) == (everything + 10, everything + 7)
    # Handed in again: the mark stays, and asks for another look.
    answered["cells"][-1]["source"] = "So."
    hand_in(course, TOPIC, {"one": answered})
    outcome = grade(TOPIC, course, limits=LIMITS)
    assert list(outcome.graded) == ["one"]
    assert any("essay was marked by hand" in line for line in outcome.changes)
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        essay = book.find_grade("essay", TOPIC, TOPIC, "one")
        assert (essay.score, essay.needs_manual_grade) == (7, True)
        (said,) = report_on_class(course, TOPIC)[1]
        assert "essay (1)" in said and "looked at again" in said
        # As nbgrader's own autograder records a question that was left out.
        essay.manual_score = None
        essay.auto_score, essay.needs_manual_grade = 0, False
        book.db.commit()
    answered["cells"][-1]["source"] = "Because."
    hand_in(course, TOPIC, {"one": answered})
    grade(TOPIC, course, limits=LIMITS)
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        essay = book.find_grade("essay", TOPIC, TOPIC, "one")
        assert (essay.auto_score, essay.needs_manual_grade) == (None, True)


def test_an_exercise_that_the_instructor_left_out_is_not_asked_for(
    grade, course, master, right, everything
):
    def leave_out(notebook):
        notebook.cells = [
            cell
            for cell in notebook.cells
            if cell.metadata.get("nbgrader", {}).get("grade_id")
            not in ("attend", "check-attend")
        ]

    (course / "gradebook.db").unlink()
    change_source(course, leave_out)
    hand_in(course, TOPIC, {"one": submission(master, right)})
    outcome = grade(TOPIC, course, limits=LIMITS)
    points = load_topic(TOPIC).exercises["attend"].points
    assert outcome.graded["one"]["score"] == everything - points
    assert "attend" not in {e["name"] for e in outcome.graded["one"]["exercises"]}
    assert marks(course) == {"one": everything - points}


def test_what_this_grader_cannot_mark_is_refused_at_the_release_and_later(
    grade, course, master, right
):
    def test_cell(notebook):
        cell = own_cell("code", "mytest", "assert softmax", solution=False, locked=True)
        notebook.cells.append(cell)

    with pytest.raises(CourseError, match="mytest is a test of your own"):
        change_source(course, test_cell)
    path = course / RELEASE
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "check-softmax":
            cell.metadata.nbgrader.points = 99
    nbformat.write(notebook, path)
    hand_in(course, TOPIC, {"one": submission(master, right)})
    with pytest.raises(CourseError, match="softmax has 99 points, and the grader"):
        grade(TOPIC, course, limits=LIMITS)
    assert marks(course) == {}
