"""An answer that one wrong step of the reference explains is told which one."""

from __future__ import annotations

import ast
import copy
import cProfile
import re
import sys

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from autograder import slips
from autograder.answers import Answer, answer, decode
from autograder.compare import agrees
from autograder.exercise import Exercise, Topic, find_topic
from autograder.expected import expect, public_seeds
from autograder.rows import disagreement
from autograder.slips import Trials, cases_explained
from autograder.steps.altered import steps_of, with_steps
from autograder.steps.statements import dropped
from autograder.variants import DEPTH, Variant, answer_of
from tests.autograder.unnamed import told, told_in
from toolkit.patches import PatchTokens

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


class FirstInputAddedAfter(EncoderLayer):
    def forward(self, x, mask=None, padding_mask=None):
        if self.norm_first:
            return super().forward(x, mask, padding_mask)
        y = self.norm1(x + self.attend(x, mask, padding_mask))
        return self.norm2(x + self.mix(y))


class FixedEpsAsWell(FirstInputAddedAfter):
    def __init__(self, *sizes, eps=1e-5, **more):
        super().__init__(*sizes, **more)


class DefaultLayers(nn.Module):
    """A vision transformer whose layers normalise after the sum and use relu."""

    def __init__(self, size, patch, channels, width, layers, heads, mlp, classes, eps):
        super().__init__()
        if patch < 1 or size % patch or heads < 1 or width % heads:
            raise ValueError("sizes")
        to_tokens = nn.Linear(channels * patch**2, width)
        self.embedding = PatchTokens(to_tokens, (size // patch) ** 2, patch)
        options = {"dropout": 0.0, "layer_norm_eps": eps, "batch_first": True}
        stack = [
            nn.TransformerEncoderLayer(width, heads, mlp, **options)
            for _ in range(layers)
        ]
        self.layers, self.norm = nn.ModuleList(stack), nn.LayerNorm(width, eps=eps)
        self.head = nn.Linear(width, classes)

    def forward(self, images):
        x = self.embedding(images)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)[:, 0])


def vision_transformer(*sizes, eps=1e-6):
    return DefaultLayers(*sizes, eps)


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
    (
        "VisionTransformer",
        vision_transformer,
        "`activation` and `norm_first` are not handed on",
    ),
    ("Encoder", Encoder, "the last round of a loop is left out"),
]


@pytest.mark.parametrize(("name", "slip", "says"), SLIPS)
def test_the_step_is_named(name, slip, says, monkeypatch):
    monkeypatch.setattr(slips, "SECONDS", 600.0)  # however busy the machine is
    message = told(name, slip)
    assert message.startswith("A right solution gives your result if one step is wrong")
    assert says in message


PART = re.compile(r"In (\d) of the (\d) failing cases that ask for a value, this holds")


def test_a_step_that_explains_most_of_the_wrong_cases_is_told_as_a_part():
    message = told("EncoderLayer", FixedEpsAsWell)
    assert "the value from before the step with `norm1`" in message
    explained, of = map(int, PART.match(message).groups())
    assert of / 2 < explained < of
    # Counted without the steps: where it is wrong, is it as with the first slip alone?
    exercise = find_topic("EncoderLayer").exercises["EncoderLayer"]
    right = find_topic("EncoderLayer").reference("EncoderLayer")
    wrong = alike = 0
    for case, seed in zip(exercise.cases, public_seeds(exercise), strict=True):
        one, both, expected = (
            decode(answer(case, version, seed))
            for version in (FirstInputAddedAfter, FixedEpsAsWell, right)
        )
        if disagreement(case, expected, both) is not None:
            wrong += 1
            alike += disagreement(case, one, both) is None
    assert (alike, wrong) == (explained, of)


def test_an_intermediate_result_is_told_by_the_step_before_which_it_was_returned(
    monkeypatch,
):
    monkeypatch.setattr(slips, "SECONDS", 600.0)

    def scores_but_in_empty_rows(scores, mask):
        return scores.masked_fill(~mask & mask.any(-1, keepdim=True), -torch.inf)

    message = told("masked_softmax", scores_but_in_empty_rows)
    assert message.endswith(
        "one step is wrong: `softmax` and all that follows are left out."
    )

    def scores_in_every_row(scores, mask):
        return scores.masked_fill(~mask, -torch.inf)

    message = told("masked_softmax", scores_in_every_row)
    assert message.endswith("one step would be wrong: `softmax` is left out.")
    assert "over the queries" not in message  # no mistake in what is never reached


negative = Exercise("negative")
for number in range(6):

    @negative.case(title=f"case {number}", points=1)
    def drawn(negative, rng):
        return negative(rng.standard_normal(5))


class OneExercise(Topic):
    def reference(self, exercise):
        return np.negative

    def mistakes(self, exercise):
        return []


@pytest.mark.parametrize(
    ("answers", "explained"),
    [
        ("++++++", 6),
        ("++++??", 4),
        ("+++???", 0),  # half of them
        ("?+++++", 0),  # not the first one
        ("+++++ ", 0),  # the step would spoil what is right
    ],
)
def test_a_step_explains_most_of_what_is_wrong_and_spoils_nothing(answers, explained):
    topic = OneExercise("one", {negative.name: negative})
    expected = expect(topic, negative, public_seeds(negative))
    signs = {"+": -1.0, "?": 3.0, " ": 1.0}
    given = [
        Answer(signs[sign] * right.value)
        for sign, right in zip(answers, expected.reference, strict=True)
    ]
    step = Variant("a minus sign is missing", lambda: lambda x: +x)
    wrong = [sign != " " for sign in answers]
    trials = Trials(negative, given, expected, wrong)
    assert cases_explained(trials, step) == explained


def test_the_last_entries_are_taken():
    assert (
        "the last entries are taken where the first ones belong",
        [4, 5],
    ) in results(first_ones, [1, 2, 3, 4, 5], 2)


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


def first_ones(x, count):
    return x[:count]


def partial_sums(x):
    total, sums = 0.0, []
    for value in x:
        total = total + value
        sums.append(total)
    return sums


def results(reference, *arguments):
    """What is told of each alteration, and what that returns, errors left out."""
    found = []
    for step in steps_of(reference):
        try:
            found.append((step.says, with_steps(reference, step)(*arguments)))
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


def test_a_statement_that_is_left_out_is_told_by_what_it_does():
    says = {
        "x = np.tril(x)": "the step with `tril` is left out",
        "x /= x.sum()": "there is no division by a sum",
        "x = x / x.sum()": "there is no division by a sum",
        "x = 3 * x + y.sum()": "the step with `sum` is left out",
        "x.append(1)": "the step with `append` is left out",
        "x |= {}": "one step is left out",
    }
    for text, said in says.items():
        ((found, _),) = dropped(ast.parse(text).body[0])
        assert found == said


def test_a_loop_with_a_condition_is_left_alone():
    assert halves(40) == [20, 10, 5, 2, 1, 0]
    assert list(steps_of(halves)) == []


def test_the_reference_is_as_it_was_after_all_alterations():
    topic = find_topic("EncoderLayer")
    reference = topic.reference("EncoderLayer")
    first = [step.says for step in steps_of(reference) if with_steps(reference, step)]
    assert first == [step.says for step in steps_of(reference)]
    assert len(first) > 50
    layer, same = reference(4, 2, 6), topic.reference("EncoderLayer")(4, 2, 6)
    same.load_state_dict(layer.state_dict())
    x = torch.arange(24.0).reshape(2, 3, 4)
    assert torch.equal(layer(x), same(x))


def test_nothing_is_altered_where_there_is_no_text():
    namespace = {}
    exec("def doubled(x):\n    return 2 * x", namespace)
    assert list(steps_of(namespace["doubled"])) == []
    assert list(steps_of(len)) == []
    assert list(steps_of(lambda x: 2 * x)) == []


# What need not be run -----------------------------------------------------------------


def branching(x, scale=None, signs=(1.0, -1.0)):
    """Nothing here is reached in all cases."""
    total = 0.0
    if scale is not None:
        total = total + np.sum(
            x * scale,
            axis=-1,
        )
    for sign in signs:
        total = total + sign * np.exp(
            x,
        ).mean(axis=-1)
    with np.errstate(all="ignore"):
        total = total - np.sqrt(np.abs(total))
    if np.all(total > 100):
        return np.tanh(total)
    return shifted(total) if scale is None else total


def shifted(x):
    return x + 1.0


branches = Exercise("branches")


@branches.case(title="alone", points=1)
def alone(branches, rng):
    return branches(rng.standard_normal((3, 4)))


@branches.case(title="with a scale, and nothing to add", points=1)
def with_a_scale(branches, rng):
    return branches(rng.standard_normal((3, 4)), scale=2.0, signs=())


class Branches(OneExercise):
    def reference(self, exercise):
        return branching


def left_and_run(topic, exercise):
    """How many versions leave a case as it is, and how many change it.

    Every version is run, and what is left is compared bit by bit.
    """
    expected = expect(topic, exercise, public_seeds(exercise))
    left, changed = 0, 0
    for variant in (*expected.probe.variants, *expected.probe.steps):
        for number, case in enumerate(exercise.cases):
            right = expected.reference[number]
            if not right.is_value:
                continue
            theirs = expected.probe.answer(variant, number)
            same = theirs.is_value and agrees(right.value, theirs.value, 0.0, 0.0)
            if expected.probe.leaves(variant, number):
                assert same, (variant.says, case.title)
                left += 1
            changed += not same
    return left, changed


def test_version_that_is_not_run_would_have_answered_as_the_reference():
    left, changed = left_and_run(Branches("one", {"branches": branches}), branches)
    assert (left, changed) > (30, 50)


@pytest.mark.parametrize("name", ["in_projection_packed", "EncoderLayer"])
def test_versions_of_an_exercise_that_are_not_run_are_right(name):
    topic = find_topic(name)
    left, changed = left_and_run(topic, topic.exercises[name])
    assert min(left, changed) > 50


def test_versions_are_told_apart_in_the_cheapest_wrong_case():
    topic = find_topic("MultiHeadAttention")
    exercise = topic.exercises["MultiHeadAttention"]
    expected = expect(topic, exercise, public_seeds(exercise))
    wrong = [number in (3, 9) for number in range(len(exercise.cases))]
    given = [
        Answer(value=[]) if is_wrong else right
        for is_wrong, right in zip(wrong, expected.reference, strict=True)
    ]
    trials = Trials(exercise, given, expected, wrong)
    swapped = expected.probe.variants[0]
    assert cases_explained(trials, swapped) == 0
    assert trials.spent == expected.probe.cost(9) < expected.probe.cost(3)


def test_version_that_calls_itself_without_end_ends_soon():
    deepest = []

    def endless(x):
        deepest.append(x)
        return endless(x + 1)

    (case, *_), limit = negative.cases, sys.getrecursionlimit()
    assert answer_of(endless, case, 0).raised == "RecursionError"
    assert 100 < len(deepest) <= DEPTH
    assert sys.getrecursionlimit() == limit


def test_reason_is_told_under_a_profiler_and_that_goes_on():
    def negated(x, **options):
        return branching(-x, **options)

    topic, profile = Branches("one", {"branches": branches}), cProfile.Profile()
    with profile:
        message = told_in(topic, branches, negated)
        assert sys.getprofile() is profile
    assert message == "Your result is the right one for `x` with its sign changed."


def test_two_calls_in_a_list_that_are_swapped_are_told_by_their_names():
    def waves(x):
        return np.stack([np.sin(x), np.cos(x)])

    def sums(x):
        return np.stack([x + 1, x - 1])

    said = {step.says for step in steps_of(waves)}
    assert any("`cos`" in says and "`sin`" in says for says in said)
    assert "two neighbouring entries of a list are swapped" in {
        step.says for step in steps_of(sums)
    }
