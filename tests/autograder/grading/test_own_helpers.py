"""What is wrong with a function that other answers call costs them too, and is said."""

from __future__ import annotations

import pytest

from tests.autograder.conftest import code_cell, scores

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


SOFTMAX = (
    "def softmax(scores):\n"
    "    e = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
    "    return e / e.sum(axis=-1, keepdims=True)\n"
)
# To see what happens without the maximum: this overflows.
NAIVE = (
    "def softmax(scores):\n"
    "    e = np.exp(scores)\n"
    "    return e / e.sum(axis=-1, keepdims=True)\n"
)
ANEW = (
    "Your answer calls your own `softmax`, which a cell of yours below its check "
    "defines anew: remove or rename that definition first"
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


# Defined anew below its check ---------------------------------------------------------


def with_cells(data, *sources, below="check-softmax"):
    """A submission with cells of the student's below one with this grade id."""
    ids = [
        cell["metadata"].get("nbgrader", {}).get("grade_id") for cell in data["cells"]
    ]
    place = ids.index(below) + 1
    data["cells"][place:place] = map(code_cell, sources)
    return data


@pytest.mark.parametrize(
    "cells",
    [
        [NAIVE],
        [
            "naive = lambda e: np.exp(e) / np.exp(e).sum()",
            "softmax = naive",
        ],
        ["from math import exp as softmax"],
        [f"def softmax(e):\n    return e\nsoftmax(3)\n{NAIVE}"],
        [SOFTMAX, NAIVE],
        [NAIVE, "raise_here", "%%script false\nsoftmax = 1"],
    ],
    ids=["a def", "another name", "imported", "several", "after a copy", "and others"],
)
def test_answer_that_calls_what_a_later_cell_defines_anew_names_it(
    examined, solved, cells
):
    report = examined(with_cells(solved(softmax=SOFTMAX, attend=CALLS), *cells))
    softmax, attend = report_on(report, "softmax"), report_on(report, "attend")
    assert (softmax["score"], softmax["message"]) == (softmax["max_score"], "")
    assert attend["score"] < attend["max_score"]
    assert attend["message"].startswith(ANEW)
    assert attend["own_helper"]


def test_what_looks_like_a_known_mistake_is_said_of_the_later_definition(
    examined, solved
):
    report = examined(with_cells(solved(softmax=SOFTMAX, attend=CALLS), NAIVE))
    found = report_on(report, "attend")
    assert found["mistake"] == "overflows_for_long_queries"
    first = f"{ANEW}, since it may be all that is wrong here. With that definition: You"
    assert found["message"].startswith(first)
    # Renamed, as the report asks, it is right.
    renamed = NAIVE.replace("softmax", "naive")
    report = examined(with_cells(solved(softmax=SOFTMAX, attend=CALLS), renamed))
    assert report["score"] == report["max_score"]


@pytest.mark.parametrize(
    "cells",
    [
        [f"# the same once more\n{SOFTMAX.replace('e /', 'e  /')}"],
        [NAIVE, SOFTMAX],
        [f"old = softmax\n{NAIVE}", "softmax(np.ones(3))", "softmax = old"],
        [f"%%script false\n{NAIVE}"],
        [
            "def scratch():\n    softmax = np.exp\n    return softmax",
            "[softmax for softmax in (1, 2)]",
        ],
    ],
    ids=["a copy", "put back", "kept aside", "never run", "names of its own"],
)
def test_what_leaves_the_function_as_it_was_is_not_said_to_change_it(
    examined, solved, cells
):
    wrong = CALLS.replace("/ np.sqrt(len(q))", "* 3 + np.sin(X @ q)")
    report = examined(with_cells(solved(softmax=SOFTMAX, attend=wrong), *cells))
    found = report_on(report, "attend")
    assert found["score"] < found["max_score"]
    assert "Your answer calls" not in found["message"]


@pytest.mark.parametrize(
    "below", ["attend", "check-attend"], ids=["below the answer", "below its check"]
)
def test_only_a_cell_above_the_later_check_can_have_changed_it(examined, solved, below):
    data = with_cells(solved(softmax=SOFTMAX, attend=CALLS), NAIVE, below=below)
    found = report_on(examined(data), "attend")
    is_above = below == "attend"
    assert (found["score"] < found["max_score"]) == is_above
    assert (ANEW in found["message"]) == is_above


def test_another_function_of_that_name_beside_an_answer_is_its_own(examined, solved):
    attend = f"{NAIVE}\n\n{CALLS}"
    report = examined(with_cells(solved(softmax=SOFTMAX, attend=attend), SOFTMAX))
    found = report_on(report, "attend")
    assert found["score"] < found["max_score"]
    assert "Your answer calls" not in found["message"]


def test_function_beside_another_answer_is_defined_anew_for_later_ones(
    examined, solved
):
    attend = f"{NAIVE}\n\ndef attend(q, X):\n    return {{}}"
    lookup = (
        "def soft_lookup(query, keys, values, temperature):\n"
        "    return softmax(keys @ query / temperature) @ values * 2\n"
    )
    report = examined(solved(softmax=SOFTMAX, attend=attend, soft_lookup=lookup))
    assert ANEW in report_on(report, "soft_lookup")["message"]


THROUGH_ATTEND = (
    "def soft_lookup(query, keys, values, temperature=1.0):\n"
    "    if not temperature > 0 or len(keys) != len(values):\n"
    "        raise ValueError(f'{temperature}, {len(keys)}, {len(values)}')\n"
    "    if len(query) != keys.shape[1]:\n"
    "        raise ValueError(f'{query.shape} and {keys.shape} do not fit')\n"
    "    return attend(query / temperature, keys)[1] @ values\n"
)


@pytest.mark.parametrize("place", ["softmax", "attend"])
def test_definition_that_matters_through_an_answer_between_is_named(
    examined, solved, place
):
    """Whether the answer between was examined with it, and was wrong, or before it."""
    answers = {"softmax": SOFTMAX, "attend": CALLS, "soft_lookup": THROUGH_ATTEND}
    right = examined(solved(**answers))
    assert right["score"] == right["max_score"]
    data = with_cells(solved(**answers), NAIVE, below=f"check-{place}")
    report = examined(data)
    attend = report_on(report, "attend")
    assert (attend["score"] < attend["max_score"]) == (place == "softmax")
    message = report_on(report, "soft_lookup")["message"]
    assert message.startswith(ANEW)
    assert ("your own `attend`, which lost" in message) == (place == "softmax")


def test_later_definition_that_costs_nothing_is_not_mentioned(examined, solved):
    other = SOFTMAX.replace("scores", "x")
    report = examined(with_cells(solved(softmax=SOFTMAX, attend=CALLS), other))
    assert report["score"] == report["max_score"]
    assert {exercise["message"] for exercise in report["exercises"]} == {""}
