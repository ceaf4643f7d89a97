"""Answers that take no thought earn nothing, in any exercise."""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import nn

from autograder.answers import answer, decode
from autograder.break_exercise import BreakExercise
from autograder.exercise import load_topic, topic_names
from autograder.expected import expect, public_seeds
from autograder.judge import mark
from tests.suites import sweep


class Passing(nn.Module):
    """A layer that takes whatever it is given and returns its input."""

    def __init__(self, *_, **__):
        super().__init__()

    def forward(self, x, *_, **__):
        return x


def constant(value):
    return lambda *_, **__: copy.deepcopy(value)


def argument(number):
    return lambda *given, **__: given[number]


def raising(error):
    def fail(*_, **__):
        raise error("no idea")

    return fail


def even(x, *_, **__):
    """The same weight for all."""
    return x * 0 + 1 / x.shape[-1]


def drawn(x, *_, **__):
    """Normal values of the shape of the first input."""
    values = np.random.default_rng(1).standard_normal(x.shape)
    return values if isinstance(x, np.ndarray) else torch.from_numpy(values)


TRIVIAL = {
    **{repr(c): constant(c) for c in (None, True, 0, 1.0, "", [])},
    **{f"argument {number}": argument(number) for number in range(4)},
    **{e.__name__: raising(e) for e in (ValueError, NotImplementedError, TypeError)},
    "NaN": constant(float("nan")),
    "a layer that returns its input": Passing,
    "zeros": lambda x, *_, **__: x * 0,
    "ones": lambda x, *_, **__: x * 0 + 1,
    "even": even,
    "drawn": drawn,
    "a copy": lambda x, *_, **__: copy.deepcopy(x),
    "the other sign": lambda x, *_, **__: -x,
    "sums of rows": lambda x, *_, **__: x.sum(-1),
    "the number of features": lambda x, *_, **__: x.shape[-1],
    "transposed": lambda x, *_, **__: x.swapaxes(-1, -2),
}


@sweep("name", topic_names())
def test_what_takes_no_thought_earns_nothing(name):
    topic = load_topic(name)
    earned = []
    for exercise in topic.exercises.values():
        if isinstance(exercise, BreakExercise):
            continue  # whose answers are values, and judged otherwise
        seeds = [seed + 8765 for seed in public_seeds(exercise)]
        expected = expect(topic, exercise, seeds)
        for what, trivial in TRIVIAL.items():
            pairs = zip(exercise.cases, seeds, strict=True)
            given = [decode(answer(case, trivial, seed)) for case, seed in pairs]
            report = mark(exercise, given, expected)
            if report.score:
                titles = [case.title for case in report.cases if case.passed]
                earned.append((exercise.name, what, titles))
    assert earned == []
