"""An answer that has another name than its stub is told so, in grading as well."""

from __future__ import annotations

import pytest

from autograder.cells import without_file

RIGHT = (
    "def {}(scores):\n"
    "    e = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
    "    return e / e.sum(axis=-1, keepdims=True)\n"
)
STUB = "def softmax(scores):\n    raise NotImplementedError\n\n\n"
NOT_YET = "Not implemented yet. Replace the line that raises NotImplementedError. "


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        (
            STUB + RIGHT.format("softmx"),
            NOT_YET + "If softmx is your answer: it has to be called softmax, as in "
            "the stub, which is still there.",
        ),
        (STUB + RIGHT.format("normalised"), NOT_YET + "If normalised is your answer"),
        (STUB + RIGHT.format("f").replace("scores", "x"), "not implemented yet"),
        (
            RIGHT.format("softmx"),
            "softmax is not defined. If softmx is your answer: it has to be called "
            "softmax, as in the stub.",
        ),
        (RIGHT.format("f").replace("scores", "x"), "softmax is not defined."),
        (  # what cannot be written out again takes no mark away
            STUB + f"def helper():\n    return 0x{'f' * 4000}",
            "not implemented yet",
        ),
        (STUB + "def helper(x):\n    return f'{x}\u00a0m'", "not implemented yet"),
        (
            RIGHT.format("softmax").replace("np.exp(", "nq.exp("),
            "NameError: A name is not defined: a typo",
        ),
        (
            "def softmax(scores)\n    return scores",
            "its cell stopped with SyntaxError: expected ':' (line 1)",
        ),
    ],
)
def test_an_answer_under_another_name_is_told_so(examined, solved, cell, says):
    report = examined(solved(softmax=cell))
    softmax = next(e for e in report["exercises"] if e["name"] == "softmax")
    assert softmax["score"] == 0
    assert softmax["message"].startswith(says)


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (
            "SyntaxError: expected ':' (<ipython-input-3-0f>, line 2)",
            "SyntaxError: expected ':' (line 2)",
        ),
        ("SyntaxError: '(' was never closed (1234567.py, line 12)", None),
        ("ModuleNotFoundError: No module named 'helper'", None),
        ("ValueError: a file (mine.py, line 2) of my own", None),
    ],
)
def test_a_cell_is_not_called_by_the_name_of_its_file(error, shown):
    expected = shown or error.replace("1234567.py, ", "")
    assert without_file(error) == expected
