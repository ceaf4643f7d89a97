"""What an exercise is made of: here, how a mistake gets its hint."""

import os
import subprocess
import sys

import pytest

from autograder.exercise import Exercise, NoHint, mistake

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


def test_python_without_docstrings_is_told_so_in_one_line():
    done = subprocess.run(
        [sys.executable, "-OO", "-c", "import solutions.mistakes.scaling"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "python -OO drops docstrings" in done.stderr.splitlines()[-1]
