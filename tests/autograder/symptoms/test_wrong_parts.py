"""Which part of an answer is wrong is told where all others are right."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from autograder.answers import Answer
from autograder.symptoms.names import NAMES_TOO_MANY, other_names
from autograder.symptoms.outcomes import Outcome, Pair
from autograder.symptoms.parts import wrong_entries, wrong_mode
from autograder.symptoms.shapes import number_for_infinity, other_infinities
from autograder.variants import Role
from tests.autograder.unnamed import told

# As students would write it ---------------------------------------------------------


def packed_layer(state_dict, index):
    start = "bert." if any(name.startswith("bert.") for name in state_dict) else ""

    def of(name):
        return state_dict[f"{start}encoder.layer.{index}.{name}"]

    layer = {}
    for kind in ("weight", "bias"):
        three = [of(f"attention.self.{n}.{kind}") for n in ("query", "key", "value")]
        layer[f"self_attn.in_proj_{kind}"] = torch.cat(three)
        layer[f"self_attn.out_proj.{kind}"] = of(f"output.dense.{kind}")
        layer[f"norm1.{kind}"] = of(f"attention.output.LayerNorm.{kind}")
        layer[f"linear1.{kind}"] = of(f"intermediate.dense.{kind}")
        layer[f"linear2.{kind}"] = of(f"output.dense.{kind}")
        layer[f"norm2.{kind}"] = of(f"output.LayerNorm.{kind}")
    return layer


class WithDropout(nn.Module):
    def __init__(
        self, d_model, num_heads, d_ff, norm_first=False, activation=F.relu, eps=1e-5
    ):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1 = nn.LayerNorm(d_model, eps=eps)
        self.norm2 = nn.LayerNorm(d_model, eps=eps)
        self.norm_first, self.activation = norm_first, activation
        self.dropout = nn.Dropout(0.1)

    def forward(self, x, mask=None, padding_mask=None):
        def attend(x):
            attended, _ = self.self_attn(
                *(x, x, x),
                attn_mask=None if mask is None else ~mask,
                key_padding_mask=None if padding_mask is None else ~padding_mask,
            )
            return self.dropout(attended)

        def mix(x):
            return self.dropout(self.linear2(self.activation(self.linear1(x))))

        if self.norm_first:
            x = x + attend(self.norm1(x))
            return x + mix(self.norm2(x))
        x = self.norm1(x + attend(x))
        return self.norm2(x + mix(x))


class Sequential(nn.Module):
    def __init__(
        self, d_model, num_heads, d_ff, norm_first=False, activation=F.relu, eps=1e-5
    ):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        linear = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.mlp = nn.Sequential(linear[0], nn.ReLU(), linear[1])
        self.norm1 = nn.LayerNorm(d_model, eps=eps)
        self.norm2 = nn.LayerNorm(d_model, eps=eps)
        self.norm_first = norm_first

    def forward(self, x, mask=None, padding_mask=None):
        if self.norm_first:
            x = x + self.attend(self.norm1(x), mask, padding_mask)
            return x + self.mlp(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask, padding_mask))
        return self.norm2(x + self.mlp(x))

    def attend(self, x, mask, padding_mask):
        attn_mask = None if mask is None else ~mask
        padding = None if padding_mask is None else ~padding_mask
        return self.self_attn(x, x, x, attn_mask=attn_mask, key_padding_mask=padding)[0]


def transposed_if_square(weights, values, W_O):
    fits = weights.ndim == values.ndim == 4 and W_O.ndim == 3
    if not fits or weights.shape[3] != values.shape[2] or len(weights) != len(values):
        raise ValueError("sizes")
    if not weights.shape[1] == values.shape[1] == len(W_O):
        raise ValueError("heads")
    if values.shape[3] != W_O.shape[1]:
        raise ValueError("widths")
    if weights.shape[2] == weights.shape[3]:
        weights = weights.mT
    return weights @ values @ W_O


@pytest.mark.parametrize(
    ("name", "slip", "says"),
    [
        (
            "convert_bert_layer",
            packed_layer,
            "Only the entries `self_attn.out_proj.bias`, "
            "`self_attn.out_proj.weight` are wrong.",
        ),
        (
            "EncoderLayer",
            Sequential,
            "Names are missing: `linear1.bias`, `linear1.weight`, "
            "`linear2.bias`, `linear2.weight`. What is there under other names has the "
            "same shapes",
        ),
        ("EncoderLayer", WithDropout, "Exactly what is computed in training is wrong"),
        ("head_contributions", transposed_if_square, "the last two sizes of `weights`"),
    ],
)
def test_the_part_is_told(name, slip, says):
    assert says in told(name, slip)


# Entries ------------------------------------------------------------------------------

NUMBERS = np.arange(6.0)


def outcome(right, given, roles=None):
    return Outcome(Answer(right), Answer(given), 1e-6, 1e-6, roles or {})


def entries(**wrong):
    right = {"layers.0.a": NUMBERS, "layers.1.a": NUMBERS, "b": NUMBERS}
    return outcome(
        right, {**right, **{n.replace("_", "."): v for n, v in wrong.items()}}
    )


def test_entries_of_all_layers_are_one_name():
    both = entries(layers_0_a=NUMBERS + 1, layers_1_a=2 * NUMBERS)
    assert wrong_entries([both]) == (
        "Only the entry `layers.N.a` is wrong (N stands for any number)."
    )


@pytest.mark.parametrize(
    "given",
    [
        [entries()],  # nothing is wrong
        [entries(layers_0_a=NUMBERS + 1)],  # one layer is right
        [entries(b=NUMBERS + 1), outcome(NUMBERS, NUMBERS + 1)],  # so is no entry
        [outcome({"b": NUMBERS}, {"b": NUMBERS + 1})],  # nothing is right
    ],
)
def test_nothing_is_said_of_entries_where_it_would_not_hold(given):
    assert wrong_entries(given) == ""


def test_a_result_that_entries_spoil_says_nothing_about_them():
    one = entries(b=NUMBERS + 1)
    spoiled = outcome(NUMBERS, NUMBERS + 1)  # computed with the entries
    assert wrong_entries([one, one, spoiled]) == "Only the entry `b` is wrong."


# Names --------------------------------------------------------------------------------


def named(*names, size=6):
    return {name: np.zeros(size) for name in names}


def test_missing_names_are_listed_once_for_all_layers():
    right = named("layers.0.a", "layers.1.a", "b")
    said = other_names([outcome(right, named("stack.0.a", "stack.1.a", "b"))])
    assert said.startswith(
        "Names are missing: `layers.N.a` (N stands for any number). "
        "What is there under other names has the same shapes"
    )
    assert "stack" not in said  # a name that a student made up


def test_other_shapes_are_not_what_is_missing():
    said = other_names([outcome(named("a", "b"), {**named("a"), **named("c", size=5)})])
    assert "`b`" in said
    assert "same shapes" not in said
    assert "same shapes" not in other_names([outcome(named("a", "b"), named("a"))])


def test_names_too_many_and_right_names():
    assert other_names([outcome(named("a"), named("a", "b"))]) == NAMES_TOO_MANY
    assert other_names([outcome(named("a"), named("a"))]) == ""
    assert other_names([outcome(NUMBERS, NUMBERS + 1)]) == ""


# Modes --------------------------------------------------------------------------------


def results(*good, training):
    """Results of calls of a module in one mode, and whether each is right."""
    right = [NUMBERS] * len(good)
    given = [NUMBERS + (not g) for g in good]
    roles = {(index,): Role(training=training) for index in range(len(good))}
    return outcome(right, given, roles)


def test_what_only_training_gets_wrong_is_told_of_training():
    one, other = results(False, False, training=True), results(True, training=False)
    assert wrong_mode([one, other]).startswith("Exactly what is computed in training")


def test_what_only_evaluation_gets_wrong_is_told_of_evaluation():
    one, other = results(True, training=True), results(False, False, training=False)
    assert wrong_mode([one, other]).startswith("Exactly what is computed in evaluation")


@pytest.mark.parametrize(
    "given",
    [
        [results(False, False, training=True)],  # never seen in evaluation
        [results(False, True, training=True), results(True, training=False)],
        [results(False, False, training=True), results(False, training=False)],
        [results(False, training=True), results(True, training=False)],  # just once
        [results(False, False, training=None), results(True, training=None)],
    ],
)
def test_nothing_is_said_of_a_mode_where_it_would_not_hold(given):
    assert wrong_mode(given) == ""


# Infinities and sizes -----------------------------------------------------------------


def pair(right, given):
    return Pair(np.array(right), np.array(given), 1e-6, 1e-6)


def test_what_is_cut_too_much_or_too_little():
    inf = np.inf
    right = [1.0, 2.0, -inf, 3.0]
    assert "too much" in other_infinities([pair(right, [1.0, -inf, -inf, 3.0])])
    assert "too little" in other_infinities([pair(right, [1.0, 2.0, 0.0, 3.0])])
    assert other_infinities([pair(right, [-inf, 2.0, 0.0, 3.0])]) is None
    assert other_infinities([pair(right, [1.0, -inf, -inf, 4.0])]) is None
    assert other_infinities([pair([1.0, 2.0], [1.0, -inf])]) is None  # an overflow
    both = [pair([1.0, 2.0], [1.0, -inf]), pair(right, [1.0, -inf, -inf, 3.0])]
    assert "too much" in other_infinities(both)


def test_a_number_in_the_place_of_minus_infinity():
    inf = np.inf
    right = [1.0, -inf, -inf, 3.0]
    told = number_for_infinity([pair(right, [1.0, -1e9, -1e9, 3.0])])
    assert told.startswith("Where minus infinity is asked for, your values are -1e+09,")
    small = [pair(right, [1.0, -65504.0, -65504.0, 3.0])]
    assert "such as -6.55e+04" in number_for_infinity(
        [*small, pair(right, [1.0, -1e38, -1e38, 3.0])]
    )
    for given in (
        [1.0, -1e9, -1e9, 4.0],  # another one is wrong
        [1.0, -1e9, -2e9, 3.0],  # scores that were not hidden
        [1.0, 0.0, 0.0, 3.0],
        [1.0, -1e9, -inf, 3.0],
        [-1e9, -1e9],
    ):
        assert number_for_infinity([pair(right, given)]) is None
    assert number_for_infinity([pair([1.0, 2.0], [1.0, -1e9])]) is None


def test_entry_whose_name_is_a_sentence_is_quoted():
    right = {"x": np.arange(3.0), "`ids` after the call": np.arange(4.0)}
    given = {**right, "`ids` after the call": np.arange(4.0) + 1}
    found = Outcome(Answer(value=right), Answer(value=given), 1e-5, 1e-6)
    said = wrong_entries([found])
    assert said == "Only the entry “`ids` after the call” is wrong."
    given = {**right, "x": np.arange(3.0) + 1}
    said = wrong_entries([Outcome(Answer(value=right), Answer(value=given), 0, 0)])
    assert said == "Only the entry `x` is wrong."
