"""The instructor's guide on an exercise of one's own, followed to the letter."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tests.suites import sweep

ROOT = Path(__file__).resolve().parents[3]
GUIDE = ROOT / "chapters" / "teaching" / "own_exercises.md"
STEP = re.compile(
    r"Write `(?P<file>[^`]+)`:\n\n(?P<fence>`{3,})\w+\n(?P<text>.*?)^(?P=fence)$",
    re.M | re.S,
)
COMMANDS = re.compile(r"^```bash\n(.*?)^```$", re.M | re.S)
RIGHT = "def scaled_residual(x, update, gain):\n    return x + update * gain"
KNOWN = "def scaled_residual(x, update, gain):\n    return (update + x) * gain"
UNKNOWN = "def scaled_residual(x, update, gain):\n    return x - gain * update"


def guide() -> str:
    return GUIDE.read_text(encoding="utf-8")


def autograder(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of the autograder, as somebody in ``folder`` would."""
    return subprocess.run(
        [sys.executable, "-m", "autograder", *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
    )


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A course folder with the files of the guide."""
    for step in STEP.finditer(guide()):
        path = tmp_path / step["file"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(step["text"], encoding="utf-8")
    return tmp_path


def answered(course: Path, source: str) -> nbformat.NotebookNode:
    """The released notebook with an answer."""
    path = course / "release" / "layer_scale" / "layer_scale.ipynb"
    notebook = nbformat.read(path, as_version=4)
    (stub,) = (
        cell
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "scaled_residual"
    )
    stub.source = source
    return notebook


def test_a_class_is_graded_on_an_exercise_of_ones_own(course, needs_sandbox):
    release, grade = COMMANDS.search(guide())[1].splitlines()
    done = autograder(*release.split()[3:], folder=course)
    assert done.returncode == 0, done.stderr
    handed_out = {p.name for p in (course / "release" / "layer_scale").rglob("*.*")}
    assert handed_out == {"layer_scale.ipynb", "layer_scale.key", "layer_scale.py"}
    class_of_three = {"ann": RIGHT, "bob": KNOWN, "eve": UNKNOWN}
    for student, source in class_of_three.items():
        path = course / "submitted" / student / "layer_scale" / "layer_scale.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(answered(course, source), path)
    done = autograder(*grade.split()[3:], folder=course)
    assert done.returncode == 0, done.stderr
    reports = {
        student: json.loads(
            (course / "reports" / "layer_scale" / f"{student}.json").read_text()
        )
        for student in class_of_three
    }
    assert {s: r["score"] for s, r in reports.items()} == {"ann": 4, "bob": 0, "eve": 1}
    (bob,) = reports["bob"]["exercises"]
    assert bob["mistake"] == "gain_on_the_sum"
    assert "pass through" in bob["message"]
    done = autograder("report", "layer_scale", "--course", ".", folder=course)
    assert done.returncode == 0, done.stderr


def test_students_check_it_with_cases_and_key_beside_the_notebook(course, tmp_path):
    assert autograder("course", ".", "layer_scale", folder=course).returncode == 0
    given = tmp_path / "handed out"
    shutil.copytree(course / "release" / "layer_scale", given)
    (given / "answer.py").write_text(
        "from autograder.check import check\n\n\n"
        f"{RIGHT}\n\n\nprint(check(scaled_residual))\n"
    )
    done = subprocess.run(
        [sys.executable, "answer.py"], cwd=given, capture_output=True, text=True
    )
    assert "4 of 4" in done.stdout, done.stdout + done.stderr


@sweep(
    ("file", "text", "says"),
    [
        ("exercises/masking.py", "", "has the name of a topic of the book"),
        ("exercises/layer_scale.py", "scaled = (", "was never closed"),
        ("solutions/layer_scale.py", "", "has no reference named scaled_residual"),
        (
            "chapters/layer_scale.md",
            "# One\n\n```{code-cell} ipython3\n---\na: b: c\n---\n1\n```\n",
            "Code cell 1 at line 3 could not be read: its options are no YAML",
        ),
        (
            "solutions/mistakes/layer_scale.py",
            "from autograder.exercise import mistake\n"
            "from autograder.exercises.layer_scale import scaled_residual\n\n\n"
            "@mistake(scaled_residual)\ndef right(x, update, gain):\n"
            '    """Nothing is wrong."""\n    return x + gain * update\n',
            "the mistake right of scaled_residual gets all points",
        ),
    ],
)
def test_what_is_wrong_with_a_topic_of_ones_own_is_one_line(course, file, text, says):
    (course / file).write_text(text, encoding="utf-8")
    done = autograder("course", ".", "layer_scale", folder=course)
    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (course / "release" / "layer_scale").exists()
