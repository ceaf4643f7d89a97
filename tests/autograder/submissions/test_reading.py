"""What of a submission is read, and how it is told which chapter it is."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path

import pytest

from autograder.files import Unusable
from autograder.notebooks import (
    MAX_WRITTEN,
    METADATA_KEY,
    chapter_of,
    parse_notebook,
    read_notebook,
)
from autograder.submissions.cells import as_handed_in
from autograder.submissions.chapters import chapter_in
from autograder.submissions.submitted import read, students
from classroom.submissions import submission
from tests.autograder.conftest import TOPIC, code_cell


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b"\xff\xfe{\x00}\x00", "not UTF-8"),
        (b'{"cells": [', "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "no notebook"),
        (b"{}", "no notebook"),
        (b'{"nbformat": 3, "worksheets": []}', "not of format 4"),
        (b'{"nbformat": "\\u001b[31m4", "cells": []}', "not of format 4"),
        (b'{"nbformat": ' + b"[" * 900 + b"]" * 900 + b', "cells": []}', "format 4"),
        (b'{"nbformat": 4, "cells": null}', "no list of cells"),
        (json.dumps({"nbformat": 4, "cells": [{}] * 100_000}).encode(), "cells"),
    ],
)
def test_what_is_no_notebook_is_refused_with_a_reason(content, reason):
    with pytest.raises(Unusable, match=reason) as refused:
        parse_notebook(content)
    assert str(refused.value).isprintable()


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.ipynb")
    with pytest.raises(Unusable, match="pipe.ipynb is not a plain file"):
        read_notebook(tmp_path / "pipe.ipynb")
    (tmp_path / "endless.ipynb").symlink_to("/dev/zero")
    with pytest.raises(Unusable, match="not a plain file"):
        read_notebook(tmp_path / "endless.ipynb")


def as_bytes(data):
    return json.dumps(data).encode()


def test_what_cells_showed_does_not_count_towards_the_size(master):
    data = submission(master, {})
    picture = {"image/png": "A" * (MAX_WRITTEN + 1)}
    data["cells"].append(code_cell("x"))
    data["cells"][-1]["outputs"] = [{"output_type": "display_data", "data": picture}]
    parse_notebook(as_bytes(data))
    data["cells"][-1]["source"] = ["#" * (MAX_WRITTEN // 2)] * 3
    with pytest.raises(Unusable, match="10 MB without its outputs"):
        parse_notebook(as_bytes(data))


@pytest.mark.parametrize(
    "name", ["masking", "Copy of masking", "masking (1)", "masking-Copy1"]
)
def test_a_copy_without_metadata_is_of_the_chapter_that_it_is_named_after(name):
    assert chapter_of({"cells": []}, Path(f"{name}.ipynb")) == "masking"


def test_the_chapter_of_a_notebook_is_told_from_what_it_holds(master):
    assert chapter_in(master, "masking") == TOPIC  # its metadata say so
    bare = [{"cell_type": "code", "source": ["def causal_mask(n):\n", "  1"]}]
    assert chapter_in({"cells": bare}, TOPIC) == "masking"
    assert chapter_in({"cells": [code_cell("x"), 3]}, TOPIC) is None
    both = {**master, "cells": [*master["cells"], *bare]}
    for chapter in (TOPIC, "masking"):  # something of it is there
        assert chapter_in(both, chapter) == chapter


@pytest.mark.parametrize(
    ("names", "taken"),
    [
        (["masking final.ipynb", "notes.ipynb"], "masking final.ipynb"),
        (["Masking-Copy1.ipynb", "b.ipynb"], "Masking-Copy1.ipynb"),
        (["old.ipynb", "scaling.ipynb", "masking (2).ipynb"], "masking (2).ipynb"),
        (["scaling.ipynb", "multi_head.ipynb"], None),
        (["a.ipynb", "b.ipynb"], None),
        (["masking.ipynb.txt", "b.ipynb"], "masking.ipynb.txt"),
        (["masking.ipynb.json", "b.ipynb"], "masking.ipynb.json"),
        (["MASKING.IPYNB", "b.ipynb"], "MASKING.IPYNB"),
        (["homework/masking.ipynb", "homework/b.ipynb"], "homework/masking.ipynb"),
        (["masking.pdf", "b.txt"], None),
        ([], None),
    ],
)
def test_of_several_notebooks_the_best_named_is_taken_and_said(tmp_path, names, taken):
    folder = tmp_path / "ada" / "masking"
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(name)
    found = read(tmp_path, "ada", "masking")
    assert found.content.decode() == (taken or "")
    if taken is None:
        there = f"; found {', '.join(sorted(names))}" if names else ""
        assert found.unusable == f"no notebook masking.ipynb was submitted{there}"
    else:
        assert found.note.startswith(f"the notebook was named {taken}; not taken: ")
        assert all(name.split("/")[-1] in found.note for name in names)


@pytest.mark.parametrize(
    ("names", "taken", "note"),
    [
        (
            {TOPIC: False, f"{TOPIC}-Copy1": False, f"{TOPIC} solved": True},
            f"{TOPIC} solved",
            f"the notebook was named {TOPIC} solved.ipynb; "
            f"not taken: {TOPIC}.ipynb, {TOPIC}-Copy1.ipynb",
        ),
        (
            {TOPIC: True, f"{TOPIC}-Copy1": True},
            TOPIC,
            f"not taken: {TOPIC}-Copy1.ipynb",
        ),
        (
            {TOPIC: False, "notes": True, "scaling": True},
            TOPIC,
            "not taken: notes.ipynb, scaling.ipynb",
        ),
    ],
)
def test_of_copies_the_one_with_work_is_examined(tmp_path, master, names, taken, note):
    folder = tmp_path / "ada" / TOPIC
    folder.mkdir(parents=True)
    for name, has_work in names.items():
        data = copy.deepcopy(master)
        if has_work:
            cell = next(c for c in data.cells if c.metadata.get(METADATA_KEY))
            cell.source += "\n# mine"
        data.metadata["called"] = name
        (folder / f"{name}.ipynb").write_text(json.dumps(data))
    found = read(tmp_path, "ada", TOPIC)
    assert json.loads(found.content)["metadata"]["called"] == taken
    assert found.note == note


def test_what_nobody_looks_at_is_dropped(master):
    data = submission(master, {})
    small = len(as_bytes(data))
    bulk = [{}] * 100_000
    data["more"] = data["metadata"]["more"] = bulk
    cell = data["cells"][2]
    cell["outputs"] = cell["id"] = cell["metadata"]["tags"] = bulk
    cell["metadata"]["nbgrader"] = {"grade_id": "y" * 1_000_000, "points": bulk}
    data["cells"] += bulk[:5] + [{**cell, "cell_type": bulk, "attachments": bulk}]
    held = as_handed_in(master, data, {}).cells
    assert len(repr(held)) < 2 * small
    sources = [cell["source"] for cell in master["cells"]]
    assert [cell.source for cell in held[: len(sources)]] == sources


def test_files_of_python_beside_a_notebook_are_read(tmp_path, master, right):
    mine = "from helpers import attend\nimport numpy as np, torch"
    data = submission(master, {**right, "attend": mine})
    folder = tmp_path / "ada" / TOPIC
    folder.mkdir(parents=True)
    (folder / f"{TOPIC}.ipynb").write_text(json.dumps(data))
    without = read(tmp_path, "ada", TOPIC)
    (folder / "package").mkdir()
    helper = "import package.core, __init__\nattend = None\n"
    for name in ("helpers.py", "not_named.py", "no name.py"):
        (folder / name).write_text(helper)
    for name in ("package/core.py", "package/__init__.py"):
        (folder / name).write_text("1\n" if "core" in name else "")
    (folder / "numpy.py").symlink_to("/etc/passwd")
    found = read(tmp_path, "ada", TOPIC)
    assert found.modules == (
        ("helpers.py", helper),
        ("package/__init__.py", ""),
        ("package/core.py", "1\n"),
    )
    assert found.note == (
        "used as well: helpers.py, package/__init__.py, package/core.py"
    )
    assert found.digest != without.digest


def test_a_name_with_letters_in_two_parts_is_refused(tmp_path):
    """Else a copy of the course would make another student of the same one."""
    for name in ("M\u00fcller", "Mu\u0308ller"):
        (tmp_path / name).mkdir()
    usable, refused = students(tmp_path)
    assert usable == ["M\u00fcller"]
    assert "rename the folder" in refused["Mu\u0308ller"]
