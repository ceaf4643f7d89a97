"""Errors that NumPy, torch and Python raise are told what usually causes them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from autograder.answers import Answer, answer, decode
from autograder.exercise import Case
from autograder.explain.errors import meaning
from autograder.origin import Origin
from tests.autograder.judged import told


def nothing(*_):
    return None


def without_second(x, y):
    return x


class WithoutSelf(nn.Module):
    def forward(x):
        return x


class WithoutForward(nn.Module):
    def foward(self, x):
        return x


class WithoutInit(nn.Module):
    def __init__(self):
        self.linear = nn.Linear(4, 4)


def changed_before_its_gradient():
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    y += 1
    y.sum().backward()


A, B = np.ones((3, 4)), np.ones((5, 3))
T, MASK = torch.ones(3, 4), torch.ones(3, 4, dtype=torch.bool)
W = nn.Parameter(torch.ones(3, 4))

# What is run, and a part of what is said; the errors are the libraries' own.
ERRORS = {
    "second axis of the logits": [
        lambda: F.cross_entropy(torch.ones(5, 8, 6), torch.ones(5, 8).long())
    ],
    "NumPy says axis": [lambda: np.sum(A, dim=-1)],
    "torch says dim": [lambda: F.softmax(T, axis=-1)],
    "amax, amin or argmax": [lambda: T.max(-1, keepdim=True) - T],
    "look at its spelling, and at what": [lambda: WithoutSelf().heads],
    "counts as one of them": [
        lambda: without_second(A, B, A),
        lambda: without_second(A, x=B),
        lambda: WithoutSelf()(T),
    ],
    "leaves out an argument": [lambda: without_second(A), lambda: T.transpose()],
    "without a return": [lambda: nothing() + A, lambda: nothing().shape],
    "Brackets follow something that is no": [lambda: T.shape(0)],
    "super().__init__()": [WithoutInit],
    "A list or a tuple": [
        lambda: [A].shape,
        lambda: T + nn.MultiheadAttention(4, 2)(T, T, T),
    ],
    "array, a tensor or a module": [lambda: T.sum().item().sum()],
    "brackets are missing": [lambda: T.size[0], lambda: nothing.shape],
    "nothing of that name": [lambda: np.softmax(A)],
    "no such method. Methods": [lambda: A.unsqueeze(0)],
    "says to and clone": [lambda: T.astype(float)],
    "taken apart": [lambda: divmod(*3)],
    "names on the left": [lambda: [x for x, y, z in [A.shape]]],
    "was given a plain number": [lambda: torch.sqrt(T.shape[-1])],
    "know nothing of axes": [lambda: max(A, axis=-1), lambda: sum(A, axis=-1)],
    "needs real numbers": [lambda: T.long().softmax(-1), lambda: MASK.mean(-1)],
    "A layer stands where": [lambda: nn.Softmax(T) + 1, lambda: nn.Softmax(T).shape],
    "meets a tensor": [lambda: torch.exp(A), lambda: A @ T],
    "single number": [lambda: math.exp(A), lambda: float(T)],
    "brackets of its own": [lambda: np.zeros(3, 4)],
    "whole number: /": [lambda: range(4 / 2), lambda: T.view(12 / 4, -1)],
    "combine masks of True": [lambda: ~T, lambda: T & MASK],
    "holds numbers": [lambda: T.masked_fill(T, 0)],
    "inner sizes": [lambda: A @ A, lambda: T @ T],
    "An axis is named twice": [lambda: T.permute(0, 2, 1), lambda: A.transpose(0, 0)],
    "do not go together": [lambda: T.mean(keepdim=True), lambda: T.transpose((0, 1))],
    "letters of einsum": [
        lambda: torch.einsum("ij,jk", T, T),
        lambda: np.einsum("ij,jk", A, A),
    ],
    "look at axis or dim": [lambda: torch.stack([T, T[0]]), lambda: np.stack([A, B])],
    "from the last one": [lambda: A + B, lambda: T + torch.ones(5, 3)],
    "index has to be": [lambda: A[4 / 2], lambda: T[4 / 2]],
    "outside of the table": [lambda: nn.Embedding(4, 2)(torch.tensor([4]))],
    "does not exist. Inputs": [lambda: A.sum(axis=2), lambda: T.sum(-3)],
    "mask is not None": [lambda: 1 if A else 2, lambda: T and 1],
    "at how far it is indented": [lambda: WithoutForward()(T)],
    "two underscores": [lambda: WithoutForward(3, 4)],
    "no entry of that number": [lambda: [1, 2][2], lambda: [].pop()],
    "number of values": [lambda: T.view(5, 3), lambda: A.reshape(5, 3)],
    "was changed in place": [lambda: W.add_(1), changed_before_its_gradient],
    "cut off": [lambda: T.sum().backward()],
    "two dtypes": [
        lambda: T @ T.T.double(),
        lambda: nn.Linear(4, 4)(T.double()),
        lambda: nn.LayerNorm(4)(T.double()),
    ],
    "torch.long": [lambda: nn.Embedding(4, 4)(T)],
    "stay in torch": [lambda: W.numpy()],
    "not been run": [lambda: undefined_name],  # noqa: F821
}


def outcome(run):
    """The error as if it came from a line of a student's."""
    case = Case("any", 1, lambda f, rng: f())
    return replace(decode(answer(case, run, 0)), origin=Origin("x", 1))


@pytest.mark.parametrize(
    ("said", "run"), [(said, run) for said, runs in ERRORS.items() for run in runs]
)
def test_common_error_is_told_its_usual_cause(said, run):
    given = outcome(run)
    assert given.raised, "this raises nothing any more"
    assert said in meaning([given]), (given.raised, given.detail)


@pytest.mark.parametrize(
    ("result", "goes_on", "said"),
    [
        (A, lambda x: x.requires_grad_(), "it is not what Returns in"),
        (T, lambda x: np.add(x.numpy(), [1, 2]), "it is not what Returns in"),
        ("a", float, "it is not what Returns in"),
        (None, float, "it is not what Returns in"),
        (Answer(), lambda x: x.reset(), "that your class does not have"),
        (WithoutForward, lambda x: x(n=3), "two underscores"),
    ],
)
def test_a_case_that_cannot_go_on_with_a_result_blames_no_line(result, goes_on, said):
    case = Case("any", 1, lambda f, rng: goes_on(f()))
    given = decode(answer(case, lambda: result, 0))
    assert said in meaning([given])
    assert said not in meaning([replace(given, origin=Origin("x", 1))])


def test_a_call_that_does_not_fit_the_parameters_is_told_so_whoever_makes_it():
    case = Case("any", 1, lambda f, rng: f(A))
    for function in (without_second, lambda: A, lambda *, x: x):
        assert "parameters" in meaning([decode(answer(case, function, 0))])


def test_the_most_common_of_several_errors_is_explained():
    one, others = outcome(lambda: [][0]), outcome(lambda: math.exp(A))
    assert "single number" in meaning([one, others, others])
    assert "no entry" in meaning([one, others])


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("train_bpe", lambda text, num_merges: ([97, 98], [(97, 98)])),
        ("bpe_decode", lambda ids, merges: ["a text", "in parts"]),
    ],
)
def test_another_kind_of_result_is_told_where_to_look(name, wrong):
    assert "it is not what Returns in the docstring asks for" in told(name, wrong)


def test_a_line_whose_text_is_unknown_is_not_taken_for_ours():
    made: dict = {"A": A}
    exec(compile("def f():\n    return A.softmax(-1)\n", "/nowhere.py", "exec"), made)
    case = Case("any", 1, lambda f, rng: f())
    given = decode(answer(case, made["f"], 0))
    assert given.origin.said() == ""
    assert "Methods such as softmax" in meaning([given])


def test_what_torch_has_not_implemented_for_a_dtype_is_no_stub():
    assert outcome(lambda: T & MASK).raised == "RuntimeError"
    assert outcome(lambda: WithoutForward()(T)).raised == "RuntimeError"

    def stub():
        raise NotImplementedError

    assert outcome(stub).raised == "NotImplementedError"


def test_no_word_of_an_error_is_repeated():
    given = Answer(raised="KeyError", detail="'<b>secret</b>'")
    assert "secret" not in meaning([given])
