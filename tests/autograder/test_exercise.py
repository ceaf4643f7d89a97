"""What an exercise is made of: here, how a mistake gets its hint."""

import numpy as np
import pytest

from autograder.exercise import (
    BrokenEdit,
    Exercise,
    NoHint,
    edit,
    find_topic,
    mistake,
)

exercise = Exercise("double")


def test_the_docstring_of_a_mistake_is_its_hint_on_one_line():
    @mistake(exercise)
    def squared(x):
        """You multiplied `x` with itself,
        which is the double of 2 alone.   Add it
        to itself.
        """
        return x * x

    assert squared.name == "squared"
    assert squared.exercise == "double"
    assert squared.implementation(3) == 9
    assert squared.hint == (
        "You multiplied `x` with itself, which is the double of 2 alone. Add it to "
        "itself."
    )


def test_a_mistake_without_a_hint_is_refused_even_if_its_base_has_one():
    class Right:
        """The base of mistakes."""

    with pytest.raises(NoHint, match="mistake Wrong of double has no hint"):

        @mistake(exercise)
        class Wrong(Right):
            pass


def test_an_edit_is_the_reference_with_one_fragment_replaced():
    softmax = find_topic("softmax").exercises["softmax"]

    @edit(softmax, "scores - scores.max(axis=-1, keepdims=True)", "scores")
    def exponential_overflows():
        """You took the exponential of the scores as they are."""

    assert exponential_overflows.name == "exponential_overflows"
    assert exponential_overflows.hint.startswith("You took the exponential")
    with np.errstate(all="ignore"):
        assert np.isnan(exponential_overflows.implementation(np.array([1e4, 0.0]))[0])
    np.testing.assert_allclose(
        exponential_overflows.implementation(np.array([0.0, np.log(3)])), [0.25, 0.75]
    )


@pytest.mark.parametrize("fragment", ["axis=-1", "np.cosh", "Bridle"])
def test_an_edit_of_what_does_not_occur_once_in_the_code_is_refused(fragment):
    softmax = find_topic("softmax").exercises["softmax"]
    with pytest.raises(BrokenEdit, match=f"wrong: '{fragment}' occurs [02] times"):

        @edit(softmax, fragment, "")
        def wrong():
            """You did something else."""
