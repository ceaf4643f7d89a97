"""Answers are compared by value, and explained without giving the value away."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from autograder.answers import Answer, answer, decode
from autograder.exercise import Exercise, Mistake, Topic
from autograder.judge import disagreement, expect, judge, public_seeds, refuse

double = Exercise("double")


@double.case(title="doubles", points=3)
def doubles(double, rng):
    return double(rng.standard_normal((2, 3)))


@double.case(title="of nothing is a ValueError", points=1)
def of_nothing(double, rng):
    return double(None)


def right(x):
    if x is None:
        raise ValueError("nothing to double")
    return 2 * x


def tripled(x):
    return 3 * x


class Bank(Topic):
    def reference(self, exercise):
        return right

    def mistakes(self, exercise):
        return [Mistake("tripled", "double", "You tripled it.", tripled)]


TOPIC = Bank("arithmetic", {"double": double})


@pytest.fixture
def judged():
    expected = expect(TOPIC, double, public_seeds(double))

    def run(implementation):
        given = [
            decode(answer(case, implementation, seed))
            for case, seed in zip(double.cases, expected.seeds, strict=True)
        ]
        return judge(double, given, expected)

    return run


def test_right_answer_earns_everything_and_is_accused_of_nothing(judged):
    report = judged(lambda x: right(x))
    assert (report.score, report.max_score) == (4, 4)
    assert report.mistake is None
    assert report.message == ""


def test_known_mistake_is_named_with_its_hint(judged):
    report = judged(lambda x: x + x + x)
    assert report.score == 0
    assert report.mistake == "tripled"
    assert report.message == "You tripled it."


def test_mistake_is_not_named_when_one_case_differs_from_it(judged):
    def other(x):
        if x is None:
            raise KeyError
        return 3 * x

    assert judged(other).mistake is None


def test_always_raising_the_right_error_earns_nothing(judged):
    def always(x):
        raise ValueError

    report = judged(always)
    assert report.score == 0
    assert "depends on the data" in report.cases[1].message


def test_stub_is_said_to_be_missing(judged):
    def stub(x):
        raise NotImplementedError

    report = judged(stub)
    assert report.message == "not implemented yet"
    assert report.score == 0


def test_refusal_gives_zero_and_the_reason():
    report = refuse(double, "because")
    assert (report.score, report.max_score, report.message) == (0, 4, "because")


def between(one, other, **tolerance):
    exercise = Exercise("any")
    exercise.case(title="t", **tolerance)(lambda f, rng: None)
    wrap = lambda v: v if isinstance(v, Answer) else Answer(value=v)  # noqa: E731
    return disagreement(exercise.cases[0], wrap(one), wrap(other))


A = np.linspace(-1, 1, 6).reshape(2, 3)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (A, A.copy()),
        (A, A.astype(np.float32)),
        (A, np.asfortranarray(A)),
        (A, A + 1e-7),
        (np.array(2.0), np.array(2)),  # a whole number for a real one
        ([A, A], [A, A]),
        (np.array([np.nan, np.inf]), np.array([np.nan, np.inf])),
        (Answer(raised="ValueError", detail="a"), Answer(raised="ValueError")),
        (None, None),
    ],
)
def test_equal_answers_agree(one, other):
    assert between(one, other) is None


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (A, A.T, "shape (3, 2), expected (2, 3)"),
        (A, A + 1e-3, "6 of 6 values differ; largest error 0.001"),
        (A, np.where(A > 0.9, np.nan, A), "NaN at [1, 2]"),
        (A, A > 0, "truth values, expected real numbers"),
        (A > 0, (A > 0).astype(int), "integers, expected truth values"),
        (np.array(2), np.array(2.0), "real numbers, expected integers"),
        (A, [A], "1 results, expected an array of shape (2, 3)"),
        ([A, A], [A], "1 results, expected 2"),
        ([A, A], [A, A + 1], "result 2: 6 of 6"),
        (A, None, "nothing (None), expected an array"),
        ({"a": A}, {"b": A}, "the names differ: a, b"),
        (A, Answer(raised="TypeError", detail="x"), "TypeError was raised: x"),
        (Answer(raised="ValueError"), A, "expected a ValueError, but nothing"),
        (Answer(raised="ValueError"), Answer(raised="KeyError"), "but KeyError"),
        (A, Answer(unreadable="a Thing"), "a Thing"),
        (Answer(raised="ValueError"), Answer(unreadable="a Thing"), "a Thing"),
    ],
)
def test_differences_are_described(one, other, words):
    assert words in between(one, other)


def test_small_quantities_can_be_compared_relatively():
    one, other = np.array(1e-7), np.array(2e-7)
    assert between(one, other) is None
    assert between(one, other, atol=0.0)


def test_largest_error_is_found_where_it_is():
    other = A.copy()
    other[0, 1] += 0.25
    other[1, 0] -= 0.5
    assert between(A, other) == "2 of 6 values differ; largest error 0.5 at [1, 0]"


def test_torch_and_numpy_are_judged_alike(judged):
    report = judged(
        lambda x: right(x) if x is None else 2 * torch.tensor(x, dtype=torch.float32)
    )
    assert report.score == 4
