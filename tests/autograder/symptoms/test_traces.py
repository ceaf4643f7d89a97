"""Where and how it shows that results are wrong: what is told was done, and no more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from autograder.answers import Answer, answer, decode
from autograder.exercise import Exercise, Topic
from autograder.expected import expect, public_seeds
from autograder.judge import judge
from autograder.symptoms.outcomes import Outcome
from autograder.symptoms.search import LOST, find_cause, find_trace
from autograder.variants import Role

SHAPES = [(4, 6), (3, 4, 5), (6, 8)]


def outcomes(wrong, right=None, shapes=SHAPES, seed=0):
    """A case for each shape, in which a right result was changed."""
    rng = np.random.default_rng(seed)
    made = right or (lambda rng, shape: rng.standard_normal(shape))
    found = []
    for shape in shapes:
        value = made(rng, shape)
        given = wrong(value.copy())
        found.append(
            Outcome(
                Answer(value=value),
                Answer(value=np.asarray(given)),
                1e-5,
                1e-6,
                {(): Role()},
            )
        )
    return found


def weights(rng, shape):
    """Positive numbers that sum to one along the last axis."""
    return rng.dirichlet(np.ones(shape[-1]), shape[:-1])


def hidden(rng, shape):
    """Weights of which some are zero."""
    values = rng.random(shape) + 0.1
    values[..., ::3] = 0.0
    return values / values.sum(axis=-1, keepdims=True)


def odd_entries(x):
    x[..., 1::2] = np.sin(x[..., 1::2])
    return x


def each_row_scaled(x):
    return x * np.random.default_rng(2).uniform(1.5, 3, (*x.shape[:-1], 1))


def second_half(x):
    half = x.shape[-1] - x.shape[-1] // 2
    x[..., half:] = np.sin(x[..., half:])
    return x


def after_the_first_two(x):
    x[..., 2:] = np.cos(x[..., 2:])
    return x


def mixed_up(x):
    """A reshape in the place of a swap of the last two axes."""
    return np.ascontiguousarray(x.swapaxes(-1, -2)).reshape(x.shape)


def rows_mixed_up(x):
    rows = x.reshape(-1, x.shape[-1])
    order = np.random.default_rng(5).permutation(len(rows))
    return rows[order].reshape(x.shape)


def entries_mixed_up(x):
    return np.random.default_rng(5).permuted(x, axis=-1)


def signs(x):
    chosen = np.random.default_rng(3).random(x.shape) < 0.5
    return np.where(chosen, x, -x)


def larger(x):
    return x + np.random.default_rng(4).random(x.shape) + 0.5


def further_from_zero(x):
    return x * (1.5 + np.random.default_rng(4).random(x.shape))


def infinite(x):
    x = x + np.random.default_rng(1).standard_normal(x.shape)
    x[..., 0] = np.nan
    return x


def test_that_a_ranking_has_an_order_says_nothing():
    def ranked(rng, shape):
        return -np.sort(rng.standard_normal(shape), axis=-1)

    wrong = outcomes(lambda x: x**3 + x, ranked)
    assert "in the right order" not in find_trace(wrong)
    wrong = outcomes(lambda x: x**3 + x, ranked, [(7,), (1,), (4,), (6,)])  # one best
    assert "in the right order" not in find_trace(wrong)


def test_that_too_little_is_cut_is_not_said_of_results_without_infinity():
    def cut(rng, shape):
        x = rng.standard_normal(shape)
        return np.where(x > np.sort(x, axis=-1)[..., -2:-1], -np.inf, x)

    found = outcomes(lambda x: x, cut)
    for one in found[1:]:
        one.given.value[...] = np.where(np.isinf(one.right.value), 0.1, one.right.value)
    found[0].given.value[0, 0] = -np.inf
    assert "without NaN or infinity" not in find_trace(found)


@pytest.mark.parametrize(
    ("wrong", "right", "says"),
    [
        (mixed_up, None, "All values are right, but they are in other positions, as"),
        (lambda x: mixed_up(x)[..., None], None, "and in another shape"),
        (rows_mixed_up, None, "rows along the last axis are right, but in another"),
        (entries_mixed_up, None, "Each row along the last axis holds the right values"),
        (signs, None, "right magnitude, but some have the wrong sign"),
        (lambda x: x**3 + x, None, "in the right order: larger"),
        (lambda x: -(x**3) - x, None, "in the opposite order: larger"),
        (
            lambda x: x**3 + 10 * np.arange(len(x)).reshape(-1, *(1,) * (x.ndim - 1)),
            None,
            "in the right order in each row along the last axis",
        ),
        (odd_entries, None, "Along the last axis, only every second entry is wrong, b"),
        (second_half, None, "Along the last axis, only the second half is wrong."),
        (after_the_first_two, None, "the last axis, the beginning is right"),
        (
            lambda x: x * np.arange(1.0, 1 + x.shape[-1]) ** 2,
            None,
            "For each index of the last axis, all values are right up to one factor",
        ),
        (larger, None, "Every wrong value is too large."),
        (further_from_zero, None, "right sign, and its magnitude is too large"),
        (
            lambda x: x + 0.1 * np.random.default_rng(2).random(x.shape),
            weights,
            "must sum to one; yours sum to 1.",
        ),
        (
            lambda x: np.random.default_rng(2).dirichlet(
                np.ones(x.shape[-1]), x.shape[:-1]
            ),
            hidden,
            "None of the values that should be zero is zero",
        ),
        (
            lambda x: np.where(x == 0, np.random.default_rng(2).random(x.shape), x),
            hidden,
            "Only values that should be z",
        ),
        (
            lambda x: np.where(np.arange(x.size).reshape(x.shape) % 5, x, 0.0),
            None,
            "values that are wrong are zero, and all others are right",
        ),
        (infinite, None, "holds values that are NaN, and others that are wrong"),
        (each_row_scaled, None, "Each row along the last axis is right up to one"),
    ],
)
def test_place_of_an_error_is_told(wrong, right, says):
    found = outcomes(wrong, right)
    assert find_cause(found) == ""  # nothing better is known
    assert says in find_trace(found)


@pytest.mark.parametrize("seed", range(40))
def test_noise_is_told_nothing(seed):
    noise = np.random.default_rng(1000 + seed)
    found = outcomes(lambda x: noise.standard_normal(x.shape), seed=seed)
    assert find_cause(found) == find_trace(found) == ""
    found = outcomes(lambda x: noise.standard_normal(()), shapes=[()] * 8, seed=seed)
    assert find_cause(found) == find_trace(found) == ""


def test_relation_of_all_finite_results_says_that_others_are_not():
    def wrong(x):
        return 2 * x if x.shape != SHAPES[0] else x * np.where(x > 0, np.nan, 1.0)

    said = find_trace(outcomes(wrong))
    assert said == (
        "In the results without NaN or infinity: Every value is the right one times 2. "
        f"{LOST}"
    )


def test_infinity_that_is_asked_for_is_not_looked_for():
    def with_infinity(x):
        return np.where(x > 1, -np.inf, x) if x.shape == SHAPES[0] else x

    found = [
        replace(
            one,
            right=Answer(value=with_infinity(one.right.value)),
            given=Answer(value=with_infinity(one.right.value) * 2 + 0.0),
        )
        for one in outcomes(lambda x: x)
    ]
    found[0].given.value[0, 0] += 1
    said = find_trace(found)
    assert said.startswith("In the results without NaN or infinity")
    assert LOST not in said


def both_wrong(second):
    """Cases in which two results are wrong, the second in a way that can be told."""
    rng, found = np.random.default_rng(0), []
    for shape in SHAPES:
        one, two = rng.standard_normal((2, *shape))
        found.append(
            Outcome(
                Answer(value=[one, two]),
                Answer(value=[rng.standard_normal(shape), second(two)]),
                1e-5,
                1e-6,
                {(0,): Role(index=0, count=2), (1,): Role(index=1, count=2)},
            )
        )
    return found


def test_result_that_is_wrong_on_its_own_is_looked_at_first():
    noise = np.random.default_rng(7)
    found = both_wrong(lambda two: noise.standard_normal(two.shape))
    right, given = found[0].right.value, found[0].given.value
    for index in (0, 1):
        alone = [right[0], right[1]]
        alone[index] = given[index]
        some = [replace(found[0], given=Answer(value=alone)), *found[1:]]
        which = ("first", "second")[index]
        assert find_trace(some) == (
            f"Of the two results, the {which} is wrong in some calls in which the "
            "other is right, and never the other way round: look at it first."
        )
    each = [
        replace(found[0], given=Answer(value=[right[0], given[1]])),
        replace(found[0], given=Answer(value=[given[0], right[1]])),
        *found[1:],
    ]
    assert find_trace(each) == ""
    assert find_trace(found[1:]) == ""  # none is wrong alone


def test_relation_of_a_result_that_is_wrong_on_its_own():
    found = both_wrong(lambda two: 2 * two)
    right, given = found[0].right.value, found[0].given.value
    second = replace(found[0], given=Answer(value=[right[0], given[1]]))
    said = find_trace([second, *found[1:]])
    assert said.startswith("Of the two results, the second: Every value is the right o")
    assert said.endswith("and the other is right, so look at it first.)")
    first = replace(found[0], given=Answer(value=[given[0], right[1]]))
    said = find_trace([first, *found[1:]])
    assert said.endswith("wrong as well, also where this one is right.)")
    said = find_trace([first, second, *found[1:]])
    assert said.startswith("Of the two results, the second: ")
    assert said.endswith("wrong as well, also where this one is right.)")


def test_result_that_lost_an_axis_of_size_one_is_told_before_what_follows():
    noise, found = np.random.default_rng(7), []
    for size in (5, 7):
        right = [noise.standard_normal((size, 4)), np.ones((size, 1))]
        weights = noise.dirichlet(np.ones(size))
        given = [right[0][None] * weights[:, None, None], weights]
        roles = {(0,): Role(index=0, count=2), (1,): Role(index=1, count=2)}
        both = Answer(value=right), Answer(value=given)
        found.append(Outcome(*both, 1e-5, 1e-6, roles))
    said = find_trace(found)
    assert said.startswith(
        "Of the two results, the second: Your result has the right s"
    )
    assert "an axis of size one that is missing" in said


def test_relation_of_one_result_says_that_the_other_is_wrong():
    said = find_trace(both_wrong(lambda two: 2 * two))
    assert said.startswith(
        "Of the two results, the second: Every value is the right one times 2. (And "
        "the other is wrong as well"
    )
    noise = np.random.default_rng(7)
    assert find_trace(both_wrong(lambda two: noise.standard_normal(two.shape))) == ""


def test_gradient_beside_a_result_does_not_hide_what_holds_for_the_result():
    rng, found = np.random.default_rng(0), []
    for shape in SHAPES:
        result, gradient = rng.standard_normal((2, *shape))
        found.append(
            Outcome(
                Answer(value=[result, gradient]),
                Answer(value=[-result, rng.standard_normal(shape)]),
                1e-5,
                1e-6,
                {(0,): Role()},
            )
        )
    said = find_trace(found)
    assert said.startswith("In what a call returns: Every value has the wrong sign")


def test_factor_of_each_row_takes_enough_values():
    def rows_of_two(rng, shape):
        return rng.standard_normal((*shape[:-1], 2))

    def one_in_each(rng, shape):
        return np.eye(shape[-1])[rng.integers(0, shape[-1], shape[:-1])]

    says = "Each row along the last axis is right up to one factor"
    assert find_trace(outcomes(each_row_scaled, rows_of_two)).startswith(says)
    few = outcomes(each_row_scaled, rows_of_two, [(2, 2), (3, 2)])
    assert says not in find_trace(few)
    assert says not in find_trace(outcomes(each_row_scaled, one_in_each))

    def nearly(x):
        scaled = each_row_scaled(x)
        scaled.flat[0] *= 1.1
        return scaled

    assert says not in find_trace(outcomes(nearly))

    def padded(rng, shape):
        values = rng.standard_normal(shape)
        values[..., -1, :] = 0.0
        return values

    assert says in find_trace(outcomes(each_row_scaled, padded))
    filled = outcomes(lambda x: each_row_scaled(x) + (x == 0), padded)
    assert says not in find_trace(filled)


def test_ids_that_are_wrong_by_one_are_told():
    def later_ids(rng, shape):
        return 250 + rng.permutation(np.prod(shape)).reshape(shape)

    def one_less(x):
        return np.where(x < 256, x, x - 1)

    said = find_trace(outcomes(one_less, later_ids))
    assert said.startswith("Every value that is wrong is the right one minus 1.")

    def some_more(x):
        return np.where(x == 260, x + 3, one_less(x))

    assert "that is wrong is the right" not in find_trace(
        outcomes(some_more, later_ids)
    )
    few = outcomes(lambda x: np.where(x == 256, x - 1, x), later_ids)
    assert "that is wrong is the right one" not in find_trace(few)


def test_order_of_ids_means_nothing():
    def ids(rng, shape):
        return rng.permutation(np.prod(shape)).reshape(shape)

    assert "right order" not in find_trace(outcomes(lambda x: x**2 + 1, ids))
    said = find_trace(outcomes(lambda x: x**2 + 1, lambda r, s: ids(r, s) + 0.5))
    assert "right order" in said


def test_zeros_of_a_sine_hide_nothing():
    def angles(rng, shape):
        return np.sin(np.arange(shape[-2])[:, None] * rng.random(shape))

    def mixed(rng, shape):
        values = np.sin(rng.standard_normal(shape))
        values[..., ::2, ::3] = 0.0
        return values

    def shaken(x):
        return x + 0.1 + 0.2 * np.random.default_rng(2).random(x.shape)

    noise = np.random.default_rng(3)
    assert "takes part" in find_trace(outcomes(shaken, hidden))
    assert "takes part" in find_trace(outcomes(shaken, angles))  # a whole row is zero
    said = find_trace(outcomes(lambda x: noise.standard_normal(x.shape), mixed))
    assert said.startswith("None of the values that should be zero is zero")
    assert "takes part" not in said


def square(rng, shape):
    """Weights of as many keys as queries."""
    return rng.dirichlet(np.ones(5), (*shape[:-2], 5))


def without_the_diagonal(x):
    x = x * (1 - np.eye(5))
    return x / x.sum(axis=-1, keepdims=True)


def test_zeros_on_the_diagonal_are_told():
    says = "All values {} of the last two axes are zero"
    said = find_trace(outcomes(without_the_diagonal, square))
    assert said.startswith(says.format("on the diagonal"))

    def later(x):
        return np.triu(x + 0.1 * np.random.default_rng(2).random(x.shape), 1)

    said = find_trace(outcomes(later, square))
    assert said.startswith(says.format("on and below the diagonal"))

    def one_more(x):
        x = without_the_diagonal(x)
        x[..., 0, 1] = 0.0
        return x

    def one_less(x):
        x = without_the_diagonal(x)
        x[..., 0, 0] = 0.1
        return x

    for other in (one_more, one_less):
        assert "the diagonal of the last" not in find_trace(outcomes(other, square))


def test_power_may_have_an_infinity_where_the_right_value_is_zero():
    def inverse(x):
        x[..., 0] = 0.0
        return x

    rng = np.random.default_rng(0)
    found = []
    for shape in SHAPES:
        right = inverse(rng.standard_normal(shape))
        with np.errstate(divide="ignore"):
            given = 1 / right
        found.append(Outcome(Answer(value=right), Answer(value=given), 1e-5, 1e-6))
    assert find_cause(found) == "Every value is one over the right one."


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda x: np.sin(x)[0], "Your result has one axis too few"),
        (lambda x: np.sin(x).sum((0, 1)), "Your result has 2 axes too few"),
        (lambda x: np.sin(x)[..., None, :], "right shape but for an axis of size one"),
        (
            lambda x: np.repeat(np.sin(x)[..., None, :], 2, axis=-2),
            "Your result has one axis too many",
        ),
        (
            lambda x: np.sin(x)[..., :-2],
            "the last axis, your result has 2 entries too f",
        ),
        (
            lambda x: np.sin(np.repeat(x, 2, axis=-1)),
            "Along the last axis, your result has another number of entries",
        ),
        (
            lambda x: np.sin(x).mean(-1, keepdims=True) ** 3,
            "a single entry where there",
        ),
    ],
)
def test_shape_that_is_wrong_in_every_case_is_told(wrong, says):
    assert says in find_trace(outcomes(wrong))


def test_few_counts_that_are_all_too_large_are_told():
    counts = [(100, 130), (2000, 2600), (70, 95)]
    pairs = [tuple(map(np.asarray, pair)) for pair in counts]
    assert find_trace(given_for(pairs)) == "Every wrong value is too large."
    pairs = [tuple(map(np.asarray, (float(a), float(b)))) for a, b in counts]
    assert find_trace(given_for(pairs)) == ""


def given_for(pairs):
    return [
        Outcome(Answer(value=right), Answer(value=given), 1e-5, 1e-6)
        for right, given in pairs
    ]


A, B = np.arange(4.0), np.arange(3.0) ** 2


@pytest.mark.parametrize(
    ("pairs", "says"),
    [
        ([({"a": A, "b": B}, {"a": A})], "Names are missing. Everything"),
        ([({"a": A}, {"a": A, "b": B})], "There are more names than asked for"),
        ([({"a": A, "b": B}, {"a": A, "B": B})], "some are spelled otherwise"),
        ([([{"a": A, "b": B}, A], [{"a": A}, A])], "Names are missing. Everything"),
        ([([A, None], [A, B]), ([A, B], [A, None])], "the wrong way round"),
        ([([A, B], [None, None])], "All results are None"),
        ([([A, B], [A, B]), ([A, B], [A, None])], "One result is None where"),
        ([([A, None], [A, B])], "A result is there where None is asked for"),
    ],
)
def test_missing_results_and_names_are_told_where_all_else_is_right(pairs, says):
    assert says in find_cause(given_for(pairs))


@pytest.mark.parametrize(
    "pairs",
    [
        [({"a": A, "b": B}, {"a": A + 1})],
        [({"a": A}, {"b": A})],
        [([A, None], [A + 1, B])],
        [({"run 1, added up": A}, {"run 1, added up": A + 1, "run 2, added up": B})],
    ],
)
def test_missing_results_and_names_are_not_told_where_others_are_wrong(pairs):
    assert find_cause(given_for(pairs)) == ""


class Norm(torch.nn.Module):
    """A module of which a case says more when it makes it than when it calls it."""

    def __init__(self, dim, centred=True):
        super().__init__()
        self.centred = centred

    def forward(self, x):
        return x - x.mean() if self.centred else x


class NeverCentred(Norm):
    def forward(self, x):
        return x.exp()[:, :2] if self.centred else x


def test_argument_of_the_init_that_only_wrong_cases_have_is_named():
    exercise = Exercise("Norm")
    for number, options in enumerate(
        [{}, {"centred": True}, *[{"centred": False}] * 2]
    ):

        @exercise.case(title=f"case {number}", points=1)
        def case(Norm, rng, options=options):
            x = torch.from_numpy(rng.standard_normal((3, 4)))
            return Norm(4, **options)(x)

    class Chapter(Topic):
        def reference(self, exercise):
            return Norm

        def mistakes(self, exercise):
            return []

    expected = expect(
        Chapter("x", {"Norm": exercise}), exercise, public_seeds(exercise)
    )
    given = [
        decode(answer(case, NeverCentred, seed))
        for case, seed in zip(exercise.cases, expected.seeds, strict=True)
    ]
    said = judge(exercise, given, expected).message
    assert said.endswith("Exactly the cases in which `centred` is True are wrong.")


# What is computed from results --------------------------------------------------------


def with_gradients(change, roles):
    """Right results, and wrong gradients beside them."""
    rng = np.random.default_rng(4)
    found = []
    for shape in SHAPES:
        result, gradient = rng.standard_normal(shape), rng.standard_normal(shape)
        right = Answer(value=[result, gradient])
        given = Answer(value=[result, change(gradient)])
        found.append(Outcome(right, given, 1e-5, 1e-6, roles))
    return found


def test_what_holds_of_a_gradient_is_not_said_of_the_result():
    told = find_cause(with_gradients(lambda g: 2 * g, {(0,): Role()}))
    assert told.startswith("In what the cases compute from your results")
    assert "times 2." in told
    result = find_cause(with_gradients(lambda g: 2 * g, {(1,): Role()}))
    assert result.startswith("Every value")


def test_zeros_of_unknown_origin_are_not_said_to_be_the_result():
    told = find_cause(with_gradients(lambda g: 0 * g, {}))
    assert "or in what is computed from it" in told
    assert "detach" in told
    result = find_cause(with_gradients(lambda g: 0 * g, {(1,): Role()}))
    assert result.startswith("Every value in your result is zero.")
