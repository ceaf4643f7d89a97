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
from autograder.release.source import source_notebook
from autograder.release.student import student_notebook
from tests.students_machine import Student, build_wheel, machine_with
from tests.suites import sweep

# Asked for inside of a function, and a cell says so where it is not there.
OPTIONAL = "transformers"

# One kernel, emptied after each notebook: to start another one, and to import torch in
# it, takes longer than most notebooks.
RUN = """
import json, sys
from importlib.util import find_spec
from pathlib import Path
import nbformat
from nbclient import NotebookClient

folder, modules = Path(sys.argv[1]), json.loads(sys.argv[2])
missing = [name for name in modules if find_spec(name) is None]
found = {"missing": missing, "prefix": sys.prefix, "solutions": find_spec("solutions")}
names, cells = [], []
for path in sorted(folder.glob("*.ipynb")):
    notebook = nbformat.read(path, as_version=4)
    names += [path.stem] * (len(notebook.cells) + 1)
    cells += [*notebook.cells, nbformat.v4.new_code_cell("%reset -f")]
    found[path.stem] = {"errors": [], "printed": [], "points": []}
whole = nbformat.v4.new_notebook(cells=cells, metadata=notebook.metadata)
for number, cell in enumerate(cells):
    cell["id"] = f"cell-{number}"
where = {"metadata": {"path": str(folder)}}
NotebookClient(whole, timeout=None, allow_errors=True, resources=where).execute()
for name, cell in zip(names, cells, strict=True):
    for out in cell.outputs:
        if out.output_type == "error":
            found[name]["errors"].append(out.evalue)
        elif out.output_type == "stream":
            found[name]["printed"].append(out.text)
        if "autograder" in out.get("metadata", {}):
            about = out.metadata["autograder"]
            found[name]["points"].append([about["exercise"], about["score"]])
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as it is handed out."""
    return build_wheel(root, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def student(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Student:
    """The wheel installed where there is nothing else."""
    return machine_with(wheel, tmp_path_factory.mktemp("home"))


def blank_and_solved(source: NotebookNode) -> NotebookNode:
    """The released notebook, and after it the same cells with the right answers.

    Of cells that demonstrate, only imports and classes stay; some train for minutes.
    """
    cells = []
    for notebook in (student_notebook(source), source):
        for cell in (cell for cell in notebook.cells if cell.cell_type == "code"):
            if cell.metadata.tags == ["demo"]:
                kept = (ast.Import, ast.ImportFrom, ast.ClassDef)
                body = [n for n in ast.parse(cell.source).body if isinstance(n, kept)]
                cell.source = "\n".join(map(ast.unparse, body))
            cells.append(cell)
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    return nbformat.v4.new_notebook(cells=cells, metadata=source.metadata)


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


def chapters_asked_about(request: pytest.FixtureRequest) -> list[str]:
    """The chapters that the tests of this run ask about."""
    found = {"masking"}
    for item in request.session.items:
        if item.path == request.path and hasattr(item, "callspec"):
            found.add(item.callspec.params["name"])
    return [name for name in chapter_names() if name in found]


@pytest.fixture(scope="module")
def seen(
    request: pytest.FixtureRequest,
    student: Student,
    key_of: Callable[[str], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict:
    """What came of the released notebooks there, one after the other."""
    folder = tmp_path_factory.mktemp("handed-out")
    modules, asked = set(), chapters_asked_about(request)
    for name in chapter_names():
        source = source_notebook(name)
        modules |= set(modules_in(source))
        if name not in asked:
            continue
        nbformat.write(blank_and_solved(source), folder / f"{name}.ipynb")
        shutil.copy(key_of(name), folder)
    wanted = json.dumps(sorted(modules - {OPTIONAL}))
    done = student.run("-c", RUN, str(folder), wanted, cwd=folder)
    assert done.returncode == 0, done.stderr
    return {"folder": folder, **json.loads(done.stdout)}


def test_it_holds_the_autograder_and_the_toolkit_but_no_answers(wheel):
    folders = {name.split("/")[0] for name in ZipFile(wheel).namelist()}
    ours = {folder for folder in folders if not folder.endswith(".dist-info")}
    assert ours == {"autograder", "toolkit"}


def test_what_is_not_declared_is_not_there(student, tmp_path):
    done = student.run("-c", "import nbgrader", cwd=tmp_path)
    assert "No module named 'nbgrader'" in done.stderr


def test_everything_that_notebooks_import_is_declared(student, seen):
    assert Path(seen["prefix"]) == student.home / "env"
    assert seen["solutions"] is None
    assert seen["missing"] == []


@sweep("name", chapter_names())
def test_stubs_have_no_points_and_right_answers_all_of_them(seen, name):
    full = points_with_a_key(name)
    found = seen[name]
    assert found["errors"] == []
    assert found["printed"] == []
    middle = len(full)
    assert dict(found["points"][:middle]) == dict.fromkeys(full, 0)
    assert dict(found["points"][middle:]) == full


def test_whole_notebook_is_checked_from_the_key(student, seen, tmp_path):
    name = "masking"
    key, path = seen["folder"] / f"{name}.key", tmp_path / "mine" / f"{name}.ipynb"
    path.parent.mkdir()
    source = source_notebook(name)
    nbformat.write(source, path)
    call = ("-m", "autograder", "check", str(path), "--json")
    refused = student.run(*call, cwd=tmp_path)
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1 and f"{name}.key" in refused.stderr
    path.with_suffix(".key").write_bytes(key.read_bytes())
    done = student.run(*call, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    full = points_with_a_key(name)
    assert {e["name"]: e["score"] for e in report["exercises"]} == full
    assert report["score"] == sum(full.values())
    exercises = load_topic(name).exercises.values()
    assert report["max_score"] == sum(exercise.points for exercise in exercises)
