"""Answers are compared by value, and explained without giving the value away."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.answers import Answer, answer, decode
from autograder.exercise import Exercise, Mistake, Topic
from autograder.expected import expect, public_seeds
from autograder.judge import judge
from autograder.origin import Origin
from autograder.rows import disagreement

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


def test_mistake_is_named_when_besides_an_error_is_missing(judged):
    def other(x):
        if x is None:
            raise KeyError
        return 3 * x

    report = judged(other)
    assert report.mistake == "tripled"
    assert "is not raised" in report.message


def test_error_is_a_mistakes_only_if_it_says_the_same():
    def raises(text):
        def raising(x):
            raise KeyError(text)

        return raising

    class Raising(Bank):
        def mistakes(self, exercise):
            return [Mistake("keyed", "double", "You took a wrong key.", raises("a"))]

    expected = expect(Raising("arithmetic", {"double": double}), double, [1, 2])
    for text, named in (("a", "keyed"), ("b", None)):
        given = [
            decode(answer(case, raises(text), seed))
            for case, seed in zip(double.cases, expected.seeds, strict=True)
        ]
        assert judge(double, given, expected).mistake == named


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


def between(one, other, **tolerance):
    exercise = Exercise("any")
    exercise.case(title="t", **tolerance)(lambda f, rng: None)
    wrap = lambda v: v if isinstance(v, Answer) else Answer(value=v)  # noqa: E731
    found = disagreement(exercise.cases[0], wrap(one), wrap(other))
    return found and found.words


A = np.linspace(-1, 1, 6).reshape(2, 3)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (A, A.copy()),
        (A, A.astype(np.float32)),
        (A, A + 1e-7),
        (np.array(2.0), np.array(2)),  # a whole number for a real one
        ([A, A], [A, A]),
        (np.array([np.nan, np.inf]), np.array([np.nan, np.inf])),
    ],
)
def test_equal_answers_agree(one, other):
    assert between(one, other) is None


N = np.array(3)
HERE = Origin("a + b", 3, "`a` is None")


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (A, A.T, "shape (3, 2), expected (2, 3)"),
        (A, A + 1e-3, "6 of 6 values differ; at [0, 0] yours is -0.999"),
        (A, np.where(A > 0.9, np.nan, A), "at [1, 2] yours is NaN"),
        (A > 0, A < 9, "3 of 6 values differ; at [0, 0] yours is True"),
        (np.array(2.0), np.array(3.0), "the value differs; yours is 3"),
        (np.array(True), np.array(False), "False, expected True"),
        (np.array(1.0), np.array(935040.0), "yours is 935040"),  # all digits of it
        (np.array(1.0), np.array(5.5e5 + 0.5), "yours is 5.5e+05"),
        (np.array(1), np.array(-(2**63)), "yours is -9.22e+18"),
        (A, A > 0, "truth values, expected real numbers"),
        (np.array(2), np.array(2.0), "real numbers, expected integers"),
        (A, [A], "a list or tuple of 1, expected an array of shape (2, 3)"),
        ([A, A], [A], "a list or tuple of 1, expected a list or tuple of 2"),
        ({"w": [N, N]}, {"w": [N, N, N, N]}, "w: a list or tuple of 4, expected a"),
        ([A, A], [A, A + 1], "part 2: 6 of 6"),
        (A, A.astype("f2"), "Yours are float16, not float64"),
        (A, None, "nothing (None), expected an array"),
        ({"a": A}, {"b": A}, "the names differ: a missing, 1 too many"),
        (
            A,
            Answer(raised="TypeError", origin=HERE, detail="x"),
            "TypeError was raised in your line 3, `a + b`: x. There, `a` is None.",
        ),
        (
            Answer(raised="ValueError"),
            Answer(raised="TypeError", origin=HERE),
            "but TypeError was raised in your line 3, `a + b`. There, `a` is None.",
        ),
        (Answer(raised="ValueError"), A, "expected a ValueError, but nothing"),
        (Answer(raised="ValueError"), Answer(raised="KeyError"), "but KeyError"),
        (A, Answer(unreadable="a Thing"), "a Thing"),
    ],
)
def test_differences_are_described(one, other, words):
    assert words in between(one, other)


def test_small_quantities_can_be_compared_relatively():
    one, other = np.array(1e-7), np.array(2e-7)
    assert between(one, other) is None
    assert between(one, other, atol=0.0)


@pytest.mark.parametrize(
    "probe",
    [
        np.zeros((2, 3)),
        {"x": np.zeros((2, 3))},
        [np.zeros((2, 3))] * 2,
        np.zeros((2, 3), int),
        np.zeros(3),
        None,
    ],
)
def test_what_is_said_depends_on_shape_and_kind_of_what_is_expected_alone(probe):
    """Two references, right nowhere: the words are the same, so they tell neither."""
    rng = np.random.default_rng(0)
    one, two = rng.standard_normal((2, 2, 3)) * [[[3]], [[7]]]
    assert between(one, probe) == between(two, probe)
    assert between([one, one], probe) == between([two, two], probe)
    assert between({"a": one}, probe) == between({"a": two}, probe)
    one, two = rng.integers(2, 9, (2, 2, 3))
    assert between(one, probe) == between(two, probe)
