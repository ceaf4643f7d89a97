"""Library calls that an exercise forbids are refused while a case runs, only then."""

from __future__ import annotations

import contextlib
import types
from functools import cache

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from autograder.answers import answer, decode, encode_refusal
from autograder.check import check
from autograder.exercise import Exercise, Topic, load_topic
from autograder.expected import expect, public_seeds
from autograder.forbid import ForbiddenCall, answer_by_hand, refusing
from autograder.grading.examine import examine
from autograder.grading.seeds import draw_seeds, expected_answers
from autograder.inputs import tensor
from autograder.judge import judge
from autograder.release.source import source_notebook
from autograder.release.student import student_notebook
from autograder.sandbox.connection import fork_servers
from autograder.sandbox.limits import Limits
from classroom.submissions import right_answers, submission
from tests.autograder.conftest import code_cell

BY_HAND = """
def layer_norm(x, weight, bias, eps=1e-5):
    mean, var = x.mean(-1, keepdim=True), x.var(-1, correction=0, keepdim=True)
    return (x - mean) / (var + eps).sqrt() * weight + bias
"""
CALLS = """
def layer_norm(x, weight, bias, eps=1e-5):
    return use(x, x.shape[-1:], weight, bias, eps)
"""
# How ``use`` is defined, and what is then said to be called.
LAYER_NORMS = {
    "a direct call": ("use = lambda *a: F.layer_norm(*a)", "layer_norm"),
    "a compiled function": ("use = lambda *a: torch.layer_norm(*a)", "layer_norm"),
    "another name for it": ("use = F.layer_norm", "layer_norm"),
    "another name for a compiled one": ("use = torch.layer_norm", "layer_norm"),
    "an operator": (
        "use = lambda *a: torch.ops.aten.native_layer_norm(*a)[0]",
        "native_layer_norm",
    ),
    "an overload of an operator": (
        "use = lambda *a: torch.ops.aten.native_layer_norm.default(*a)[0]",
        "native_layer_norm",
    ),
    "getattr": ("use = getattr(F, 'layer' + '_norm')", "layer_norm"),
    "text that is run": ("exec('use = F.lay' + 'er_norm', globals())", "layer_norm"),
    "partial": (
        "from functools import partial\nnorm = partial(F.layer_norm, eps=1e-5)\n"
        "use = lambda x, n, w, b, eps: norm(x, n, weight=w, bias=b)",
        "layer_norm",
    ),
    "vmap": (
        "use = lambda x, *a: torch.vmap(lambda y: torch.layer_norm(y, *a))(x[None])[0]",
        "layer_norm",
    ),
    "an import inside": (
        "def use(*a):\n    from torch.nn.functional import layer_norm as f\n"
        "    return f(*a)",
        "layer_norm",
    ),
    "a layer": (
        "def use(x, n, w, b, eps):\n    layer = nn.LayerNorm(n, eps)\n"
        "    layer.weight, layer.bias = nn.Parameter(w), nn.Parameter(b)\n"
        "    return layer(x)",
        "LayerNorm",
    ),
    "a subclass": (
        "class Own(nn.LayerNorm): pass\n"
        "def use(x, n, w, b, eps):\n    layer = Own(n, eps)\n"
        "    layer.weight, layer.bias = nn.Parameter(w), nn.Parameter(b)\n"
        "    return layer(x)",
        "LayerNorm",
    ),
    "a layer that was made before": (
        "made = {n: nn.LayerNorm(n) for n in range(1, 40)}\n"
        "def use(x, n, w, b, eps):\n    layer = made[n[0]]\n"
        "    layer.weight, layer.bias = nn.Parameter(w), nn.Parameter(b)\n"
        "    layer.eps = eps\n    return layer(x)",
        "LayerNorm",
    ),
    "another norm": (
        "def use(x, n, w, b, eps):\n"
        "    rows = x.reshape(-1, n[0])\n"
        "    return F.group_norm(rows, 1, w, b, eps).reshape(x.shape)",
        "group_norm",
    ),
    "a refusal that is caught": (
        "def use(x, n, w, b, eps):\n"
        "    try: return F.layer_norm(x, n, w, b, eps)\n"
        "    except BaseException: pass\n"
        "    m, v = x.mean(-1, keepdim=True), x.var(-1, correction=0, keepdim=True)\n"
        "    return (x - m) / (v + eps).sqrt() * w + b",
        "layer_norm",
    ),
}


NORM = Exercise(
    "layer_norm",
    forbidden=("layer_norm", "LayerNorm", "native_layer_norm", "group_norm"),
)


@NORM.case(title="a batch of sequences", points=2)
def norm_batch(layer_norm, rng):
    return layer_norm(tensor(rng, 3, 5, 6), tensor(rng, 6), tensor(rng, 6))


@NORM.case(title="an eps of its own")
def norm_eps(layer_norm, rng):
    return layer_norm(tensor(rng, 2, 3, 4), tensor(rng, 4), tensor(rng, 4), 0.3)


class OneExercise(Topic):
    """A topic of this file alone."""

    def reference(self, exercise: str):
        """The answer above."""
        return defined(BY_HAND, exercise)

    def mistakes(self, exercise: str) -> list:
        """None are known."""
        return []


@cache
def asked() -> tuple:
    seeds = public_seeds(NORM)
    return NORM, expect(OneExercise("norms", {NORM.name: NORM}), NORM, seeds)


def defined(source: str, name: str):
    module = types.ModuleType("notebook")
    module.__dict__.update(torch=torch, F=F, nn=nn, np=np)
    exec(source, module.__dict__)
    return module.__dict__[name]


def report_on(implementation, refuse: bool = True):
    """The report on an answer, with or without what an exercise forbids refusing."""
    exercise, expected = asked()
    given = [
        decode(
            answer_by_hand(exercise, case, implementation, seed)
            if refuse
            else answer(case, implementation, seed)
        )
        for case, seed in zip(exercise.cases, expected.seeds, strict=True)
    ]
    return judge(exercise, given, expected)


@pytest.mark.parametrize("way", LAYER_NORMS)
def test_a_library_norm_is_refused_however_it_is_reached(way):
    source, named = LAYER_NORMS[way]
    implementation = defined(f"{source}\n{CALLS}", "layer_norm")
    free = report_on(implementation, refuse=False)
    assert free.score > free.max_score / 2, [case.message for case in free.cases]
    report = report_on(implementation)
    assert report.score == 0
    assert report.message.startswith(
        f"uses {named}, which this exercise asks you to build yourself. May be used: "
        "everything but what you build here"
    )


q = torch.randn(1, 2, 16, 8)
sequence = torch.randn(3, 1, 8)
encoder_layer = nn.TransformerEncoderLayer(8, 2, 5, 0.0)
heads = nn.MultiheadAttention(8, 2)


class OwnLayer(nn.TransformerEncoderLayer):
    """A subclass that does nothing."""


OTHER_CALLS = {  # the exercise that forbids it, a call, and what is called
    "a layer of several heads": (
        *("multi_head", "MultiHeadAttention"),
        lambda: nn.MultiheadAttention(8, 2),
    ),
    "one that was made before": (
        *("multi_head", "MultiHeadAttention"),
        lambda: heads(sequence, sequence, sequence),
    ),
    "a layer that holds one": (
        *("multi_head", "MultiHeadAttention"),
        lambda: nn.TransformerEncoderLayer(8, 2, 5),
    ),
    "a layer": (
        *("transformer", "EncoderLayer"),
        lambda: nn.TransformerEncoderLayer(8, 2, 5),
    ),
    "its subclass": ("transformer", "EncoderLayer", lambda: OwnLayer(8, 2, 5)),
    "its forward": (
        *("transformer", "EncoderLayer"),
        lambda: nn.TransformerEncoderLayer.forward(encoder_layer, sequence),
    ),
    "a stack": (
        *("transformer", "Encoder"),
        lambda: nn.Transformer(8, 2, 1, 1, 5),
    ),
}


@pytest.mark.parametrize("way", OTHER_CALLS)
def test_what_other_exercises_rebuild_is_refused(way):
    topic, name, call = OTHER_CALLS[way]
    forbidden = load_topic(topic).exercises[name].forbidden
    with refusing(forbidden) as called, pytest.raises(ForbiddenCall):
        call()
    assert called
    assert set(called) <= set(forbidden)


@pytest.mark.parametrize("namespace", [F, torch.ops.aten])
def test_attention_is_refused_in_torchs_namespace_and_in_atens(namespace):
    name = "scaled_dot_product_attention"
    with refusing((name,)) as called, pytest.raises(ForbiddenCall):
        getattr(namespace, name)(q, q, q)
    assert set(called) == {name}


def test_what_an_exercise_does_not_forbid_may_be_called():
    with refusing(load_topic("transformer").exercises["EncoderLayer"].forbidden) as no:
        x = torch.randn(1, 3, 8, requires_grad=True)
        y = nn.LayerNorm(8)(nn.MultiheadAttention(8, 2, batch_first=True)(x, x, x)[0])
        F.scaled_dot_product_attention(y, y, y).sum().backward()
        nn.Transformer.generate_square_subsequent_mask(3)
        import tqdm  # noqa: F401
    assert no == []


def state() -> list:
    """What is replaced while a case runs."""
    mode = torch.overrides._get_current_function_mode()
    return [nn.LayerNorm.__init__, nn.LayerNorm.forward, mode]


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt, SystemExit])
def test_all_is_given_back_however_a_case_ends(error):
    before = state()
    with (
        contextlib.suppress(BaseException),
        refusing(["layer_norm", "LayerNorm"]),
    ):
        assert all(now is not was for now, was in zip(state(), before, strict=True))
        if error:
            raise error
    assert state() == before
    F.layer_norm(nn.LayerNorm(3)(torch.ones(2, 3)), (3,))


def test_one_refused_case_costs_its_exercise_and_nothing_after_it():
    exercise, expected = asked()
    calls = defined(f"use = F.layer_norm\n{CALLS}", "layer_norm")
    right = defined(BY_HAND, "layer_norm")
    given = [
        decode(answer_by_hand(exercise, case, right if n else calls, seed))
        for n, (case, seed) in enumerate(
            zip(exercise.cases, expected.seeds, strict=True)
        )
    ]
    assert [one.called for one in given] == ["layer_norm"] + [None] * (len(given) - 1)
    assert judge(exercise, given, expected).score == 0
    report = report_on(right)
    assert report.score == report.max_score


def test_an_answer_that_raises_such_an_error_itself_is_not_refused():
    def layer_norm(*_):
        raise ForbiddenCall("layer_norm is what this exercise asks you to build")

    report = report_on(layer_norm)
    assert (report.score, "uses" in report.message) == (0, False)


def test_a_name_that_no_exercise_forbids_is_not_repeated_to_anybody():
    exercise, expected = asked()
    given = [decode(encode_refusal("the question"))] * len(exercise.cases)
    report = judge(exercise, given, expected)
    assert report.score == 0
    assert "question" not in report.message
    assert "layer_norm" in report.message


def test_check_says_what_was_called_and_what_may_be_used(capsys):
    class EncoderLayer(nn.TransformerEncoderLayer):
        """Torch's own."""

    assert check(EncoderLayer) == 0
    out = capsys.readouterr().out
    assert (
        "uses TransformerEncoderLayer, which this exercise asks you to build yourself"
        in out
    )


# Honest uses, outside of a case: comparisons beside an answer, and tests of it.
BESIDE = """
import torch
from torch import nn
{answer}
theirs = nn.TransformerEncoderLayer(8, 2, 5, 0.0, batch_first=True)
ours, x = EncoderLayer(8, 2, 5), torch.randn(2, 3, 8)
ours.load_state_dict(theirs.state_dict())
torch.testing.assert_close(ours(x), theirs(x))
EncoderLayer.reference = nn.TransformerEncoderLayer
"""
INHERITS = """
class EncoderLayer(Theirs):
    def __init__(self, d_model, num_heads, d_ff, norm_first=False, activation=F.relu,
                 eps=1e-5):
        super().__init__(d_model, num_heads, d_ff, 0.0, activation, eps, True,
                         norm_first)
    def forward(self, x, mask=None, padding_mask=None):
        mask = None if mask is None else ~mask
        return super().forward(x, mask, None if padding_mask is None else ~padding_mask)
"""


@pytest.fixture(scope="module")
def graded(needs_sandbox):
    """Grades a notebook with these answers and cells above them."""
    topic = load_topic("transformer")
    master = student_notebook(source_notebook("transformer"))
    expected = expected_answers(topic, draw_seeds(topic, b""))

    def graded(cells=(), **answers):
        data = submission(master, {**right_answers("transformer"), **answers})
        data["cells"][1:1] = [code_cell(source) for source in cells]
        limits = Limits(cell_seconds=20, submission_seconds=60)
        done = examine(master, data, topic, expected, limits, servers=fork_servers())
        return {found["name"]: found for found in done.report["exercises"]}

    return graded


def test_a_notebook_that_compares_answers_with_the_library_has_full_points(graded):
    found = graded(
        ["from torch.nn import TransformerEncoderLayer\nTransformerEncoderLayer(8, 2)"],
        EncoderLayer=BESIDE.format(answer=right_answers("transformer")["EncoderLayer"]),
    )
    lost = [n for n, found in found.items() if found["score"] < found["max_score"]]
    assert lost == []


def test_a_refused_call_in_a_notebook_costs_its_own_exercise_alone(graded):
    setup = "from torch import nn\nTheirs = nn.TransformerEncoderLayer"
    found = graded([setup], EncoderLayer=INHERITS.strip())
    lost = [n for n, found in found.items() if found["score"] < found["max_score"]]
    assert lost == ["EncoderLayer"]
    assert found["EncoderLayer"]["score"] == 0
    assert found["EncoderLayer"]["message"].startswith(
        "uses TransformerEncoderLayer, which this"
    )
