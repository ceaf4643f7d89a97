"""A name that only the student's session had is told with the place that has it."""

from __future__ import annotations

import pytest

from tests.autograder.conftest import code_cell

RIGHT = (
    "def {}(scores):\n"
    "    e = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
    "    return e / e.sum(axis=-1, keepdims=True)\n"
)
SCORES = (
    "def alignment_scores({}):\n"
    "    if q.shape[-1] != X.shape[-1]:\n"
    "        raise ValueError(f'{{q.shape}} and {{X.shape}} do not fit')\n"
    "    return X @ q / np.sqrt(len(q))\n"
)


def message_on(report, name):
    return next(e["message"] for e in report["exercises"] if e["name"] == name)


@pytest.mark.parametrize(
    ("below", "told"),
    [
        ("def exponentials(x):\n    return np.exp(x)", True),
        ("from numpy import exp as exponentials", True),
        ("def other():\n    exponentials = np.exp", False),
    ],
)
def test_a_name_that_is_set_below_the_check_is_told_so(examined, solved, below, told):
    data = solved(softmax=RIGHT.format("softmax").replace("np.exp(", "exponentials("))
    data["cells"].append(code_cell(below))
    report = examined(data)
    softmax = next(e for e in report["exercises"] if e["name"] == "softmax")
    assert softmax["message"].startswith("NameError: ")
    assert ("`exponentials` is set in a cell below" in softmax["message"]) == told


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        (
            "from einops import reduce, rearrange\n"
            + RIGHT.format("softmax").replace("np.exp(", "reduce("),
            "`reduce` comes from einops, which is not installed where your work is",
        ),
        (
            RIGHT.format("softmax").replace("np.exp(", "X.take("),
            "`X` is made by a demonstration of the book. These are not run in grading",
        ),
        (  # a constant, in a demonstration below the check
            RIGHT.format("softmax").replace("np.exp(", "np.exp(outside + "),
            "`outside` is made by a demonstration of the book. These are not run in "
            "grading: compute it from your arguments",
        ),
        (
            "mine = X.take\n" + RIGHT.format("softmax").replace("np.exp(", "mine("),
            "`mine` is set above, in a line that did not run through here",
        ),
    ],
)
def test_a_name_that_was_there_in_the_students_session_is_no_typo(
    examined, solved, cell, says
):
    report = examined(solved(softmax=cell))
    softmax = next(e for e in report["exercises"] if e["name"] == "softmax")
    assert softmax["message"].startswith(f"NameError: {says}")


@pytest.mark.parametrize("below", ["", "q = np.ones(4)"])
@pytest.mark.parametrize("name", ["query", "vector"])
def test_a_renamed_parameter_is_told_before_who_else_has_the_old_name(
    examined, solved, name, below
):
    data = solved(alignment_scores=SCORES.format(f"{name}, X"))
    data["cells"].append(code_cell(below))
    report = examined(data)
    whose = "set in a cell below the check" if below else "made by a demonstration"
    assert message_on(report, "alignment_scores").startswith(
        f"NameError: `q` is not defined in `alignment_scores`. Its parameter `{name}` "
        f"may be meant. `q` itself is {whose}"
    )


def test_a_value_below_the_check_is_to_be_computed_or_moved(examined, solved):
    data = solved(softmax=RIGHT.format("softmax").replace("np.exp(", "np.exp(size + "))
    data["cells"].append(code_cell("size = 0"))
    says = message_on(examined(data), "softmax")
    assert says.startswith("NameError: `size` is set in a cell below the check")
    assert "Compute it from your arguments or" in says
    assert says.endswith("move that cell above the check.")


def test_a_cell_magic_that_keeps_an_answer_to_itself_is_named(examined, solved):
    timed = "%%timeit -n1 -r1\n" + RIGHT.format("softmax")
    calls = (
        "def attend(q, X):\n    a = softmax(X @ q / len(q) ** 0.5)\n    return a @ X, a"
    )
    report = examined(solved(softmax=timed, attend=calls))
    for name in ("softmax", "attend"):
        assert message_on(report, name).startswith(
            "NameError: `softmax` is defined in a cell that starts with `%%timeit`. "
            "That keeps it from all other cells: take that line away."
        )


def test_what_a_demonstration_defines_is_not_taken_for_an_answer(examined, solved):
    """``twelve_queries`` has the parameter of the answer that is not there."""
    uses = "def twelve(X):\n    return twelve_queries(X)"
    report = examined(solved(alignment_scores=uses))
    assert "twelve_queries" not in message_on(report, "alignment_scores")


@pytest.mark.parametrize("right_above", [True, False])
def test_an_answer_that_is_right_below_its_check_alone_is_told_so(
    examined, solved, right_above
):
    wrong = RIGHT.format("softmax").replace("np.exp(", "np.sin(")
    data = solved(softmax=RIGHT.format("softmax") if right_above else wrong)
    data["cells"].append(code_cell(RIGHT.format("softmax")))
    note = "softmax: it is defined again below its check, which does not count"
    assert (note in examined(data)["notes"]) is not right_above
