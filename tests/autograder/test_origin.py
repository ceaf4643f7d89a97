"""An exception is traced to a line of the student's, with the shapes there."""

from __future__ import annotations

import linecache

import numpy as np
import pytest
import torch

from autograder.answers import answer, decode, in_private
from autograder.encoding import encode
from autograder.exercise import Case
from autograder.origin import Origin, Variable, lines_of, read_origin

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
    assert found.variables == (
        Variable("mask", kind="None"),
        Variable("K", "(5, 3)", "float64"),
        Variable("q", "(3,)", "float64"),
    )
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
    mixed = Origin(
        "a @ b", 1, (Variable("a", "()", "int64"), Variable("b", "()", "bool"))
    )
    assert (
        mixed.shapes()
        == " There, `a` has shape () (int64) and `b` has shape () (bool)."
    )


def test_what_stays_unknown_in_grading_is_kept_back(cell):
    def run():
        return cell["Layer"]()(torch.ones(5), [1, 2])

    sent = answer(Case("t", 1, lambda f, rng: f()), run, 0)
    kept = in_private(decode(sent), lines_of([CELL])).origin
    assert kept.number == 17
    assert [v.name for v in kept.variables] == ["x", "self.weight"]  # arrays alone
    assert in_private(decode(sent), lines_of(["x = 1"])).origin == Origin(number=1)


def test_a_long_line_is_known_again_wherever_it_is_cut():
    for length in range(90, 102):
        line = f"raise ValueError({'x' * (length - 17)} or 'a word and another one')"
        read = read_origin(next(iter(lines_of([line]))), "1", "")
        assert read.within(lines_of([f"    {line}"])).line == read.line


def test_forged_number_and_names_are_not_shown_in_grading():
    forged = read_origin("a @ b", "31416", "a (3,) bool; secret (9,) bool")
    assert forged.number == 31416
    kept = forged.within(lines_of(["x = 1\na @ b"]))
    assert (kept.line, kept.number) == ("a @ b", 0)
    assert [variable.name for variable in kept.variables] == ["a"]
    long = read_origin("a @ b", "2", "a (31415,) bool")
    assert long.within(lines_of(["x = 1\na @ b"])) == Origin("a @ b", 2)


@pytest.mark.parametrize(
    "text",
    [
        "x (3,) <script>",
        "x (3,) float64; y",
        "x (999999,) float64",
        "x (1, 2, 3, 4, 5, 6, 7) float64",
        "x = 123456",
        "a None; b None; c None; d None; e None",
    ],
)
def test_no_other_text_passes_for_variables(text):
    assert read_origin("x", "1", text).variables == ()


@pytest.mark.parametrize("number", ["0", "x", "123456", "\u0663"])
def test_no_other_text_passes_for_the_number_of_a_line(number):
    assert read_origin("x", number, "").number == 0


def test_forged_line_is_one_short_printable_line():
    forged = ["ValueError", "", "x\n\x1b[2J\u202e" * 20, "1", ""]
    line = decode(b"R" + encode(forged)).origin.line
    assert line.isprintable()
    assert 0 < len(line) <= 100


def test_variables_that_lie_cost_nothing_but_themselves(cell):
    class Lying(np.ndarray):
        @property
        def shape(self):
            raise SystemExit

    found = origin(lambda: cell["scores"](np.ones(3).view(Lying), np.ones((5, 3))))
    assert found.variables == ()
