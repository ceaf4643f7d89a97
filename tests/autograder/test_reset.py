"""An exercise goes back to its stub, and nothing is lost."""

from __future__ import annotations

import json

import pytest

from autograder.__main__ import main
from tests.autograder.conftest import TOPIC

MINE = "def softmax(scores):  # für später\n    return scores\n"


@pytest.fixture
def notebook(solved, tmp_path):
    path = tmp_path / f"{TOPIC}.ipynb"
    data = solved(softmax=MINE)
    for cell in data["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "x"}]
            cell["execution_count"] = 7
    path.write_text(json.dumps(data))
    return path


def cells(path_or_data):
    data = path_or_data
    if not isinstance(data, dict):
        data = json.loads(data.read_text(encoding="utf-8"))
    return {
        cell["metadata"].get("nbgrader", {}).get("grade_id") or number: cell
        for number, cell in enumerate(data["cells"])
    }


def test_stub_is_back_and_everything_else_is_as_it_was(notebook, master, capsys):
    before = json.loads(notebook.read_text())
    assert main(["reset", str(notebook), "softmax"]) == 0
    after = json.loads(notebook.read_text(encoding="utf-8"))
    assert {**after, "cells": []} == {**before, "cells": []}
    old, new = cells(before), cells(after)
    assert "".join(new["softmax"]["source"]) == cells(master)["softmax"]["source"]
    assert [name for name in new if new[name] != old[name]] == [
        "softmax",
        "check-softmax",
    ]
    for name in ("softmax", "check-softmax"):
        assert new[name]["outputs"] == []
        assert new[name]["execution_count"] is None
        assert new[name]["metadata"] == old[name]["metadata"]


def test_each_answer_is_kept_in_a_file_of_its_own(notebook, capsys):
    first = notebook.read_text()
    main(["reset", str(notebook), "softmax"])
    kept = notebook.with_name(f"{TOPIC}.softmax.1.py")
    assert str(kept) in capsys.readouterr().out
    assert kept.read_text(encoding="utf-8") == MINE
    notebook.write_text(first.replace("return scores", "return 2 * scores"))
    main(["reset", str(notebook), "softmax"])
    assert kept.read_text(encoding="utf-8") == MINE
    second = notebook.with_name(f"{TOPIC}.softmax.2.py")
    assert "2 * scores" in second.read_text(encoding="utf-8")


def test_stub_is_left_alone(notebook, capsys):
    main(["reset", str(notebook), "softmax"])
    content, files = notebook.read_bytes(), sorted(notebook.parent.iterdir())
    capsys.readouterr()
    assert main(["reset", str(notebook), "softmax"]) == 0
    assert "nothing was changed" in capsys.readouterr().out
    assert notebook.read_bytes() == content
    assert sorted(notebook.parent.iterdir()) == files


@pytest.mark.parametrize(
    ("file", "content", "exercise", "words"),
    [
        ("missing.ipynb", None, "softmax", "No such file"),
        ("none.ipynb", '{"nbformat": 4, "cells": []}', "softmax", "it has none"),
        ("bad.ipynb", '{"nbformat": 4, "cells": [3]}', "softmax", "damaged"),
        (f"{TOPIC}.ipynb", None, "softmaxx", "it has alignment_scores, softmax"),
    ],
)
def test_bad_input_is_one_line_and_changes_nothing(
    notebook, capsys, file, content, exercise, words
):
    path = notebook.with_name(file)
    if content is not None:
        path.write_text(content)
    before = {file: file.read_bytes() for file in notebook.parent.iterdir()}
    assert main(["reset", str(path), exercise]) == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1
    assert words in said[0]
    assert {f: f.read_bytes() for f in notebook.parent.iterdir()} == before
