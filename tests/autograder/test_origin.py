"""An exception is traced to a line of the student's, with the shapes there."""

from __future__ import annotations

import linecache

import numpy as np
import pytest
import torch

from autograder.answers import answer, decode
from autograder.encoding import encode
from autograder.exercise import Case
from autograder.origin import read_origin

CELL = """import numpy as np
import torch


def scores(q, K, mask=None):
    secret = np.zeros((77, 77))
    return mask.sum() + K.T @ q


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3, 4))
        self.steps = 2

    def forward(self, x, parts=()):
        return (x.double() + self.steps) @ self.weight + parts


def unfinished():
    raise NotImplementedError("to do")
"""


@pytest.fixture
def cell(tmp_path):
    """The names that a cell defines, as in a notebook: its lines can be looked up."""
    path = str(tmp_path / "cell.py")
    linecache.cache[path] = (len(CELL), None, CELL.splitlines(True), path)
    names = {}
    exec(compile(CELL, path, "exec"), names)
    yield names
    del linecache.cache[path]


def origin(run):
    return decode(answer(Case("t", 1, lambda f, rng: f()), run, 0)).origin


def test_line_number_and_shapes_are_those_of_the_failing_line(cell):
    found = origin(lambda: cell["scores"](np.ones(3), np.ones((5, 3))))
    assert found.number == 1 + CELL.splitlines().index(f"    {found.line}") == 7
    assert found.said() == " in your line 7, `return mask.sum() + K.T @ q`"
    assert found.shapes() == (
        " There, `mask` is None, `K` has shape (5, 3) and `q` has shape (3,)."
    )


def test_parameters_numbers_and_dtypes_are_told_too(cell):
    found = origin(lambda: cell["Layer"]()(torch.ones(5), [1, 2]))
    assert found.shapes() == (
        " There, `x` has shape (5,) (float32), `self.steps` = 2, "
        "`self.weight` has shape (3, 4) (float32) and `parts` is list of 2."
    ).replace(" (float32)", "")
    mixed = origin(lambda: cell["scores"](torch.ones(3), np.ones((5, 3))))
    assert "`K` has shape (5, 3) (float64) and `q` has shape (3,) (float32)" in (
        mixed.shapes()
    )


def test_a_stub_may_say_what_is_to_be_done(cell):
    given = decode(answer(Case("t", 1, lambda f, rng: f()), cell["unfinished"], 0))
    assert given.raised == "NotImplementedError"


@pytest.mark.parametrize("number", ["0", "x", "123456", "\u0663"])
def test_no_other_text_passes_for_the_number_of_a_line(number):
    assert read_origin("x", number, "").number == 0


def test_forged_line_is_one_short_printable_line():
    text = "x\n\x1b[2J\u202e" * 20
    found = decode(b"R" + encode(["ValueError", "", text, "1", text])).origin
    assert found.line.isprintable()
    assert found.there.isprintable()
    assert 0 < len(found.line) <= 100


def test_variables_that_lie_cost_nothing_but_themselves(cell):
    class Lying(np.ndarray):
        @property
        def shape(self):
            raise SystemExit

    found = origin(lambda: cell["scores"](np.ones(3).view(Lying), np.ones((5, 3))))
    assert found.shapes() == ""
