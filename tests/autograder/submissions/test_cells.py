"""What each cell of a notebook is, told from its text and its names."""

from __future__ import annotations

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell

from autograder.submissions.cells import Role, as_handed_in
from tests.autograder.conftest import code_cell

NAMES = ("softmax", "attend")
STUB = "def softmax(x):\n    raise NotImplementedError"


@pytest.fixture(scope="module")
def released():
    """A small release: a setup, a demonstration, two exercises and their checks."""
    notebook = nbformat.v4.new_notebook()

    def add(source, tag, **nbgrader):
        metadata = {"tags": [tag], "nbgrader": nbgrader}
        notebook.cells.append(new_code_cell(source, metadata=metadata))

    add("import numpy as np", "setup", grade_id="setup-1", locked=True)
    add("def shown(x): return x\nN = len(shown(1))", "demo", grade_id="demo-1")
    for name in NAMES:
        stub = STUB.replace("softmax", name)
        add(stub, "exercise", grade_id=name, solution=True)
        add(f"check({name})", "check", grade_id=f"check-{name}", grade=True)
    return notebook


def roles(released, *cells):
    made = [c if isinstance(c, dict) else code_cell(c) for c in cells]
    return as_handed_in(released, {"cells": made}, NAMES).cells


@pytest.mark.parametrize(
    ("cell", "role", "exercises"),
    [
        ("import numpy as np", Role.TEXT, ()),  # it has run already
        ("import numpy as np\nnp.seterr(all='raise')", Role.ADDED, ()),
        (STUB, Role.STUB, ()),
        (code_cell(STUB, grade_id="attend"), Role.STUB, ()),
        (STUB + "  # I do not know", Role.EXERCISE, ("softmax",)),
        ("class attend:\n    pass", Role.EXERCISE, ("attend",)),
        ("async def attend(): pass", Role.EXERCISE, ("attend",)),
        ("softmax = np.exp", Role.EXERCISE, ("softmax",)),
        ("softmax == np.exp", Role.ADDED, ()),
        ("if True:\n    def softmax(x): pass", Role.ADDED, ()),
        (code_cell("def mine(x): pass", grade_id="softmax"), Role.EXERCISE, NAMES[:1]),
        (code_cell("def attend(): pass", grade_id="softmax"), Role.EXERCISE, NAMES[1:]),
        ("def attend(): pass\ndef softmax(): pass", Role.EXERCISE, NAMES),
        ("check(attend)", Role.CHECK, ()),
        ("# now\ncheck( attend );  # all of it", Role.CHECK, ()),
        ("check(attend)\nprint(1)", Role.ADDED, ()),
        ("check(my_attend)", Role.ADDED, ()),
        (new_markdown_cell("def softmax(x): pass"), Role.TEXT, ()),
        ("def shown(x): return x\nN = len(shown(1))", Role.TEXT, ()),
    ],
)
def test_text_and_names_say_what_a_cell_is(released, cell, role, exercises):
    (found,) = roles(released, cell)
    assert (found.role, found.exercises) == (role, exercises)


def test_a_demonstration_counts_where_something_uses_what_it_defines(released):
    demo = released.cells[1].source
    assert roles(released, demo, "shown(1)")[0].role is Role.DEMO
    assert roles(released, demo, "N + 1")[0].role is Role.TEXT  # it is computed


def test_the_released_setup_runs_again_only_below_something_of_the_students(released):
    setup = released.cells[0].source
    cells = roles(released, setup, setup, "%reset -f", setup)
    expected = [Role.TEXT, Role.TEXT, Role.ADDED, Role.SETUP]
    assert [cell.role for cell in cells] == expected


def test_an_exercise_is_asked_for_below_its_last_check_and_nowhere_else(released):
    cells = roles(
        released,
        "check(softmax)",
        "def softmax(x): pass\ncheck(softmax)\ncheck(attend)",
        "'''\n  check(softmax)'''",
        "for f in (softmax, attend):\n    check(f)",
    )
    assert [cell.asks for cell in cells] == [(), ("softmax", "attend"), (), ()]
