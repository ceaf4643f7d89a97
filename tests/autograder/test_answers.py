"""What comes out of a case is told, and nothing that is sent is trusted."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from autograder import encoding
from autograder.answers import (
    answer,
    builtin_type,
    decode,
)
from autograder.encoding import encode
from autograder.exercise import Case


class Lying:
    def __array__(self, *args, **kwargs):
        raise ValueError("the expected one")


class LyingArray(np.ndarray):
    def astype(self, *args, **kwargs):
        raise ValueError("the expected one")


def case_of(run):
    return Case("title", 1, run)


def test_array_that_lies_about_itself_is_read_by_its_bytes():
    value = np.ones(2).view(LyingArray)
    outcome = decode(answer(case_of(lambda f, rng: f()), lambda: value, 0))
    np.testing.assert_array_equal(outcome.value, np.ones(2))


def test_exception_is_reported_by_its_built_in_type():
    assert builtin_type(np.linalg.LinAlgError()) == "ValueError"
    assert builtin_type(KeyError()) == "KeyError"


def test_exit_costs_only_the_case():
    def leave():
        raise SystemExit(0)

    assert decode(answer(case_of(lambda f, rng: f()), leave, 0)).raised == "SystemExit"


@pytest.mark.parametrize(
    "value",
    [object(), {1: 2}, iter([1]), 1j, np.array(["a"]), b"x", Lying()],
)
def test_reason_why_a_result_cannot_be_read_arrives(value):
    sent = answer(case_of(lambda f, rng: f()), lambda: value, 0)
    assert decode(sent).unreadable == encoding.decode(sent[1:])


def test_same_seed_gives_same_inputs_and_leaves_torchs_generator_alone():
    case = case_of(lambda f, rng: [rng.standard_normal(3), torch.rand(2)])
    torch.manual_seed(5)
    first = torch.rand(1)
    torch.manual_seed(5)
    one, two = answer(case, None, 7), answer(case, None, 7)
    assert one == two != answer(case, None, 8)
    assert torch.rand(1) == first


def test_invented_exception_names_become_plain_exceptions():
    for name in ("FullMarks", "print", "eval", "__import__"):
        assert decode(b"R" + encode([name, *4 * [""]])).raised == "Exception"


def test_messages_are_one_short_printable_line():
    detail = decode(
        b"R" + encode(["ValueError", "a\x1b[31m\n\nb" * 50, *3 * [""]])
    ).detail
    assert "\x1b" not in detail
    assert "\n" not in detail
    assert len(detail) <= 400


@pytest.mark.parametrize("kind", [b"R", b"U"])
@pytest.mark.parametrize(
    "value",
    [None, [], ["a"] * 3, [1, *"abcd"], {"ValueError": ""}],
)
def test_only_texts_say_why_there_is_no_value(kind, value):
    answer = decode(kind + encode(value))
    assert (answer.value, answer.raised) == (None, None)
    assert "malformed" in answer.unreadable


@pytest.mark.parametrize("data", [b"", b"V", b"X0", b"V00", b"0", b"R0", b"V{}"])
def test_what_is_no_answer_is_unreadable(data):
    assert decode(data).unreadable
