"""What cases share that ask for a refusal."""

import math

import pytest

from autograder.arrays import refused


def test_a_function_that_refuses_every_call_is_refused_with_its_last_reason():
    with pytest.raises(ValueError, match="could not convert string to float: 'b'"):
        refused(float, ("a",), ("b",))


def test_one_call_that_gets_through_is_enough_for_nothing_to_be_raised():
    assert refused(math.sqrt, (-1,), (4,), (-9,)) is None


def test_an_error_of_another_kind_is_raised_as_it_is():
    with pytest.raises(ZeroDivisionError):
        refused(divmod, (1, 0))
