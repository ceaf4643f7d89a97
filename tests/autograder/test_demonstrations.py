"""Cells that look at what demonstrations make, which grading does not run."""

from __future__ import annotations

import pytest

from autograder.demonstrations import (
    CodeCell,
    looks_at_one,
    made_by_demonstrations,
    taken_over,
)
from autograder.submissions.rebuild import rebuild, take_over_demonstrations
from classroom.submissions import submission
from tests.autograder.conftest import code_cell


def test_names_of_demonstrations_are_those_that_nothing_above_binds(master, right):
    data = submission(master, right)
    data["cells"].append(code_cell("for X in range(3): pass"))
    rebuilt = rebuild(master, data)
    cells = rebuilt.code()
    end = len(cells)
    made = made_by_demonstrations(cells, end - 1)
    assert {"q", "X"} <= made
    assert made.isdisjoint({"np", "softmax", "attend"})
    assert made_by_demonstrations(cells, end) == made - {"X"}


@pytest.mark.parametrize(
    ("error", "found"),
    [
        ("NameError: name 'X' is not defined", True),
        ("NameError: name 'X' is not defined. Did you mean: 'x'?", True),
        ("NameError: name 'x' is not defined", False),
        ("ValueError: NameError: name 'X' is not defined", False),
        (None, False),
    ],
)
def test_only_a_missing_name_of_theirs_is_one(error, found):
    assert looks_at_one(error, frozenset({"X", "q"})) is found


DEMONSTRATION = """\
import time
from math import exp, log
SIZE = (3, -4)
RATE, NAMES = 0.5, ["a", "b"]
rng = np.random.default_rng(0)
X = rng.normal(size=SIZE)
def outer(x):
    return inner(x) + len(SIZE)
@wrap
def inner(x):
    return exp(x)
class Model:
    def forward(self, x):
        return outer(X)
outer(X)
def answer(x):
    return x
"""


@pytest.mark.parametrize(
    ("source", "taken"),
    [
        ("print(1)", ""),
        ("def mine(): return time.time()", "import time"),
        ("log(2)", "from math import exp, log"),
        ("print(NAMES)", "RATE, NAMES = (0.5, ['a', 'b'])"),
        ("print(X, rng)", ""),  # these are computed
        (
            "print(outer(2))",
            "from math import exp, log\n\nSIZE = (3, -4)\n\n"
            "def outer(x):\n    return inner(x) + len(SIZE)\n\n"
            "@wrap\ndef inner(x):\n    return exp(x)",
        ),
        ("def inner(x): return x\ninner(1)", ""),  # its own
        ("answer(1)", ""),  # it has the name of an exercise
        ("def f(outer): return outer(1)", ""),  # a name of its own
        ("def f(:\n    time", ""),
    ],
)
def test_what_a_cell_needs_of_a_demonstration_is_taken_over(source, taken):
    cells = [CodeCell("x = 1"), CodeCell(DEMONSTRATION, True), CodeCell(source)]
    assert taken_over(cells, {"answer"}) == ({1: taken} if taken else {})


def test_the_models_of_a_demonstration_bring_what_they_need():
    cells = [CodeCell(DEMONSTRATION, True), CodeCell("Model()")]
    (piece,) = taken_over(cells, ()).values()
    assert "class Model" in piece
    assert "def inner" in piece
    assert "import time" not in piece


def test_names_that_a_student_set_above_stay():
    mine = CodeCell("def inner(x):\n    return x")
    cells = [mine, CodeCell(DEMONSTRATION, True), CodeCell("inner(outer(1))")]
    (piece,) = taken_over(cells, ()).values()
    assert "def outer" in piece
    assert "def inner" not in piece


def test_a_later_demonstration_sets_a_name_anew():
    demos = [CodeCell("n = 1", True), CodeCell("n = 2", True)]
    assert taken_over([*demos, CodeCell("print(n)")], ()) == {0: "n = 1", 1: "n = 2"}


def test_what_an_answer_needs_of_the_imports_of_a_demonstration_is_imported(
    master, right
):
    rebuilt = rebuild(master, submission(master, right))
    before = [cell.source for cell in rebuilt.notebook.cells]
    take_over_demonstrations(rebuilt, right)
    assert [cell.source for cell in rebuilt.notebook.cells] == before
    timed = f"def now():\n    return time.time()\n\n{right['softmax']}"
    rebuilt = rebuild(master, submission(master, {**right, "softmax": timed}))
    take_over_demonstrations(rebuilt, right)
    (added,) = [c for c in rebuilt.notebook.cells if c.metadata.role == "taken over"]
    assert added.source == "import time"
