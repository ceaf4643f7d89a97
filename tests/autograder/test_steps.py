"""An answer that one wrong step of the reference explains is told which one."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from autograder.answers import answer, decode
from autograder.exercise import find_topic
from autograder.expected import public_seeds
from autograder.rows import disagreement
from autograder.steps.altered import altered_steps
from tests.autograder.unnamed import told

# Written as students would, and not as the references are.


def sum_of_squares(x, weight, bias, eps=1e-5):
    centre = torch.einsum("...d->...", x)[..., None] / x.shape[-1]
    squares = torch.einsum("...d,...d->...", x - centre, x - centre)[..., None]
    return weight * (x - centre) * torch.rsqrt(squares + eps) + bias


def norm_over_tokens(query, key, query_weight, key_weight, eps=1e-6):
    def scaled(x, weight):
        return x * weight / np.sqrt((x * x).mean(-2, keepdims=True) + eps)

    q, k = scaled(query, query_weight), scaled(key, key_weight)
    return np.einsum("...nd,...td->...nt", q, k) / query.shape[-1] ** 0.5


class EncoderLayer(nn.Module):
    """Right; each slip below replaces one method."""

    def __init__(
        self, d_model, num_heads, d_ff, norm_first=False, activation=F.relu, eps=1e-5
    ):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1 = nn.LayerNorm(d_model, eps=eps)
        self.norm2 = nn.LayerNorm(d_model, eps=eps)
        self.norm_first, self.activation = norm_first, activation

    def attend(self, x, mask, padding_mask):
        blocked = torch.zeros(len(x), 1, x.shape[1], x.shape[1], dtype=torch.bool)
        if mask is not None:
            blocked = blocked | ~mask
        if padding_mask is not None:
            blocked = blocked | ~padding_mask[:, None, None]
        heads = blocked.expand(-1, self.self_attn.num_heads, -1, -1).flatten(0, 1)
        return self.self_attn(x, x, x, attn_mask=heads)[0]

    def mix(self, x):
        return self.linear2(self.activation(self.linear1(x)))

    def forward(self, x, mask=None, padding_mask=None):
        if self.norm_first:
            y = x + self.attend(self.norm1(x), mask, padding_mask)
            return y + self.mix(self.norm2(y))
        y = self.norm1(x + self.attend(x, mask, padding_mask))
        return self.norm2(y + self.mix(y))


class NoFirstNorm(EncoderLayer):
    def forward(self, x, mask=None, padding_mask=None):
        if self.norm_first:
            return super().forward(x, mask, padding_mask)
        y = x + self.attend(x, mask, padding_mask)
        return self.norm2(y + self.mix(y))


class FirstInputAdded(EncoderLayer):
    def forward(self, x, mask=None, padding_mask=None):
        if not self.norm_first:
            return super().forward(x, mask, padding_mask)
        y = x + self.attend(self.norm1(x), mask, padding_mask)
        return x + self.mix(self.norm2(y))


class FirstNormTwice(EncoderLayer):
    def forward(self, x, mask=None, padding_mask=None):
        if self.norm_first:
            return super().forward(x, mask, padding_mask)
        y = self.norm1(x + self.attend(x, mask, padding_mask))
        return self.norm1(y + self.mix(y))


class AlwaysGelu(EncoderLayer):
    def mix(self, x):
        return self.linear2(F.gelu(self.linear1(x)))


class Encoder(nn.Module):
    def __init__(self, layer, num_layers, norm=None):
        super().__init__()
        copies = [copy.deepcopy(layer) for _ in range(num_layers)]
        self.layers, self.norm = nn.ModuleList(copies), norm

    def forward(self, x, mask=None, padding_mask=None):
        for number in range(len(self.layers) - 1):
            x = self.layers[number](x, mask, padding_mask)
        return x if self.norm is None else self.norm(x)


SLIPS = [
    ("layer_norm", sum_of_squares, "`sum` is taken where `mean` belongs"),
    ("qk_norm_scores", norm_over_tokens, "`mean` is taken along another axis"),
    ("EncoderLayer", NoFirstNorm, "`norm1` is left out"),
    ("EncoderLayer", FirstInputAdded, "the value from before the step with `norm1`"),
    (
        "EncoderLayer",
        FirstNormTwice,
        "`norm1` is used in one place where `norm2` belongs",
    ),
    ("EncoderLayer", AlwaysGelu, "`gelu` is taken, whatever `activation` is"),
    ("Encoder", Encoder, "the last round of a loop is left out"),
]


@pytest.mark.parametrize(("name", "slip", "says"), SLIPS)
def test_the_step_is_named(name, slip, says):
    message = told(name, slip)
    assert message.startswith("A right solution gives your result if one step is wrong")
    assert says in message


def test_the_layer_that_slips_replace_is_right():
    topic = find_topic("EncoderLayer")
    exercise = topic.exercises["EncoderLayer"]
    for case, seed in zip(exercise.cases, public_seeds(exercise), strict=True):
        ours, theirs = (
            decode(answer(case, one, seed))
            for one in (EncoderLayer, topic.reference("EncoderLayer"))
        )
        assert disagreement(case, theirs, ours) is None


# What is altered ----------------------------------------------------------------------


def halves(numbers, floor=0):
    """Halve a number until it is not above a floor; the results."""
    found = []
    while numbers > floor:
        numbers = numbers // 2
        found.append(numbers)
    return found


def root_mean_square(x):
    return np.sqrt(mean_of_squares(x))


def mean_of_squares(x):
    return np.mean(x**2)


def partial_sums(x):
    total, sums = 0.0, []
    for value in x:
        total = total + value
        sums.append(total)
    return sums


def results(reference, *arguments):
    """What is told of each alteration, and what that returns, errors left out."""
    found = []
    for says, altered in altered_steps(reference):
        try:
            found.append((says, altered(*arguments)))
        except Exception:  # alterations may well make no sense
            continue
    return found


def test_functions_that_are_called_are_altered_as_well():
    x = np.array([1.0, 2.0, 5.0])
    found = [
        (says, round(float(value), 9)) for says, value in results(root_mean_square, x)
    ]
    assert ("`sqrt` is left out", 10.0) in found
    assert ("`sum` is taken where `mean` belongs", round(30**0.5, 9)) in found
    assert ("a power is left out", round((8 / 3) ** 0.5, 9)) in found


def test_rounds_of_a_loop_are_left_out_or_repeated():
    found = results(partial_sums, [1.0, 2.0, 5.0])
    assert ("the last round of a loop is left out", [1.0, 3.0]) in found
    assert ("every round of a loop takes the first one", [1.0, 2.0, 3.0]) in found
    assert ("a loop runs in the opposite order", [5.0, 7.0, 8.0]) in found
    assert ("a loop does nothing", []) in found


def test_a_loop_with_a_condition_is_left_alone():
    assert halves(40) == [20, 10, 5, 2, 1, 0]
    assert list(altered_steps(halves)) == []


def test_the_reference_is_as_it_was_after_all_alterations():
    topic = find_topic("EncoderLayer")
    reference = topic.reference("EncoderLayer")
    first = [says for says, _ in altered_steps(reference)]
    assert first == [says for says, _ in altered_steps(reference)]
    assert len(first) > 50
    layer, same = reference(4, 2, 6), topic.reference("EncoderLayer")(4, 2, 6)
    same.load_state_dict(layer.state_dict())
    x = torch.arange(24.0).reshape(2, 3, 4)
    assert torch.equal(layer(x), same(x))


def test_nothing_is_altered_where_there_is_no_text():
    namespace = {}
    exec("def doubled(x):\n    return 2 * x", namespace)
    assert list(altered_steps(namespace["doubled"])) == []
    assert list(altered_steps(len)) == []
    assert list(altered_steps(lambda x: 2 * x)) == []
