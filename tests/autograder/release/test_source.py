"""Chapter to source notebook to student notebook."""

from __future__ import annotations

import ast
import inspect

import nbformat
import pytest

from autograder.book import chapter_names
from autograder.exercise import load_topic
from autograder.release.course import make_course
from autograder.release.source import source_notebook
from autograder.release.stubs import BrokenChapter, with_solution
from autograder.release.student import student_notebook, write_notebooks
from tests.autograder.conftest import TOPIC
from tests.suites import sweep

STUB = '''def double(x):
    """Twice x."""
    raise NotImplementedError'''

REFERENCE = '''import numpy as np


def double(x):
    """Twice x."""
    # doubling is adding
    return x + x


def other():
    return 1
'''


def test_reference_body_stands_between_solution_markers():
    assert with_solution(STUB, REFERENCE, "double").splitlines() == [
        "def double(x):",
        '    """Twice x."""',
        "    ### BEGIN SOLUTION",
        "    # doubling is adding",
        "    return x + x",
        "    ### END SOLUTION",
    ]


@pytest.mark.parametrize(
    "stub",
    [STUB.replace("raise NotImplementedError", "pass"), "class double:\n    x = 1"],
)
def test_stub_that_does_not_fit_the_reference_stops_the_release(stub):
    with pytest.raises(BrokenChapter):
        with_solution(stub, REFERENCE, "double")


def stubs(name):
    """Source of the stub of every exercise, from the chapter itself."""
    notebook = student_notebook(source_notebook(name))
    return {
        cell.metadata.nbgrader.grade_id: cell.source
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("solution")
    }


def signature(source, name):
    """Signatures and docstrings of a function or of a class and its methods."""
    node = next(n for n in ast.parse(source).body if getattr(n, "name", "") == name)
    functions = node.body if isinstance(node, ast.ClassDef) else [node]
    described = [
        (f.name, ast.unparse(f.args), ast.unparse(f.returns) if f.returns else "")
        + (ast.get_docstring(f),)
        for f in functions
        if isinstance(f, ast.FunctionDef)
    ]
    return described, ast.get_docstring(node)


@sweep("name", chapter_names())
def test_stub_and_reference_agree_in_signature_and_docstring(name):
    topic = load_topic(name)
    for exercise, stub in stubs(name).items():
        module = inspect.getsource(inspect.getmodule(topic.reference(exercise)))
        assert signature(stub, exercise) == signature(module, exercise), exercise


@sweep("name", chapter_names())
def test_student_notebook_has_all_exercises_and_no_answer(name):
    notebook = student_notebook(source_notebook(name))
    nbformat.validate(notebook)
    topic = load_topic(name)
    ids = [c.metadata.get("nbgrader", {}).get("grade_id") for c in notebook.cells]
    for exercise in topic.exercises.values():
        assert ids.index(exercise.name) < ids.index(f"check-{exercise.name}")
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    assert not any("SOLUTION" in source or "solutions" in source for source in code)
    for source in stubs(name).values():
        assert "raise NotImplementedError" in source
    points = sum(
        cell.metadata.nbgrader.points
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("grade")
    )
    assert points == sum(exercise.points for exercise in topic.exercises.values())
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.metadata.nbgrader.locked != cell.metadata.nbgrader.solution


def test_nbgraders_release_is_the_student_notebook(released_course, master):
    path = released_course / "release" / TOPIC / f"{TOPIC}.ipynb"
    released = nbformat.read(path, as_version=4)
    assert [c.source for c in released.cells] == [c.source for c in master.cells]
    assert [c.metadata.get("nbgrader") for c in released.cells] == [
        c.metadata.get("nbgrader") for c in master.cells
    ]
    assert "SOLUTION" not in path.read_text()


def test_making_a_course_again_keeps_what_an_instructor_changed(course):
    source = course / "source" / TOPIC / f"{TOPIC}.ipynb"
    settings = course / "nbgrader_config.py"
    source.write_text(source.read_text().replace("Attention", "ATTENTION"))
    settings.write_text(settings.read_text() + "\n# mine\n")
    release = course / "release"  # a killed command left it half made
    (release / TOPIC).rename(release / f".{TOPIC}.before")
    (release / TOPIC).mkdir()
    make_course(course, [TOPIC])
    assert [path.name for path in release.iterdir()] == [TOPIC]
    assert "ATTENTION" in source.read_text()
    assert "# mine" in settings.read_text()
    released = (course / "release" / TOPIC / f"{TOPIC}.ipynb").read_text()
    assert "ATTENTION" in released


def test_notebooks_of_all_chapters_are_written(tmp_path):
    written, kept = write_notebooks(tmp_path / "notebooks")
    assert [path.stem for path in written] == [
        *chapter_names(),
        "translation",
        "your_transformer",
    ]
    assert all(path.stat().st_size > 5000 for path in written)
    assert kept == []


def test_notebook_in_which_somebody_worked_is_not_overwritten(tmp_path, monkeypatch):
    student = "autograder.release.student"
    monkeypatch.setattr(f"{student}.chapter_names", lambda: [TOPIC])
    monkeypatch.setattr(f"{student}.capstone_names", list)
    (path,), _ = write_notebooks(tmp_path)
    untouched = path.read_text()
    assert write_notebooks(tmp_path) == ([path], [])
    for change in (
        lambda cells: cells[0].update(source=cells[0].source + "\nA note of mine."),
        lambda cells: cells.append(nbformat.v4.new_code_cell("1 + 1")),
        lambda cells: cells[1].outputs.append(nbformat.v4.new_output("stream")),
        lambda cells: cells.pop(),
    ):
        notebook = nbformat.reads(untouched, 4)
        change(notebook.cells)
        nbformat.write(notebook, path)
        worked = path.read_text()
        assert write_notebooks(tmp_path) == ([], [path])
        assert path.read_text() == worked
    for broken in ("", untouched.replace('"written"', '"other"')):
        path.write_text(broken)
        assert write_notebooks(tmp_path) == ([], [path])
        assert path.read_text() == broken
