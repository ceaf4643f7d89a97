"""An answer that reads a value of the notebook is told so before what that gives."""

from __future__ import annotations

import pytest

from classroom.submissions import submission
from tests.autograder.conftest import code_cell

SOFTMAX = (
    "def softmax({}):\n"
    "    e = np.exp({} - scores.max(axis=-1, keepdims=True))\n"
    "    return e / e.sum(axis=-1, keepdims=True)\n"
)
SCORES = (
    "def alignment_scores({}):\n"
    "    if q.shape[-1] != X.shape[-1]:\n"
    "        raise ValueError(f'{{q.shape}} and {{X.shape}} do not fit')\n"
    "    return {}\n"
)
OF_BOOK = "which a demonstration of the book set for its own example: compute it from"
OF_STUDENT = "which a cell of yours set: compute it from your arguments."
MAY_BE_MEANT = "may be meant."


def message_on(report, name):
    return next(e["message"] for e in report["exercises"] if e["name"] == name)


def above(data, name, *sources):
    """The submission with cells of the student's above the answer to an exercise."""
    ids = [c["metadata"].get("nbgrader", {}).get("grade_id") for c in data["cells"]]
    place = ids.index(name)
    data["cells"][place:place] = map(code_cell, sources)
    return data


@pytest.mark.parametrize(
    ("cell", "who"),
    [
        ("", "a demonstration of the book"),
        ("scores = np.ones((2, 3))", "a cell of yours"),
        ("for scores in (np.ones((2, 3)), np.eye(3)):\n    print(scores)", "a cell of"),
    ],
    ids=["of a demonstration", "assigned", "of a loop"],
)
def test_a_misspelt_parameter_is_told_although_the_name_is_there(
    examined, solved, cell, who
):
    data = solved(softmax=SOFTMAX.format("score", "scores"))
    message = message_on(examined(above(data, "softmax", cell)), "softmax")
    assert message.startswith(
        f"`scores` is not a parameter of `softmax`: it is what {who}"
    )
    assert "Its parameter `score` may be meant." in message


def test_what_the_report_says_otherwise_follows_as_it_was(examined, solved):
    """A function without the parameter gives the same, and is told the other half."""
    cell = "scores = []"
    first = above(solved(softmax=SOFTMAX.format("score", "scores")), "softmax", cell)
    unnamed = SOFTMAX.format("*_", "scores")
    without = above(solved(softmax=unnamed), "softmax", cell)
    told, known = (message_on(examined(d), "softmax") for d in (first, without))
    assert known.startswith("AttributeError: A list or a tuple")
    assert told.endswith(f"{MAY_BE_MEANT} With that value: {known}")


def test_advice_on_how_to_search_is_not_repeated_where_a_reason_is_known(
    examined, solved
):
    wrong = SCORES.format("q, X", "np.cos(X @ q) + D")
    data = above(solved(alignment_scores=wrong), "alignment_scores", "D = 4")
    message = message_on(examined(data), "alignment_scores")
    assert message == f"`alignment_scores` uses `D`, {OF_STUDENT}"
    unnamed = wrong.replace("+ D", "+ 4")
    report = examined(solved(alignment_scores=unnamed))
    (unknown,) = (e for e in report["exercises"] if e["name"] == "alignment_scores")
    assert not unknown["reason"]


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ([], f"`alignment_scores` uses `D`, {OF_BOOK}"),
        (["N, D = 3, 4"], f"`alignment_scores` uses `D`, {OF_STUDENT}"),
        (["Z = np.ones((3, 4))", "N, D = Z.shape"], OF_STUDENT),
        (["D = np.ones((3, 4)).shape[1]"], OF_STUDENT),
        (["D = 4", "%%script false\nD = 'never run'"], OF_STUDENT),
    ],
)
def test_a_size_of_an_example_is_told_with_whose_it_is(examined, solved, cells, says):
    wrong = SCORES.format("q, X", "X @ q / np.sqrt(D)")
    data = above(solved(alignment_scores=wrong), "alignment_scores", *cells)
    assert says in message_on(examined(data), "alignment_scores")


@pytest.mark.parametrize("helper", ["above the answer", "beside the answer"])
def test_a_function_that_the_answer_calls_is_read_as_well(examined, solved, helper):
    scaled = "def scaled(e):\n    return e / np.sqrt(D)\n"
    answer = SCORES.format("q, X", "scaled(X @ q)")
    beside = helper == "beside the answer"
    data = solved(alignment_scores=f"{scaled}\n{answer}" if beside else answer)
    data = above(data, "alignment_scores", "" if beside else scaled)
    message = message_on(examined(data), "alignment_scores")
    assert message.startswith(f"`scaled` uses `D`, {OF_BOOK}")


@pytest.mark.parametrize(
    ("cells", "result"),
    [
        (["EPS = 1e-3"], "X @ q + EPS"),
        (["shift = 0.5"], "X @ q + shift"),
        (["LIMIT = 12"], "X @ q + LIMIT"),
        (["base = 12"], "X @ q + base"),
        (["axis = 1"], "(X @ q) * 3 + X.sum(axis=axis)"),
        (["n = 10_000"], "X @ q + n"),
        (["D = 4", "del D\nfrom math import pi as D"], "X @ q + D"),
        (["D = 4", "def D(e):\n    return e"], "D(X @ q) + 7"),
        (["d = lambda e: e"], "d(X @ q) + 7"),
        (["D = 4"], "[D for D in (X @ q,)][0] + 7"),
        (["D = 4\ndef trial(e):\n    return e / D"], "X @ q + 7"),
        (["import math as m", "m = 4"], "X @ q + m"),  # the module is meant
        (["x = np.ones(5)"], "X @ q + x[0]"),  # the parameter is used as well
    ],
)
def test_what_may_be_meant_as_it_is_gets_no_remark(examined, solved, cells, result):
    wrong = SCORES.format("q, X", result)
    data = above(solved(alignment_scores=wrong), "alignment_scores", *cells)
    report = examined(data)
    found = next(e for e in report["exercises"] if e["name"] == "alignment_scores")
    assert found["score"] < found["max_score"]
    for remark in (OF_BOOK, OF_STUDENT, MAY_BE_MEANT, "is not a parameter"):
        assert remark not in found["message"]


def test_a_number_beside_the_answer_is_its_own(examined, solved):
    wrong = "k = 12\n" + SCORES.format("q, X", "X @ q + k")
    message = message_on(examined(solved(alignment_scores=wrong)), "alignment_scores")
    assert "`k`" not in message


def test_a_default_with_the_name_of_its_parameter_is_no_mistake(examined, solved):
    wrong = SCORES.format("q, X, D=D", "X @ q + D")
    data = above(solved(alignment_scores=wrong), "alignment_scores", "D = 4")
    assert OF_STUDENT not in message_on(examined(data), "alignment_scores")


def test_a_letter_in_a_stub_is_not_meant_by_any_word_that_begins_with_it(
    examined, solved
):
    wrong = "def alignment_scores(q, X):\n    return X @ quarter\n"
    data = solved(alignment_scores=wrong)
    data = above(data, "alignment_scores", "quarter = np.ones(8) / 4")
    assert "may be meant" not in message_on(examined(data), "alignment_scores")


def test_a_known_mistake_and_a_right_answer_stay_as_they_are(examined, solved):
    mistake = SCORES.format("q, X", "X @ q * (D == D)")
    report = examined(solved(alignment_scores=mistake))
    found = next(e for e in report["exercises"] if e["name"] == "alignment_scores")
    assert found["mistake"] is not None
    assert "`D`" not in found["message"]
    right = SCORES.format("q, X", "X @ q / np.sqrt(len(q)) * (D == D)")
    report = examined(solved(alignment_scores=right))
    assert report["score"] == report["max_score"]
    assert message_on(report, "alignment_scores") == ""


def test_an_answer_without_arguments_is_not_sent_to_them(examined, solved):
    test = "def break_softmax():\n    return (np.zeros((N, D)),)\n"
    message = message_on(examined(solved(break_softmax=test)), "break_softmax")
    assert "your arguments" not in message


def test_only_the_answer_that_reads_the_value_is_told(examined, master, right):
    answers = {**right, "alignment_scores": SCORES.format("q, X", "X @ q / D")}
    weights = "softmax(alignment_scores(q, X))"
    answers["attend"] = f"def attend(q, X):\n    a = {weights}\n    return a @ X, a"
    report = examined(submission(master, answers))
    assert OF_BOOK in message_on(report, "alignment_scores")
    attend = message_on(report, "attend")
    assert OF_BOOK not in attend
    assert "Your answer calls your own `alignment_scores`" in attend
