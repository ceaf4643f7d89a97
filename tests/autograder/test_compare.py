"""What says quickly whether two values agree says what the one comparison says."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from autograder.compare import agrees, difference

NUMBERS = [0.0, -0.0, 1.0, 1.0 + 5e-6, 1.0 + 5e-4, -1.0, 1e308, -1e308, np.inf, -np.inf]
VALUES = [
    *[np.array([number, 2.0, other]) for number in (0.5, np.nan) for other in NUMBERS],
    *[np.array(number) for number in (*NUMBERS, np.nan)],
    *[np.array([value, True]) for value in (True, False)],
    *[np.array([1, whole]) for whole in (0, 2**62, -(2**62))],
    np.array([1, 2, 2**64 - 1], dtype=np.uint64),
    np.array(1),
    np.array([1.0, 2.0, 1.0], dtype=np.float16),
    np.arange(6.0).reshape(2, 3).T,
    np.arange(6.0).reshape(3, 2),
    np.zeros((0, 3)),
    np.zeros(0, dtype=bool),
    "one",
    "two",
    None,
]
VALUES += [
    [],
    [VALUES[0], VALUES[1]],
    [VALUES[0], VALUES[2]],
    {"a": VALUES[0]},
    {"a": VALUES[1]},
    {"b": VALUES[0]},
]


pytestmark = pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")


@pytest.mark.parametrize(("rtol", "atol"), [(1e-5, 1e-6), (0.0, 0.0)])
def test_two_values_agree_where_no_difference_is_told(rtol, atol):
    for right, given in itertools.product(VALUES, repeat=2):
        told = difference(right, given, rtol, atol)
        assert agrees(right, given, rtol, atol) == (told is None), (right, given)


def test_of_a_single_truth_value_both_are_said():
    assert difference(np.array(True), np.array(False), 0, 0) == "False, expected True"
    assert difference(np.array(False), np.array(True), 0, 0) == "True, expected False"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (np.array(935040.0), "935040"),
        (np.array(5.5e5 + 0.5), "5.5e+05"),
        (np.array(-(2**63)), "-9.22e+18"),
    ],
)
def test_a_count_is_shown_with_all_its_digits(given, shown):
    right = np.array(1.0).astype(given.dtype)
    with np.errstate(all="raise"):
        told = difference(right, given, 0.0, 0.0)
    assert told == f"the value differs; yours is {shown}"
