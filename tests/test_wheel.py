"""The wheel in an environment that holds what it declares for students, and no more."""

from __future__ import annotations

import ast
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from zipfile import ZipFile

import nbformat
import pytest
from nbformat import NotebookNode

from autograder.book import chapter_names
from autograder.break_exercise import BreakExercise
from autograder.exercise import load_topic
from autograder.own_notebook import HERE
from autograder.release.source import source_notebook
from autograder.release.student import student_notebook
from tests.students_machine import Student, build_wheel, machine_with
from tests.suites import sweep

# Asked for inside of a function, and a cell says so where it is not there.
OPTIONAL = "transformers"
CHECK = ("-m", "autograder", "check", "--json")

FIND = """
import json, sys
from importlib.util import find_spec

print(json.dumps([name for name in json.loads(sys.argv[1]) if find_spec(name) is None]))
"""


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as it is handed out."""
    return build_wheel(root, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def student(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Student:
    """The wheel installed where there is nothing else."""
    return machine_with(wheel, tmp_path_factory.mktemp("home"))


def modules_in(notebook: NotebookNode) -> Iterator[str]:
    """All modules that the code of a notebook imports, demonstrations included."""
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield node.module


def points_with_a_key(name: str) -> dict[str, float]:
    """What right answers of a chapter earn where there is a key and no solutions.

    A test that a student writes is only judged by the grader, which has the wrong
    versions that the test should find.
    """
    return {
        exercise.name: 0 if isinstance(exercise, BreakExercise) else exercise.points
        for exercise in load_topic(name).exercises.values()
    }


@pytest.fixture
def check(
    student: Student, key_of: Callable[[str], Path], tmp_path: Path
) -> Callable[[str, NotebookNode], dict]:
    """Check a whole notebook there, with the key beside it; the report."""

    def run(name: str, notebook: NotebookNode) -> dict:
        path = tmp_path / f"{name}.ipynb"
        nbformat.write(notebook, path)
        shutil.copy(key_of(name), tmp_path)
        done = student.run(*CHECK, str(path), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def test_it_holds_the_autograder_and_the_toolkit_but_no_answers(wheel):
    folders = {name.split("/")[0] for name in ZipFile(wheel).namelist()}
    ours = {folder for folder in folders if not folder.endswith(".dist-info")}
    assert ours == {"autograder", "toolkit"}


def test_what_is_not_declared_is_not_there(student, tmp_path):
    done = student.run("-c", "import nbgrader", cwd=tmp_path)
    assert "No module named 'nbgrader'" in done.stderr


def test_everything_that_notebooks_import_is_declared(student, tmp_path):
    sources = map(source_notebook, chapter_names())
    modules = {name for source in sources for name in modules_in(source)}
    wanted = json.dumps(sorted(modules - {OPTIONAL} | {"solutions"}))
    done = student.run("-c", FIND, wanted, cwd=tmp_path)
    assert json.loads(done.stdout) == ["solutions"], done.stderr


@sweep("name", chapter_names())
def test_right_answers_have_all_points(check, name):
    report = check(name, source_notebook(name))
    full = points_with_a_key(name)
    assert {e["name"]: e["score"] for e in report["exercises"]} == full
    assert report["notes"] == [HERE]  # no cell stopped
    assert report["score"] == sum(full.values())
    exercises = load_topic(name).exercises.values()
    assert report["max_score"] == sum(exercise.points for exercise in exercises)


def test_stubs_have_no_points(check):
    report = check("masking", student_notebook(source_notebook("masking")))
    assert (report["score"], report["notes"]) == (0, [HERE])


def test_without_a_key_nothing_is_checked(student, tmp_path):
    nbformat.write(source_notebook("masking"), tmp_path / "masking.ipynb")
    refused = student.run(*CHECK, "masking.ipynb", cwd=tmp_path)
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1 and "masking.key" in refused.stderr
