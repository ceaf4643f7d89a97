"""Results that were rounded, kept from the first call, or to which one was added."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autograder.answers import Answer
from autograder.symptoms.arguments import Returned, find_argument_besides
from autograder.symptoms.outcomes import Outcome, wrong_pairs
from autograder.symptoms.search import find_cause
from autograder.symptoms.structure import KEPT_FROM_THE_FIRST
from autograder.variants import Role

ROLE = {(): Role(call=0)}


def returned_by(given, right=None):
    """Cases of one call each, and what it returned."""
    rights = [np.array([1.2, -2.7, 3.9]), np.array([0.4, 5.5]), np.array([7.1, -8.6])]
    return [
        Outcome(Answer(value=r), Answer(value=np.asarray(given(r))), 1e-5, 1e-6, ROLE)
        for r in right or rights
    ]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (np.floor, "Your values are the right ones rounded down"),
        (np.trunc, "Your values are the right ones without their digits after"),
        (np.rint, "Your values are the right ones rounded to whole numbers"),
        (np.ceil, "Your values are the right ones rounded up"),
    ],
)
def test_rounded_results_are_told(change, says):
    assert find_cause(returned_by(change)).startswith(says)
    assert says not in find_cause(returned_by(lambda x: change(x) + (x > 7)))
    whole = [np.arange(1.0, 4), np.array([4.5, 5.5])]  # two values are rounded: too few
    assert says not in find_cause(returned_by(change, whole))


def test_rounded_divisors_are_told():
    rights = [np.array(1 / np.sqrt(size)) for size in (5, 7, 11, 30)]
    said = find_cause(returned_by(lambda x: 1 / np.floor(1 / x), rights))
    assert said.startswith("One over each of your values is one over the right one, ro")
    assert "rounded" not in find_cause(returned_by(lambda x: 1 / (1 + 1 / x), rights))


def test_what_is_kept_from_the_first_call_is_told():
    rights = [np.tri(size, dtype=bool) for size in (5, 3, 7)]
    said = find_cause(returned_by(lambda _: rights[0], rights))
    assert said == KEPT_FROM_THE_FIRST
    other = returned_by(lambda _: ~rights[0], rights)
    assert find_cause(other) != KEPT_FROM_THE_FIRST
    small = [np.tri(size, dtype=bool) for size in (1, 3, 7)]  # True may be an accident
    kept = returned_by(lambda _: small[0], small)
    assert find_cause(kept) != KEPT_FROM_THE_FIRST
    assert find_cause(returned_by(lambda _: rights[0], rights[:2])) != said


def with_arguments(change):
    """Wrong results of calls with ``X`` and ``W``, which ``change`` was done to."""
    rng, outcomes, wrong = np.random.default_rng(0), [], []
    for rows in (4, 6):
        X, W = rng.standard_normal((rows, 3)), rng.standard_normal((3, 5))
        right = rng.standard_normal((rows, 5))
        pair = Answer(value=right), Answer(value=change(right, X, W))
        outcomes.append(Outcome(*pair, 1e-5, 1e-6, ROLE))
        (found,) = wrong_pairs(outcomes[-1:])
        wrong.append(Returned(found, {"X": X, "W": W}))
    return outcomes, wrong


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda y, X, W: y + X @ W, "Your result is the right one plus `X` @ `W`."),
        (lambda y, X, W: y - X @ W, "Your result is the right one minus `X` @ `W`."),
        (lambda y, X, W: y * W[0], ""),
        (lambda y, X, W: y + 2 * X @ W, ""),
        (lambda y, X, W: y + X @ W + 0.01, ""),
        (lambda y, X, W: y + X[:, :1], ""),
    ],
)
def test_argument_besides_a_right_result_is_told(change, says):
    assert find_argument_besides(*with_arguments(change)) == says


def test_argument_itself_is_told_of_the_right_shape_only():
    outcomes, wrong = with_arguments(lambda y, X, W: y * W[0])
    rows = [replace(one, arrays={"w": one.arrays["W"][0]}) for one in wrong]
    said = find_argument_besides(outcomes, rows)
    assert said == "Your result is the right one times `w`."
    few = [replace(one, arrays={"w": np.ones(5)}) for one in wrong]
    assert find_argument_besides(outcomes, few) == ""
    assert find_argument_besides(outcomes, [*rows[:1], wrong[1]]) == ""


@pytest.mark.filterwarnings("error")
def test_infinite_arguments_are_no_reason_and_warn_of_nothing():
    outcomes, wrong = with_arguments(lambda y, X, W: y + X @ W)
    endless = [np.where(one.arrays["X"] > 0, np.inf, 0.0) for one in wrong]
    rows = [
        replace(one, arrays={"X": X, "W": one.arrays["W"]})
        for one, X in zip(wrong, endless, strict=True)
    ]
    assert find_argument_besides(outcomes, rows) == ""
