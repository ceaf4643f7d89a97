"""What a report says of each case: by name, once, and red only for what it shows."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from autograder.answers import Answer, answer, decode
from autograder.exercise import (
    Case,
    Exercise,
    Mistake,
    Topic,
)
from autograder.expected import expect, public_seeds
from autograder.judge import judge
from autograder.origin import Origin
from autograder.parts import name_of, part_names
from autograder.rows import case_reports

pair = Exercise("pair", results=("sums", "products"))


@pair.case(title="two results")
def two_results(pair, rng):
    return pair(rng.standard_normal(4), rng.standard_normal(4))


@pair.case(title="two calls")
def two_calls(pair, rng):
    x = rng.standard_normal(3)
    return [pair(x, x), pair(x, 2 * x)]


@pair.case(title="the first input is unchanged")
def unchanged(pair, rng):
    x, y = rng.standard_normal((2, 5))
    return pair(x, y), x, y


@pair.case(title="something else is compared")
def derived(pair, rng):
    return pair(np.ones(2), rng.standard_normal(2))[0].sum(), 7


@pair.case(title="different lengths are a ValueError")
def refused(pair, rng):
    return pair(np.ones(2), np.ones(3))


def right(x, y):
    return x + y, x * y


class Bank(Topic):
    def reference(self, exercise):
        return right

    def mistakes(self, exercise):
        return [Mistake("none", "pair", "Nothing.", lambda x, y: None)]


@pytest.fixture(scope="module")
def rows():
    expected = expect(Bank("arithmetic", {"pair": pair}), pair, public_seeds(pair))

    def run(implementation, private=False):
        given = [
            decode(answer(case, implementation, seed))
            for case, seed in zip(pair.cases, expected.seeds, strict=True)
        ]
        return {row.title: row for row in judge(pair, given, expected).cases}

    return run


def test_results_and_inputs_have_their_names(rows):
    def wrong(x, y):
        y += 0 if len(y) != 5 else 1
        return x + y, x - y

    found = rows(wrong)
    assert found["two results"].message.startswith("the products: 4 of 4")
    assert found["two calls"].message.startswith("call 1, the products: 3 of 3")

    def changes(x, y):
        result = right(x, y)
        y *= 2
        return result

    assert rows(changes)["the first input is unchanged"].message.startswith(
        "`y` after the call: 5 of 5"
    )


def test_what_has_no_name_is_found_by_its_place(rows):
    message = rows(lambda x, y: (x - y, x * y))["something else is compared"].message
    assert message.startswith("part 1: the value differs")
    assert name_of((1, "weight", 0), {}) == "part 1 of weight"


def test_gradients_and_parameters_of_a_layer_are_named():
    def run(layer, rng):
        layer, x = layer(3, 2), torch.ones(4, 3, requires_grad=True)
        y = layer(x)
        y.sum().backward()
        return y, x.grad, layer.weight.grad, layer.bias

    class Layer(torch.nn.Linear):
        def forward(self, x):
            return super().forward(x)

    names = part_names(Layer, Case("t", 1, run), 0)
    assert [names[n,] for n in range(4)] == [
        "",
        "the gradient of `x`",
        "the gradient of `weight`",
        "the parameter `bias`",
    ]


def test_right_inputs_with_wrong_results_are_not_judged(rows):
    row = rows(lambda x, y: (x - y, x * y))["the first input is unchanged"]
    assert not row.passed
    assert not row.judged
    assert row.message.startswith("nothing was changed, but the sums: 5 of 5")

    def changes(x, y):
        x -= 1
        return x + y, x * y

    row = rows(changes)["the first input is unchanged"]
    assert row.judged

    def changes_and_errs(x, y):
        y *= 2
        return x - y, x * y

    row = rows(changes_and_errs)["the first input is unchanged"]
    assert row.judged
    assert row.message.startswith("`y` after the call: 5 of 5 values differ")


def test_equal_errors_are_told_once(rows):
    def broken(x, y):
        return {}["weight"]

    told = list(rows(broken).values())
    assert [row.judged for row in told] == [True, False, False, False, False]
    assert "KeyError was raised" in told[0].message
    assert {row.message for row in told[1:]} == {"the same KeyError as above"}


def test_errors_of_different_lines_are_told_each():
    case = Case("t", 1, lambda f, rng: f())
    given = [
        Answer(raised="KeyError", origin=Origin(line, 1)) for line in ("a", "b", "a")
    ]
    right = [Answer(value=np.ones(1))] * 3
    told = case_reports([case] * 3, right, given, [False] * 3, lambda number: {})
    assert [row.judged for row in told] == [True, True, False]
