"""``mine`` gives the reader's own function where it passes its check, and says so."""

from __future__ import annotations

import copy
import inspect
import json

import numpy as np
import pytest
from nbclient import NotebookClient
from nbformat import from_dict
from nbformat.v4 import new_code_cell, new_notebook

from autograder import mine as module
from autograder.mine import NotSolved, mine
from autograder.record import RECORD
from classroom.submissions import submission
from solutions.simplified_attention import softmax
from tests.autograder.conftest import TOPIC

OWN = """
HALF = 0.5


def softmax(scores):
    'written by the reader'
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return HALF * e / (HALF * e.sum(-1, keepdims=True))
"""
WRONG = "def softmax(scores):\n    'written by the reader'\n    return scores"


@pytest.fixture(scope="module")
def worked(master):
    """The notebook of a reader who has solved one exercise, run and saved."""
    notebook = from_dict(submission(master, {"softmax": OWN}))
    notebook.cells = [c for c in notebook.cells if c.metadata.get("tags") != ["demo"]]
    return NotebookClient(notebook, kernel_name="python3").execute()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return here


@pytest.fixture
def without_solutions(monkeypatch):
    monkeypatch.setattr(module, "self_study", lambda: False)


def save(notebook, path):
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(notebook), encoding="utf-8")


@pytest.mark.parametrize("place", ["", TOPIC, f"../{TOPIC}"])
def test_a_saved_answer_that_passed_is_given(worked, folder, capsys, place):
    save(worked, (folder / place).resolve() / f"{TOPIC}.ipynb")
    answer = mine("softmax")
    assert capsys.readouterr().out == f"softmax: yours, from {TOPIC}.ipynb\n"
    assert answer.__doc__ == "written by the reader"
    assert inspect.getsource(answer).strip() == OWN[OWN.index("def") :].strip()
    scores = np.array([[0.0, np.log(3.0)]])
    np.testing.assert_allclose(answer(scores), [[0.25, 0.75]])


def edited(notebook):
    """With another constant beside the answer."""
    for cell in notebook.cells:
        cell.source = cell.source.replace("HALF = 0.5", "HALF = 0.25")


def with_fewer_points(notebook):
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            output.get("metadata", {}).get(RECORD, {})["score"] = 1


@pytest.mark.parametrize("change", [edited, with_fewer_points])
def test_what_was_edited_since_or_has_not_all_points_is_not(
    worked, folder, capsys, change
):
    notebook = copy.deepcopy(worked)
    change(notebook)
    save(notebook, folder / f"{TOPIC}.ipynb")
    assert mine("softmax") is softmax
    assert capsys.readouterr().out == "softmax: the book's\n"


def test_a_file_that_is_no_notebook_is_passed_over(folder):
    (folder / f"{TOPIC}.ipynb").write_text("no JSON")
    assert mine("softmax") is softmax


def test_without_solutions_the_stand_in_of_the_caller_is_given(
    folder, without_solutions, capsys
):
    assert mine("softmax", otherwise=np.tanh) is np.tanh
    assert "a stand-in" in capsys.readouterr().out
    with pytest.raises(NotSolved, match=f"your softmax.*chapter {TOPIC}"):
        mine("softmax")


def test_in_a_kernel_the_answer_there_is_given_if_it_passes(folder):
    """Otherwise the book's; and what is missing is said in one line."""
    cells = [
        "import numpy as np\nfrom autograder.mine import mine",
        OWN,
        "print(mine('softmax') is softmax)",
        WRONG,
        "print(mine('softmax') is softmax)",
        "from autograder import mine as module\nmodule.self_study = lambda: False",
        "mine('soft_lookup')",
    ]
    notebook = new_notebook(cells=[new_code_cell(cell) for cell in cells])
    client = NotebookClient(notebook, kernel_name="python3", allow_errors=True)
    outputs = [cell.outputs for cell in client.execute().cells]
    assert outputs[2][0].text == "softmax: yours\nTrue\n"
    assert outputs[4][0].text == "softmax: the book's\nFalse\n"
    (error,) = outputs[6]
    assert error.traceback == [
        f"mine: this needs your soft_lookup: solve it in the chapter {TOPIC}"
    ]
