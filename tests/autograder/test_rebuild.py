"""Only what a student may write is taken from a submission."""

from __future__ import annotations

import copy
import json
import os

import pytest

from autograder.exercise import Exercise
from autograder.rebuild import (
    Unusable,
    chapter_of,
    parse_submission,
    reachable_source,
    read_submission,
    rebuild,
)
from tests.autograder.conftest import TOPIC, code_cell


def sources(rebuilt, role=None):
    return [
        cell.source
        for cell in rebuilt.notebook.cells
        if role is None or cell.metadata.role == role
    ]


def find(data, grade_id):
    return next(
        cell
        for cell in data["cells"]
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == grade_id
    )


def test_untouched_notebook_gives_back_the_master(master):
    rebuilt = rebuild(master, copy.deepcopy(master))
    assert sources(rebuilt) == [cell.source for cell in master.cells]
    assert rebuilt.notes == []
    assert rebuilt.missing == []


def test_answers_are_taken_by_grade_id(master, solved):
    data = solved(softmax="def softmax(scores): return 1")
    rebuilt = rebuild(master, data)
    assert rebuilt.answers["softmax"] == "def softmax(scores): return 1"


def test_changed_deleted_and_moved_locked_cells_change_nothing(master, solved):
    honest = rebuild(master, solved())
    data = solved()
    find(data, "check-softmax")["source"] = "7"
    find(data, "check-softmax")["metadata"]["nbgrader"]["points"] = 1000
    find(data, "check-attend")["metadata"]["tags"] = ["skip-execution"]
    data["cells"].remove(find(data, "setup-1"))
    data["cells"].reverse()
    data["metadata"]["kernelspec"] = {"name": "bash", "display_name": "x"}
    rebuilt = rebuild(master, data)
    assert sources(rebuilt) == sources(honest)
    assert rebuilt.notebook.metadata == master.metadata


def test_added_cell_stays_behind_the_cell_it_followed(master, solved):
    data = solved()
    place = data["cells"].index(find(data, "softmax"))
    data["cells"].insert(place + 1, code_cell("helper = 1"))
    rebuilt = rebuild(master, data)
    number = sources(rebuilt).index("helper = 1")
    assert rebuilt.notebook.cells[number].metadata.role == "student"
    assert rebuilt.notebook.cells[number - 1].metadata.exercise == "softmax"


def test_added_cell_cannot_pose_as_a_check(master, solved):
    data = solved()
    data["cells"].append(
        code_cell("100", grade=True, grade_id="more", points=100, locked=True)
    )
    rebuilt = rebuild(master, data)
    added = rebuilt.notebook.cells[-1]
    assert added.source == "100"
    assert added.metadata == {"role": "student"}


def test_copied_check_cell_is_dropped(master, solved):
    data = solved()
    data["cells"] += [copy.deepcopy(find(data, "check-softmax")) for _ in range(3)]
    assert sources(rebuild(master, data)) == sources(rebuild(master, solved()))


def test_exercise_retyped_as_markdown_still_counts(master, solved):
    data = solved()
    cell = find(data, "softmax")
    cell["cell_type"] = "markdown"
    rebuilt = rebuild(master, data)
    assert rebuilt.answers["softmax"] == cell["source"]


def test_first_of_several_answers_that_is_not_the_stub_counts(master, solved):
    data = copy.deepcopy(master)
    for text in ("a = 1", "a = 2"):
        cell = copy.deepcopy(find(data, "softmax"))
        cell["source"] = text
        data["cells"].append(cell)
    rebuilt = rebuild(master, data)
    assert rebuilt.answers["softmax"] == "a = 1"
    assert any("3 cells have its grade id" in note for note in rebuilt.notes)


def test_missing_exercise_cell_is_noted(master, solved):
    data = solved()
    data["cells"].remove(find(data, "attend"))
    rebuilt = rebuild(master, data)
    assert rebuilt.missing == ["attend"]
    assert any("attend" in note for note in rebuilt.notes)


def test_students_markdown_is_shown_word_for_word(master, solved):
    data = solved()
    text = "<script>alert(1)</script>\n![x](http://far.away/x.png)"
    data["cells"].append({"cell_type": "markdown", "metadata": {}, "source": text})
    last = rebuild(master, data).notebook.cells[-1]
    assert last.cell_type == "markdown"
    assert all(line.startswith("    ") for line in last.source.splitlines())


@pytest.mark.parametrize(
    "cell",
    [
        None,
        3,
        {},
        {"cell_type": "code"},
        {"cell_type": "code", "source": 7},
        {"cell_type": "code", "source": [1, 2]},
        {"cell_type": ["code"], "source": "x"},
        {"cell_type": "code", "source": "x", "metadata": None},
        {"cell_type": "code", "source": "x", "metadata": {"nbgrader": 3}},
        {
            "cell_type": "code",
            "source": "x",
            "metadata": {"nbgrader": {"grade_id": []}},
        },
        {"cell_type": "code", "source": "x", "id": {}, "metadata": {}},
    ],
)
def test_malformed_cells_do_no_harm(master, solved, cell):
    data = solved()
    data["cells"].insert(0, cell)
    rebuilt = rebuild(master, data)
    assert rebuilt.answers == rebuild(master, solved()).answers


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe{\x00}\x00", "not UTF-8"),
        (b'{"cells": [', "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "no notebook"),
        (b"{}", "no notebook"),
        (b'{"nbformat": 3, "worksheets": []}', "format 3"),
        (b'{"nbformat": 99, "cells": []}', "format 99"),
        (b'{"nbformat": 4, "cells": null}', "no list of cells"),
        (json.dumps({"nbformat": 4, "cells": [{}] * 100_000}).encode(), "cells"),
    ],
)
def test_what_is_no_notebook_is_refused_with_a_reason(content, reason):
    with pytest.raises(Unusable, match=reason):
        parse_submission(content)


def test_byte_order_mark_is_read(solved):
    content = b"\xef\xbb\xbf" + json.dumps(solved()).encode()
    assert parse_submission(content)["nbformat"] == 4


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.ipynb")
    with pytest.raises(Unusable, match="pipe.ipynb is not a plain file"):
        read_submission(tmp_path / "pipe.ipynb")
    (tmp_path / "endless.ipynb").symlink_to("/dev/zero")
    with pytest.raises(Unusable, match="not a plain file"):
        read_submission(tmp_path / "endless.ipynb")


def test_too_large_a_file_is_not_read(tmp_path):
    path = tmp_path / "large.ipynb"
    with path.open("wb") as file:
        file.truncate(2**30)
    with pytest.raises(Unusable, match="1024 MB"):
        read_submission(path)


def test_chapter_is_found_in_the_metadata_else_in_the_name(master, tmp_path):
    assert chapter_of(master, tmp_path / "renamed.ipynb") == TOPIC
    assert chapter_of({"metadata": {}}, tmp_path / "masking.ipynb") == "masking"
    assert chapter_of({"metadata": 3}, tmp_path / "masking.ipynb") == "masking"


def test_helpers_that_an_answer_uses_are_found(master, solved):
    data = solved(softmax="def softmax(scores): return outer(scores)")
    data["cells"].insert(0, code_cell("def outer(x): return inner(x)\nunused = F.a"))
    data["cells"].insert(0, code_cell("%%time\nfrom torch import inner"))
    source = reachable_source(rebuild(master, data), "softmax")
    assert "from torch import inner" in source
    assert "unused" not in source


F = "torch.nn.functional"
FORBIDDEN = {  # an answer that is fine by itself, and cells before and behind it
    "defined anew in a later cell": (
        "def attend(x): return x",
        [],
        [f"def attend(x): return {F}.scaled_dot_product_attention(x, x, x)"],
    ),
    "bound anew by its name as text": (
        "def attend(x): return x",
        [],
        [f"globals().update({{'attend': {F}.scaled_dot_product_attention}})"],
    ),
    "everything imported": (
        "def attend(x, f=scaled_dot_product_attention): return f(x, x, x)",
        [f"from {F} import *"],
        [],
    ),
    "a magic that runs code": (
        "def attend(x): return _f(x, x, x)",
        [f"%time _f = {F}.scaled_dot_product_attention"],
        [],
    ),
    "a magic with options": (
        "def attend(x): return _f(x, x, x)",
        [f"%timeit -n 1 -r 1 _f = {F}.scaled_dot_product_attention"],
        [],
    ),
    "the value of a magic": (
        "def attend(x): return _f(x, x, x)",
        [f"_f = %time {F}.scaled_dot_product_attention"],
        [],
    ),
    "a prompt": (
        "def attend(x): return _f(x, x, x)",
        [f"In [1]: _f = {F}.scaled_dot_product_attention"],
        [],
    ),
}


@pytest.mark.parametrize("way", FORBIDDEN)
def test_ways_to_a_forbidden_call(master, solved, way):
    answer, before, behind = FORBIDDEN[way]
    exercise = Exercise("attend", forbidden=("scaled_dot_product_attention",))
    data = solved(attend=answer)
    place = data["cells"].index(find(data, "attend")) + 1
    data["cells"][place:place] = [code_cell(source) for source in behind]
    data["cells"][:0] = [code_cell(source) for source in before]
    source = reachable_source(rebuild(master, data), "attend")
    assert exercise.forbidden_calls(source) == ["scaled_dot_product_attention"]


def test_what_is_run_after_the_check_does_not_matter(master, solved):
    _, _, behind = FORBIDDEN["defined anew in a later cell"]
    data = solved(attend="def attend(x): return x")
    data["cells"] += [code_cell(source) for source in behind]
    assert "scaled" not in reachable_source(rebuild(master, data), "attend")


def test_a_helper_beside_the_answer_to_another_exercise(master, solved):
    helper = f"_f = {F}.scaled_dot_product_attention"
    data = solved(
        softmax=f"{helper}\ndef softmax(s): return s", attend="def attend(x): _f(x)"
    )
    source = reachable_source(rebuild(master, data), "attend")
    assert helper in source
    assert "def softmax" not in source


def test_a_comparison_with_the_library_in_a_cell_of_ones_own_is_fine(master, solved):
    data = solved(attend="def attend(x): return x")
    data["cells"].append(
        code_cell(
            f"expected = {F}.scaled_dot_product_attention(x, x, x)\n"
            "print('attend', torch.allclose(attend(x), expected))\n"
            "%timeit scaled_dot_product_attention(x, x, x)"
        )
    )
    exercise = Exercise("attend", forbidden=("scaled_dot_product_attention",))
    source = reachable_source(rebuild(master, data), "attend")
    assert exercise.forbidden_calls(source) == []
