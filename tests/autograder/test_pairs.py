"""Two slips at once are told as the two that they are, and nothing untrue is told."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.answers import answer, decode
from autograder.exercise import load_topic
from autograder.expected import expect, public_seeds
from autograder.judge import judge

TOPIC = load_topic("qkv_projections")
EXERCISE = TOPIC.exercises["similarity"]
SEEDS = public_seeds(EXERCISE)
EXPECTED = expect(TOPIC, EXERCISE, SEEDS)
MISTAKES = {m.name: m for m in TOPIC.mistakes("similarity")}

SECOND = {
    "times 3.": lambda result: 3 * result,
    "wrong sign": lambda result: -result,
    "plus 1.": lambda result: result + 1,
    "transposed": lambda result: result.T,
    "reverse order": lambda result: result[::-1],
}


def report(implementation):
    given = [
        decode(answer(case, implementation, seed))
        for case, seed in zip(EXERCISE.cases, SEEDS, strict=True)
    ]
    return judge(EXERCISE, given, EXPECTED)


def both(first, second):
    """A version with a slip of the bank, and a second one in its result."""

    def similarity(*arguments):
        return second(first(*arguments))

    return similarity


def inputs():
    """Queries and keys that no case of the exercise uses."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((3, 4)), rng.standard_normal((5, 4))


@pytest.mark.parametrize("second", SECOND)
@pytest.mark.parametrize("first", MISTAKES)
def test_what_is_said_of_two_slips_is_true(first, second):
    found = report(both(MISTAKES[first].implementation, SECOND[second]))
    if not found.message.startswith("Your answer is the one that a known mistake"):
        return  # one slip alone, or an error, explains it: other tests look at these
    named = [m for m in MISTAKES.values() if m.hint in found.message]
    assert named
    told = [says for says in SECOND if says in found.message]
    made = SECOND[second](MISTAKES[first].implementation(*inputs()))
    assert any(
        np.allclose(SECOND[says](m.implementation(*inputs())), made)
        for m in named
        for says in told
    )


def test_most_pairs_of_slips_are_explained():
    explained = []
    for first in MISTAKES.values():
        for second in SECOND.values():
            found = report(both(first.implementation, second))
            failed = [case for case in found.cases if not case.passed]
            if failed and not any("was raised" in case.message for case in failed):
                explained.append(found.message != "")
    assert len(explained) > 40
    assert np.mean(explained) > 0.9


def test_mistake_that_explains_most_of_the_failing_cases_is_told_as_a_part():
    unscaled = next(m for n, m in MISTAKES.items() if "scale" in n)
    calls = []

    def similarity(Q, K):
        calls.append(1)
        if len(calls) == 2:  # in this case something that no mistake explains
            return np.random.default_rng(3).standard_normal((len(Q), len(K)))
        return unscaled.implementation(Q, K)

    found = report(similarity)
    failed = sum(not case.passed for case in found.cases)
    assert found.mistake is None
    assert found.message.startswith(f"In {failed - 1} of the {failed} cases that fail")
    assert unscaled.hint in found.message


def test_noise_is_no_pair():
    noise = np.random.default_rng(0)

    def similarity(Q, K):
        return noise.standard_normal((len(Q), len(K)))

    assert report(similarity).message == ""


def test_mistake_is_not_blamed_for_errors_that_are_raised_as_asked():
    def similarity(Q, K):
        if Q.shape[-1] != K.shape[-1]:
            raise ValueError("widths differ")
        return MISTAKES["keys_not_transposed"].implementation(Q, K)

    assert "not raised as it should be" not in report(similarity).message


@pytest.mark.parametrize("factor", [1e200, 1e-200, 5e-324, -1e154, 1e9, 1e308])
def test_no_factor_is_too_large_to_be_judged(factor, caplog):
    right = TOPIC.reference("similarity")
    found = report(lambda Q, K: factor * right(Q, K))
    assert found.score < found.max_score
    assert not caplog.records


def test_explanation_that_fails_costs_no_marks(monkeypatch, caplog):
    def fail(*_):
        raise ZeroDivisionError

    monkeypatch.setattr("autograder.diagnosis.find_cause", fail)
    right = TOPIC.reference("similarity")
    found = report(lambda Q, K: right(Q, K) if len(Q) > 4 else -right(Q, K))
    assert 0 < found.score < found.max_score
    assert found.message == ""
    assert "no reason" in caplog.text
