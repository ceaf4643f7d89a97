"""Cells that look at what demonstrations make, which grading does not run."""

from __future__ import annotations

import pytest

from autograder.submissions.demonstrations import (
    import_as_demonstrations_do,
    looks_at_one,
    made_by_demonstrations,
)
from autograder.submissions.rebuild import rebuild
from classroom.submissions import submission
from tests.autograder.conftest import code_cell


def test_names_of_demonstrations_are_those_that_nothing_above_binds(master, right):
    data = submission(master, right)
    data["cells"].append(code_cell("for X in range(3): pass"))
    rebuilt = rebuild(master, data)
    end = len(rebuilt.notebook.cells)
    made = made_by_demonstrations(rebuilt, end - 1)
    assert {"q", "X"} <= made
    assert made.isdisjoint({"np", "softmax", "attend"})
    assert made_by_demonstrations(rebuilt, end) == made - {"X"}


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


def test_what_an_answer_needs_of_the_imports_of_a_demonstration_is_imported(
    master, right
):
    rebuilt = rebuild(master, submission(master, right))
    before = [cell.source for cell in rebuilt.notebook.cells]
    import_as_demonstrations_do(rebuilt)
    assert [cell.source for cell in rebuilt.notebook.cells] == before
    timed = f"def now():\n    return time.time()\n\n{right['softmax']}"
    rebuilt = rebuild(master, submission(master, {**right, "softmax": timed}))
    import_as_demonstrations_do(rebuilt)
    (added,) = [c for c in rebuilt.notebook.cells if c.metadata.role == "student"]
    assert added.source == "import time"
