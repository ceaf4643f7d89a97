"""The measure of a memory knows good memories from bad ones."""

import numpy as np
import pytest

from toolkit.recall import fraction_found


def lookup(keys, values, which):
    """Exact search: the value of the first or of the last pair with a key."""
    equal = (keys[:, None] == keys[None]).all(axis=-1)
    places = [np.flatnonzero(row)[which] for row in equal]
    return values[places]


@pytest.mark.parametrize(("which", "fraction"), [(-1, 1), (0, 0)])
def test_of_a_key_stored_twice_the_newer_value_is_wanted(which, fraction):
    found = fraction_found(lambda k, v: lookup(k, v, which), 10, rewritten=True)
    assert found == fraction


def test_sixteen_features_hold_sixteen_pairs_and_not_more():
    def state(keys, values):
        return keys @ np.linalg.pinv(keys) @ values

    assert fraction_found(state, 16) == 1
    assert fraction_found(state, 64) < 0.6
