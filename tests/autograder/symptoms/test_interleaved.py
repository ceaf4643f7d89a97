"""Values that stand in another order along an axis are told the order they stand in."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from autograder.symptoms.arrangement import interleaved
from autograder.symptoms.outcomes import Pair

SHAPES = [[(4, 6), (2, 5, 6)], [(3, 8), (8, 12)], [(9, 6), (3, 12)], [(12,), (24,)]]
RNG = np.random.default_rng(0)


def apart(x, axis, step):
    """Those at the indices 0, step, 2 step, ... first, written out one by one."""
    size = x.shape[axis]
    order = [i for start in range(step) for i in range(start, size, step)]
    return np.take(x, order, axis)


def mixed(x, axis, parts):
    """One value of each part in turn, written out one by one."""
    length = x.shape[axis] // parts
    order = [part * length + i for i in range(length) for part in range(parts)]
    return np.take(x, order, axis)


def pairs_of(shapes, change):
    drawn = [RNG.standard_normal(shape) for shape in shapes]
    return [Pair(x, change(x), 1e-6, 1e-9) for x in drawn]


ORDERS = [
    (shapes, axis, number)
    for shapes, axis, number in itertools.product(SHAPES, (-1, -2), (2, 3, 4))
    if all(-axis <= len(shape) for shape in shapes)
    if all(shape[axis] % number == 0 != shape[axis] - number for shape in shapes)
]


@pytest.mark.parametrize("change", [apart, mixed])
@pytest.mark.parametrize(("shapes", "axis", "number"), ORDERS)
def test_what_is_told_of_an_order_gives_that_order(shapes, axis, number, change):
    pairs = pairs_of(shapes, lambda x: change(x, axis, number))
    told = interleaved(pairs)
    assert told
    if "equal parts" in told:
        said, rebuilt = int(re.search(r"(\d+) equal", told)[1]), mixed
    else:
        said, rebuilt = int(re.search(r"indices 0, (\d+),", told)[1]), apart
    where = -1 if "last axis," in told else -2 if "last axis but one" in told else 0
    for pair in pairs:
        assert np.array_equal(rebuilt(pair.right, where, said), pair.given)


def test_other_orders_are_told_nothing():
    for change in (
        lambda x: np.flip(x, -1),
        lambda x: np.roll(x, 1, -1),
        lambda x: RNG.permutation(x, axis=-1),
        lambda x: apart(x, -1, 2) + 1e-3,
        lambda x: apart(x, -1, 2)[..., :-1],
    ):
        assert interleaved(pairs_of([(4, 6), (2, 12)], change)) is None
    of_each = itertools.cycle([2, 3])
    assert (
        interleaved(pairs_of([(4, 12)] * 2, lambda x: apart(x, -1, next(of_each))))
        is None
    )
