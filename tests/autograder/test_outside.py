"""What a function reads from outside itself is told by its instructions."""

from __future__ import annotations

import pytest

from autograder.outside import read_by

NOTEBOOK = """
import numpy as np
X, scale, shape = [1], 2, 3
def softmax(x): return helper(x)
def helper(x): return x * scale
class Layer:
    def __init__(self): self.x = missing_one
    @staticmethod
    def static(x): return scale
    @property
    def size(self): return len(X)
def by_argument(X): return X.shape
def by_lambda(x): return (lambda y: y + scale)(x)
def by_comprehension(x): return [x for _ in X]
def by_helper(x): return helper(np.exp(x)) + later(x)
def by_exercise(x): return softmax(x) + sum(x) + Layer().size
def local(x):
    scale = x
    return scale
def recursive(x): return recursive(x)
"""


@pytest.mark.parametrize(
    ("name", "missing", "exercises", "values"),
    [
        ("by_argument", [], [], []),
        ("by_lambda", [], [], ["scale"]),
        ("by_comprehension", [], [], ["X"]),
        ("by_helper", ["later"], [], ["scale"]),
        ("by_exercise", ["missing_one"], ["softmax"], ["scale", "X"]),
        ("local", [], [], []),
        ("recursive", [], [], []),
        ("softmax", [], [], ["scale"]),
        ("Layer", ["missing_one"], [], ["scale", "X"]),
    ],
)
def test_names_that_are_read(name, missing, exercises, values):
    names = {}
    exec(NOTEBOOK, names)
    found = read_by(names[name], name, names, {"softmax", name})
    assert found == {"missing": missing, "exercises": exercises, "values": values}


@pytest.mark.parametrize("answer", [len, 3, int])
def test_what_is_no_function_of_the_notebook_reads_nothing(answer):
    found = read_by(answer, "f", {}, {"f"})
    assert not any(found.values())
