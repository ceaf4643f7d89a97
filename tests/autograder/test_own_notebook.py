"""A student checks a whole notebook: its cells run, and every exercise is judged."""

from __future__ import annotations

import json

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from autograder import own_notebook
from autograder.answer_key import NoKey
from autograder.exercise import load_topic
from autograder.files import Unusable
from autograder.notebooks import METADATA_KEY
from autograder.own_notebook import NoKernel, examine_own
from classroom.submissions import cell_source
from solutions import simplified_attention as right
from tests.autograder.conftest import TOPIC


@pytest.fixture
def write(tmp_path):
    """Write a notebook of the chapter; a cell is a source, or one with its tag."""

    def notebook(*cells, chapter=TOPIC):
        path = tmp_path / "my answers.ipynb"
        made = []
        for cell in cells:
            text, tags = cell if isinstance(cell, tuple) else (cell, [])
            made.append(new_code_cell(text, metadata={"tags": tags}))
        data = new_notebook(cells=made, metadata={METADATA_KEY: {"chapter": chapter}})
        path.write_text(json.dumps(data), encoding="utf-8")
        return path

    return notebook


def by_name(report):
    return {exercise["name"]: exercise for exercise in report["exercises"]}


def test_each_answer_is_judged_and_what_stopped_is_named(write):
    """As the notebook is where it is checked: a later cell changes nothing."""
    known = load_topic(TOPIC).mistakes("softmax")[0]
    path = write(
        "import numpy as np",
        ("raise SystemError('a demonstration is not run')", ["demo"]),
        cell_source(known, "softmax"),
        "check(softmax)",
        cell_source(right.attend, "attend"),
        ("check(attend)", ["check"]),
        "def attend(*arguments):\n    return None",
        "1 / 0",
        "def alignment_scores(query, keys):\n    raise NotImplementedError",
    )
    report = examine_own(path)
    found = by_name(report)
    points = {e.name: e.points for e in load_topic(TOPIC).exercises.values()}
    assert found["softmax"]["mistake"] == known.name
    assert found["softmax"]["score"] < points["softmax"]
    assert found["attend"]["score"] == points["attend"]
    assert found["alignment_scores"]["score"] == 0
    assert "ot implemented yet" in found["alignment_scores"]["message"]
    assert found["soft_lookup"]["message"] == "soft_lookup is not defined"
    assert report["notes"][1:] == ["cell 8: ZeroDivisionError: division by zero"]
    assert report["score"] == sum(exercise["score"] for exercise in found.values())
    assert report["max_score"] == sum(points.values())


def test_answer_under_another_name_and_a_cell_that_is_not_python_are_told(write):
    path = write(
        "import numpy as np",
        cell_source(right.softmax, "softmax").replace("def softmax", "def softmx"),
        "def attend(q, X)\n    return q",
    )
    report = examine_own(path)
    found = by_name(report)
    assert found["softmax"]["message"] == (
        "softmax is not defined. If softmx is your answer: it has to be called "
        "softmax, as in the stub."
    )
    assert found["attend"]["message"] == "attend is not defined"
    assert report["notes"][1:] == ["cell 3: SyntaxError: expected ':' (line 1)"]


def test_what_is_below_a_line_that_fails_is_run_as_in_grading(write):
    answer = cell_source(right.softmax, "softmax")
    path = write(
        "import numpy as np",
        f"print(X.shape)\nopen('no such file')\n{answer}",
        "check(softmax)",
    )
    report = examine_own(path)
    softmax = by_name(report)["softmax"]
    assert softmax["score"] == softmax["max_score"]
    assert report["notes"][1:] == [
        "cell 2: NameError: name 'X' is not defined",
        "cell 2: FileNotFoundError: [Errno 2] No such file or directory: "
        "'no such file'",
    ]


def test_cell_that_does_not_end_is_interrupted_and_named(write):
    path = write("import time\ntime.sleep(10**6)")
    report = examine_own(path, seconds=10)
    assert report["notes"][1] == (
        "cell 1: KeyboardInterrupt: it took too long and was interrupted"
    )
    assert report["score"] == 0


def test_dead_kernel_is_one_line(write):
    path = write("import os\nos._exit(1)")
    with pytest.raises(NoKernel, match="the kernel stopped in cell 1"):
        examine_own(path)


def test_nothing_is_run_without_a_key(write, monkeypatch):
    monkeypatch.setattr(own_notebook, "self_study", lambda: False)
    monkeypatch.setattr(own_notebook, "NotebookClient", None)
    with pytest.raises(NoKey, match=f"needs the file {TOPIC}.key"):
        examine_own(write("1"))


def test_damaged_cells_are_refused(write):
    path = write("1")
    data = json.loads(path.read_text(encoding="utf-8"))
    data["cells"] = [{"cell_type": "code"}, 5]
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(Unusable, match="damaged"):
        examine_own(path)
