"""An error of the machine that runs our own code is expected of nobody."""

from __future__ import annotations

import errno

import numpy as np
import pytest
import torch

import solutions.simplified_attention as ours
from autograder.answers import answer, decode
from autograder.break_exercise import hidden_versions
from autograder.check import check, expected_here
from autograder.errors import GraderFault
from autograder.exercise import Case, load_topic
from autograder.own_answers import OwnCodeFailed, own_answer, reference_answer
from autograder.verdict import FOUND, verdict
from tests.autograder.conftest import TOPIC

CALLED = Case("called", 1, lambda f, rng: f())


def raising(error):
    def code(*_):
        raise error

    return code


def torch_without_memory():
    return torch.empty(2**60)  # more than any address space has


OF_THE_MACHINE = [
    raising(MemoryError()),
    raising(RuntimeError("can't start new thread")),
    raising(SystemExit(1)),
    torch_without_memory,
]


@pytest.mark.parametrize("ask", [reference_answer, own_answer])
@pytest.mark.parametrize("code", OF_THE_MACHINE)
def test_what_the_machine_lacks_is_nobodys_answer(ask, code):
    with pytest.raises(GraderFault, match="the course's own") as failed:
        ask(CALLED, code, 0)
    assert len(str(failed.value).splitlines()) == 1


def test_errors_that_the_code_accounts_for_are_answers():
    asked_for = ValueError("ten features in three heads")
    assert decode(reference_answer(CALLED, raising(asked_for), 0)).raised == (
        "ValueError"
    )
    for error in (IndexError(), RuntimeError("shapes do not fit"), RecursionError()):
        said = decode(own_answer(CALLED, raising(error), 0))
        assert said.raised == type(error).__name__
        with pytest.raises(OwnCodeFailed):
            reference_answer(CALLED, raising(error), 0)


def test_a_reference_returns_what_can_be_sent():
    with pytest.raises(OwnCodeFailed, match="cannot be read"):
        reference_answer(CALLED, object, 0)
    assert decode(own_answer(CALLED, object, 0)).unreadable
    np.testing.assert_array_equal(
        decode(reference_answer(CALLED, lambda: np.ones(2), 0)).value, np.ones(2)
    )


def failing_once(real):
    """A function whose first call finds no memory."""
    calls = []

    def function(*arguments, **keywords):
        calls.append(arguments)
        if len(calls) == 1:
            raise MemoryError
        return real(*arguments, **keywords)

    return function


@pytest.fixture
def exercise():
    return load_topic(TOPIC).exercises["softmax"]


def test_a_test_is_not_judged_by_code_that_cannot_run(monkeypatch):
    asked = load_topic(TOPIC).exercises["break_softmax"]
    sent = decode(answer(asked.cases[0], ours.break_softmax, 0)).value
    assert all(verdict(case, sent) == FOUND for case in asked.cases)
    version = hidden_versions(asked)[0]
    broken = raising(OSError(errno.ENOMEM, "Cannot allocate memory"))
    monkeypatch.setitem(vars(version), "implementation", broken)
    with pytest.raises(GraderFault):
        verdict(asked.cases[0], sent)


def test_check_says_in_one_line_that_it_cannot_judge(monkeypatch, capsys):
    right = ours.softmax
    monkeypatch.setattr(ours, "softmax", failing_once(right))
    expected_here.cache_clear()
    check(right)
    (line,) = capsys.readouterr().out.strip().splitlines()
    assert line.startswith("check: the course's own ") and "MemoryError" in line
    assert check(right) == load_topic(TOPIC).exercises["softmax"].points
