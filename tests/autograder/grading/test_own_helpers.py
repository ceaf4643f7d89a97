"""A mistake in a function that other answers call: both are charged, and it is said."""

from __future__ import annotations

import pytest

from tests.autograder.conftest import scores

# No mistake of the bank: the sum over everything, and a tenth of the shift.
WRONG = (
    "def softmax(scores):\n"
    "    e = np.exp(scores - scores.max() / 10)\n"
    "    return e / e.sum() / 2 + 0.125\n"
)
OTHER = (
    "def alignment_scores(q, X):\n"
    "    if q.shape[-1] != X.shape[-1]:\n"
    "        raise ValueError(f'{q.shape} and {X.shape} do not fit')\n"
    "    return np.cos(X @ q) + 7\n"
)
CALLS = (
    "def attend(q, X):\n    a = softmax(X @ q / np.sqrt(len(q)))\n    return a @ X, a\n"
)
BOTH = (
    "def attend(q, X):\n    a = softmax(alignment_scores(q, X))\n    return a @ X, a\n"
)
SAYS = (
    "Your answer calls your own `softmax`, which lost points itself: correct that first"
)


def report_on(report, name):
    return next(e for e in report["exercises"] if e["name"] == name)


@pytest.mark.parametrize(
    "attend",
    [
        CALLS,
        CALLS.replace("softmax(", "weights(") + "\n\nweights = lambda e: softmax(e)\n",
    ],
    ids=["itself", "through a helper"],
)
def test_wrong_answer_that_calls_a_wrong_one_names_it(examined, solved, attend):
    report = examined(solved(softmax=WRONG, attend=attend))
    found = scores(report)
    assert found["attend"] < report_on(report, "attend")["max_score"]
    assert SAYS in report_on(report, "attend")["message"]
    assert SAYS not in report_on(report, "softmax")["message"]
    # With the right one it is right, so nothing else was wrong with it.
    mended = report_on(examined(solved(attend=attend)), "attend")
    assert (mended["score"], mended["message"]) == (mended["max_score"], "")


def test_right_answer_that_looks_like_a_known_mistake_names_the_function(
    examined, solved
):
    helper = (
        "def alignment_scores(q, X):\n"
        "    if q.shape[-1] != X.shape[-1]:\n"
        "        raise ValueError(f'{q.shape} and {X.shape} do not fit')\n"
        "    return X @ q\n"
    )
    report = examined(solved(alignment_scores=helper, attend=BOTH))
    found = report_on(report, "attend")
    assert found["mistake"] is not None
    assert "Your answer calls your own `alignment_scores`" in found["message"]


def test_several_are_named(examined, solved):
    report = examined(solved(softmax=WRONG, alignment_scores=OTHER, attend=BOTH))
    named = "your own `alignment_scores` and `softmax`, which lost points themselves"
    assert named in report_on(report, "attend")["message"]


@pytest.mark.parametrize(
    "attend",
    [
        # its own function of that name, and another name for one of a library
        f"{WRONG}\n\n{CALLS}",
        CALLS.replace(
            "    a =", "    from scipy.special import softmax\n    a = 1.5 *"
        ),
        # wrong, without that function
        "def attend(q, X):\n    a = np.cos(X @ q)\n    return a @ X, a\n",
    ],
    ids=["defined anew", "imported", "not called"],
)
def test_answer_that_does_not_call_it_is_wrong_by_itself(examined, solved, attend):
    report = examined(solved(softmax=WRONG, attend=attend))
    found = report_on(report, "attend")
    assert found["score"] < found["max_score"]
    assert "Your answer calls" not in found["message"]


def test_stub_is_not_said_to_call_anything(examined, master, solved):
    stub = next(
        cell["source"]
        for cell in master["cells"]
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "attend"
    )
    report = examined(solved(softmax=WRONG, attend=stub))
    assert report_on(report, "attend")["message"] == "not implemented yet"


def test_code_that_is_nested_too_deeply_costs_no_report(examined, solved):
    deep = f"def attend(q, X):\n    return {'(' * 90}softmax(q){')' * 90}\n"
    report = examined(solved(softmax=WRONG, attend=deep))
    assert report_on(report, "attend")["score"] == 0
