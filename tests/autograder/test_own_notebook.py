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

SCALE = "SCALE = 2"


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
        "import numpy as np\nfrom autograder.check import check",
        (f"{SCALE}\nraise SystemError('a demonstration is not run')", ["demo"]),
        cell_source(known, "softmax"),
        "check(softmax)",
        cell_source(right.attend, "attend") + "\nSCALE",
        ("check(attend)", ["check"]),
        "def attend(*arguments):\n    return None",
        "1 / 0",
        "def alignment_scores(query, keys):\n    raise NotImplementedError",
        "def soft_lookup(q)\n    return q",
    )
    report = examine_own(path)
    found = by_name(report)
    points = {e.name: e.points for e in load_topic(TOPIC).exercises.values()}
    assert found["softmax"]["mistake"] == known.name
    assert found["softmax"]["score"] < points["softmax"]
    assert found["attend"]["score"] == points["attend"]
    assert found["alignment_scores"]["score"] == 0  # it has no check in the notebook
    assert "ot implemented yet" in found["alignment_scores"]["message"]
    assert found["soft_lookup"]["message"] == "its check did not run to its end"
    assert report["notes"][1:4] == [
        "cell 8: ZeroDivisionError: division by zero",
        "cell 10: SyntaxError: expected ':' (line 1)",
        "check of soft_lookup: NameError: name 'soft_lookup' is not defined",
    ]
    assert report["score"] == sum(exercise["score"] for exercise in found.values())
    assert report["max_score"] == sum(points.values())


def test_cell_that_does_not_end_is_interrupted_and_named(write):
    path = write("import time\ntime.sleep(10**6)")
    report = examine_own(path, seconds=10)
    assert report["notes"][1] == (
        "cell 1: KeyboardInterrupt: it took too long and was interrupted"
    )
    assert report["score"] == 0


def test_what_a_kernel_logs_is_not_told(write, capfd):
    """IPython's own kernel cannot send this text, and says so at length."""
    examine_own(write("print(chr(0xD800))"))
    assert capfd.readouterr() == ("", "")


def test_dead_kernel_is_one_line(write):
    path = write("import os\nos._exit(1)")
    with pytest.raises(NoKernel, match="the kernel stopped before the end of cell 1"):
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
