"""Errors that NumPy, torch and Python raise are told what usually causes them."""

from __future__ import annotations

import linecache
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from autograder.answers import Answer, answer, decode, in_private
from autograder.exercise import Case, find_topic
from autograder.explain.errors import meaning
from autograder.origin import Origin, lines_of
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


def divided_in_place():
    a = np.ones(3, dtype=int)
    a /= 2


def endless(n):
    return endless(n)


A, B = np.ones((3, 4)), np.ones((5, 3))
T, MASK = torch.ones(3, 4), torch.ones(3, 4, dtype=torch.bool)
W = nn.Parameter(torch.ones(3, 4))

# What is run, and a part of what is said; the errors are the libraries' own.
ERRORS = {
    "second axis of the logits": [
        lambda: F.cross_entropy(torch.ones(5, 8, 6), torch.ones(5, 8).long())
    ],
    "batch_first=True takes the first axis": [
        lambda: nn.MultiheadAttention(4, 2)(
            *3 * [torch.ones(3, 5, 4)], attn_mask=torch.zeros(5, 5).bool()
        ),
        lambda: nn.MultiheadAttention(4, 2)(
            *3 * [torch.ones(3, 5, 4)], key_padding_mask=torch.zeros(3, 5).bool()
        ),
    ],
    "NumPy says axis": [
        lambda: A.max(axis=-1, keepdim=True),
        lambda: np.sum(A, dim=-1),
    ],
    "torch says dim": [
        lambda: torch.sum(T, keepdims=True),
        lambda: F.softmax(T, axis=-1),
    ],
    "amax, amin or argmax": [
        lambda: T.max(-1, keepdim=True) - T,
        lambda: T.max(-1).argmax,
        lambda: T.topk(2).shape,
    ],
    "along which axis": [lambda: T.softmax()],
    "its first parameter is self": [lambda: WithoutSelf()(T)],
    "leave out what it does not take": [lambda: nn.ReLU(True, 2)],
    "second axis of the logits. Either": [
        lambda: F.cross_entropy(T, torch.ones(12).long())
    ],
    "leaves out an argument": [
        lambda: without_second(A),
        lambda: T.transpose(),
        lambda: A.swapaxes(1),
    ],
    "comes twice": [lambda: without_second(A, x=B)],
    "keep the names": [
        lambda: without_second(A, B, A),
        lambda: without_second(A, B, axes=1),
    ],
    "without a return": [
        lambda: nothing() + A,
        lambda: nothing().shape,
        lambda: A @ nothing(),
    ],
    "Brackets follow something that is no": [
        lambda: A(3),
        lambda: T.shape(0),
        lambda: len(A)(),
    ],
    "super().__init__()": [WithoutInit],
    "A list or a tuple": [lambda: [A].shape, lambda: (A,) - [A], lambda: (1,) + 2],
    "A plain number": [lambda: T.sum().item().sum()],
    "brackets are missing": [lambda: T.size[0], lambda: nothing.shape],
    "nothing of that name": [lambda: np.softmax(A), lambda: torch.maksed(A)],
    "no such method. Methods": [lambda: A.unsqueeze(0), lambda: A.softmax(-1)],
    "says to and clone": [lambda: T.astype(float)],
    "look at its spelling": [lambda: WithoutSelf().heads],
    "taken apart": [lambda: divmod(*3), lambda: len(3)],
    "names on the left": [lambda: [x for x, y, z in [A.shape]]],
    "never changes": [lambda: {[1]: 2}, lambda: {(1, [2]): 3}],
    "was given a plain number": [lambda: torch.sqrt(T.shape[-1]), lambda: torch.log(2)],
    "know nothing of axes": [
        lambda: max(A, axis=-1),
        lambda: max(T, dim=-1),
        lambda: sum(A, axis=-1, keepdims=True),
    ],
    "item() takes out": [lambda: A.item(), lambda: T.item()],
    "needs real numbers": [
        lambda: T.long().softmax(-1),
        lambda: MASK.mean(-1),
        lambda: MASK.std(),
    ],
    "A layer stands where": [lambda: nn.Softmax(T) + 1, lambda: nn.Softmax(T).shape],
    "as many axes as the tensor": [lambda: T.gather(1, MASK[None].long())],
    "is no longer than the tensor": [
        lambda: T.gather(1, torch.ones(5, 2).long()),
        lambda: T.scatter(1, torch.ones(5, 2).long(), T),
    ],
    "meets a tensor": [lambda: torch.exp(A), lambda: nn.Linear(4, 4)(A), lambda: A @ T],
    "one list or tuple": [lambda: torch.cat(T, T)],
    "single number": [lambda: math.exp(A), lambda: float(T), lambda: np.stack(A, A)],
    "brackets of its own": [lambda: np.zeros(3, 4)],
    "whole number: /": [
        lambda: range(4 / 2),
        lambda: torch.ones(4 / 2),
        lambda: T.view(12 / 4, -1),
    ],
    "masks of True and False": [lambda: ~T],
    "want masks of True": [lambda: T & MASK],
    "~mask is its opposite": [lambda: 1 - MASK, lambda: +MASK],
    "holds numbers": [lambda: T.masked_fill(T, 0), lambda: torch.where(T, 1, 0)],
    "inner sizes": [lambda: A @ A, lambda: np.dot(A, A), lambda: T @ T],
    "fewer axes are named": [lambda: T.permute(0, 2, 1)],
    "An axis is named twice": [lambda: T.permute(0, 0), lambda: T.sum((0, 0))],
    "transpose and permute want every axis": [
        lambda: np.transpose(A, (0, 0)),
        lambda: A.transpose(0, 1, 2),
    ],
    "Texts can be joined": [lambda: "a" - "b", lambda: "a" + 1],
    "An empty list": [
        lambda: torch.cat([]),
        lambda: torch.stack([]),
        lambda: np.stack([]),
    ],
    "do not go together": [lambda: T.mean(keepdim=True)],
    "transpose of torch swaps": [lambda: T.transpose((0, 1))],
    "a plain list hides them": [lambda: nn.LayerNorm(4)(T.double())],
    "np.matrix has methods": [
        lambda: np.asmatrix(np.eye(2)).sum(axis=-1, keepdims=True),
    ],
    "letters of einsum": [
        lambda: torch.einsum("ij,jk", T, T),
        lambda: np.einsum("ij,jk", A, A),
        lambda: np.einsum("ijk", A),
    ],
    "return several results": [
        lambda: T + nn.MultiheadAttention(4, 2)(T, T, T),
        lambda: (T, T) - T,
    ],
    "look at axis or dim": [
        lambda: torch.stack([T, T[0]]),
        lambda: torch.cat([T, T[:, :2]]),
        lambda: torch.cat([T, T[0]]),
    ],
    "from the last one": [
        lambda: A + B,
        lambda: T + torch.ones(5, 3),
        lambda: np.broadcast_to(A, (4, 3)),
    ],
    "different lengths": [lambda: np.array([[1, 2], [3]])],
    "index has to be": [lambda: A[4 / 2], lambda: T[4 / 2], lambda: A[A]],
    "outside of the table": [lambda: nn.Embedding(4, 2)(torch.tensor([4]))],
    "does not exist. Inputs": [
        lambda: A.sum(axis=2),
        lambda: A[:, :, 0],
        lambda: T.sum(-3),
    ],
    "mask is not None": [lambda: 1 if A else 2, lambda: T and 1],
    "look at its spelling, and at how far": [lambda: WithoutForward()(T)],
    "two underscores": [lambda: WithoutForward(3, 4)],
    "is not stretched there": [lambda: T[MASK[:, :2]], lambda: A[A[:, :2] > 0]],
    "side by side in memory": [lambda: T.T.view(12)],
    "no entry of that number": [lambda: [1, 2][2], lambda: [].pop(), lambda: "ab"[2]],
    "number of values": [lambda: T.view(5, 3), lambda: A.reshape(5, 3)],
    "A parameter, or an input": [lambda: W.add_(1)],
    "that a gradient needs": [changed_before_its_gradient],
    "cut off": [lambda: T.sum().backward()],
    "two dtypes": [
        lambda: T @ T.T.double(),
        lambda: nn.Linear(4, 4)(T.double()),
    ],
    "torch.long": [
        lambda: nn.Embedding(4, 4)(T),
        lambda: T.gather(1, torch.ones(3, 1)),
    ],
    "stay in torch": [lambda: W.numpy(), lambda: np.exp(W)],
    "take up fractions": [divided_in_place],
    "logarithm": [lambda: math.log(-1)],
    "without an end": [lambda: endless(1)],
    "not been run": [lambda: undefined_name],  # noqa: F821
    "divided by zero": [lambda: 1 / 0],
    "does not have": [lambda: {}["weight"]],
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
        (A, lambda x: x.requires_grad_(), "It is a NumPy array, and a tensor is"),
        (A, lambda x: x @ T, "there a NumPy array meets a tensor"),
        (A, lambda x: torch.exp(x), "there a NumPy array meets a tensor"),
        (T, lambda x: x.copy(), "It is a tensor of torch, and a NumPy array is"),
        (Answer(), lambda x: x.reset(), "that your class does not have"),
        ("a", float, "It is a text, and a number is"),
        ((7, 8), float, "It is a list or a tuple, and a single number is"),
        (None, float, "It is None, and a number is"),
    ],
)
def test_a_case_that_cannot_go_on_with_a_result_blames_no_line(result, goes_on, said):
    case = Case("any", 1, lambda f, rng: goes_on(f()))
    given = decode(answer(case, lambda: result, 0))
    assert said in meaning([given])
    assert meaning([replace(given, origin=Origin("x", 1))]) != meaning([given])
    kept = in_private(replace(given, origin=Origin("x", 1)), {})
    assert kept.origin.line == ""
    assert said not in meaning([kept])


def test_none_is_not_told_to_stand_where_an_array_belongs():
    """What is missing may as well be a number, as the id of padding is."""

    def without_padding():
        return F.cross_entropy(T, torch.tensor([0, 1, 2]), ignore_index=None)

    said = meaning([outcome(without_padding)])
    assert "is None where a value is needed" in said


def test_the_most_common_of_several_errors_is_explained():
    one, others = (
        outcome(lambda: [][0]),
        outcome(lambda: math.log(-1)),
    )
    assert "logarithm" in meaning([one, others, others])
    assert "no entry" in meaning([one, others])


def test_several_results_in_place_of_one_list_are_told():
    for listed in (([97, 98], [(97, 98)]), [((97, 98), 256)]):
        said = told("train_bpe", lambda text, num_merges, listed=listed: listed)
        assert "more is returned than is asked for: look at Returns" in said


@pytest.mark.parametrize("join", [list, str.split, lambda text: [text], np.array])
def test_several_texts_in_place_of_one_are_told(join):
    right = find_topic("bpe_decode").reference("bpe_decode")

    def several(ids, merges):
        return join(right(ids, merges))

    said = told("bpe_decode", several)
    assert "Returns in the docstring asks for one text" in said


def test_a_line_whose_text_is_unknown_is_not_taken_for_ours():
    made: dict = {"A": A}
    exec(compile("def f():\n    return A.softmax(-1)\n", "/nowhere.py", "exec"), made)
    case = Case("any", 1, lambda f, rng: f())
    given = decode(answer(case, made["f"], 0))
    for seen in (given, in_private(given, {})):
        assert seen.origin.said() == ""
        assert "Methods such as softmax" in meaning([seen])


def test_what_torch_has_not_implemented_for_a_dtype_is_no_stub():
    assert outcome(lambda: T & MASK).raised == "RuntimeError"
    assert outcome(lambda: WithoutForward()(T)).raised == "RuntimeError"

    def stub():
        raise NotImplementedError

    assert outcome(stub).raised == "NotImplementedError"


@pytest.mark.parametrize(
    ("said", "runs"),
    [
        (
            "look at its spelling",
            [lambda: WithoutForward()(T), lambda: WithoutForward()(T, mask=T)],
        ),
        ("two underscores", [lambda: WithoutForward(3), lambda: WithoutForward(n=3)]),
    ],
)
def test_a_method_with_another_name_is_missed_where_a_case_needs_it(said, runs):
    given = [replace(outcome(run), origin=Origin()) for run in runs]
    assert said in meaning(given)


def test_no_word_of_an_error_is_repeated():
    given = Answer(raised="KeyError", detail="'<b>secret</b>'")
    assert "secret" not in meaning([given])


def raised_after(import_line, expression, tmp_path):
    source = f"{import_line}\nimport builtins\ndef f(x):\n    return {expression}\n"
    path = str(tmp_path / "cell.py")
    linecache.cache[path] = (len(source), None, source.splitlines(True), path)
    names = {}
    exec(compile(source, path, "exec"), names)
    try:
        return decode(answer(Case("t", 1, lambda f, rng: f(2.0)), names["f"], 0))
    finally:
        del linecache.cache[path]


PYTHONS, MODULE = "no longer Python's own", "no longer the module"
TAKEN = [  # a line of a cell, one that fails, and which name it took, if it did
    ("from numpy import *", "min(x, 3.0)", PYTHONS),
    ("from numpy import *", "min(2, 3)", PYTHONS),
    ("from torch import *", "1 + sum([1, 2])", PYTHONS),
    ("from torch import *", "float(x)", PYTHONS),
    ("from torch import max", "abs(x) + max(x)", PYTHONS),
    ("B, T, F = 2, 3, 4", "F.softmax(x, dim=-1)", MODULE),
    ("import numpy as np; np = np.zeros(3)", "np.exp(x)", MODULE),
    ("import numpy as np", "np.exp(x).dims", None),
    ("import numpy as np; F = 3", "np.full(F, x).dims", None),
    ("F = 3", "(lambda F: F.dims)(x)", None),
    ("from torch import *", "builtins.min(x)", None),
    ("from numpy import *", "min(1)[0] + np.zeros(2)", None),
    ("import numpy as np", "min(x, 1) + np.zeros(2) @ np.zeros(3)", None),
    ("from torch import *", "max(ones(3)) + ones(3) @ ones(2)", None),
    ("import torch", "range(x)", None),
]


@pytest.mark.parametrize(("line", "expression", "said"), TAKEN)
def test_a_line_that_took_the_name_of_a_function_or_module(
    line, expression, said, tmp_path
):
    given = raised_after(line, expression, tmp_path)
    assert given.raised
    for words in (PYTHONS, MODULE):
        assert (words in meaning([given])) == (words == said)
    kept = in_private(given, lines_of([f"    return {expression}"]))
    assert said is None or said in meaning([kept])
    shapes = {PYTHONS: "is the one from ", MODULE: "is not a module", None: ""}
    assert shapes[said] in kept.origin.shapes()
