"""Two slips that only together explain an answer are both told, and nothing untrue."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from autograder import diagnosis, known_pairs, slips, variants
from autograder.answers import Answer, answer, decode
from autograder.diagnosis import STOPPED
from autograder.exercise import Exercise, Mistake, Topic, find_topic
from autograder.expected import expect, public_seeds
from autograder.judge import judge
from autograder.slips import Trials
from autograder.steps.altered import steps_of, with_steps
from autograder.two_slips import TOGETHER, find_two_slips
from autograder.variants import Probe
from tests.autograder.student_answers import student
from tests.autograder.unnamed import told, told_in

# Written as students would, and not as the references or the mistakes are.


def strongest_head_rescaled(attentions):
    identity = torch.eye(attentions[0].shape[-1], dtype=attentions[0].dtype)
    product = identity
    for layer in attentions:
        mixed = torch.amax(layer, 1) + identity
        product = (mixed / mixed.sum(-1, keepdim=True)) @ product
    shares = product[:, 0, 1:]
    return shares / shares.sum(-1, keepdim=True)


def corners_aligned_without_transpose(positions, old_grid, new_grid):
    (h, w), width = old_grid, positions.shape[-1]
    if positions.shape[1] != 1 + h * w:
        raise ValueError("another grid")
    grid = positions[:, 1:].reshape(1, width, h, w)
    grid = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=True)
    return torch.cat([positions[:, :1], grid.reshape(1, -1, width)], dim=1)


def sigmoid_of_the_other_weight(x, W_gate, W_up, W_down):
    return (0.5 * (1 + np.tanh(x @ W_up / 2)) * (x @ W_gate)) @ W_down


def padding_and_one_more(lengths, max_length):
    return torch.arange(max_length)[None, :] > lengths[:, None]


def layer_norm_with_another_weight(x, weight, eps=1e-6):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps) * (1 + weight)


def queries_share_a_key_weights_first(queries, keys, values):
    if len(keys) != len(values):
        raise ValueError("as many keys as values")
    E = queries @ keys.T / np.sqrt(queries.shape[1])
    A = np.exp(E - E.max(axis=0))
    A = A / A.sum(axis=0)
    return A, A @ values


def transposed_and_one_number(weights):
    if weights.ndim < 2 or len({*weights.shape[-2:]}) > 1 or weights.shape[-1] < 2:
        raise ValueError("no maps")
    return torch.diagonal(weights, 1, -2, -1).mean()


def reversed_without_residual(attentions):
    product = None
    for layer in attentions:
        mixed = layer.mean(1) / layer.mean(1).sum(-1, keepdim=True)
        product = mixed if product is None else product @ mixed
    return product[:, 0, 1:]


def values_before_keys_and_norms_exchanged(state_dict, index):
    start = f"encoder.layer.{index}."
    found = {name.removeprefix("bert."): x for name, x in state_dict.items()}
    theirs = {"self_attn.out_proj": "attention.output.dense"}
    theirs |= {"linear1": "intermediate.dense", "linear2": "output.dense"}
    theirs |= {"norm1": "output.LayerNorm", "norm2": "attention.output.LayerNorm"}
    new = {
        f"{ours}.{kind}": found[f"{start}{name}.{kind}"]
        for ours, name in theirs.items()
        for kind in ("weight", "bias")
    }
    for kind in ("weight", "bias"):
        packed = [
            f"{start}attention.self.{n}.{kind}" for n in ("query", "value", "key")
        ]
        new[f"self_attn.in_proj_{kind}"] = torch.cat([found[name] for name in packed])
    return new


def same_token_over_the_length(weights, period):
    N = weights.shape[-1]
    if weights.shape[-2] != N or not 2 <= period < N:
        raise ValueError("a square map and a period in it")
    return sum(weights[..., i, i - period] for i in range(period, N)) / N


SLIPS = [
    (
        "attention_rollout",
        reversed_without_residual,
        "in the wrong order",
        "left the residual connection out",
    ),
    (
        "induction_score",
        same_token_over_the_length,
        "the query's own token",
        "divided by the length of the sequence",
    ),
    (
        "convert_bert_layer",
        values_before_keys_and_norms_exchanged,
        "packed values before keys",
        "exchanged the two norms",
    ),
    ("attention_rollout", strongest_head_rescaled, "strongest head", "divided by"),
    (
        "interpolate_positions",
        corners_aligned_without_transpose,
        "without a transpose",
        "`align_corners` is True, where False belongs",
    ),
    ("swiglu", sigmoid_of_the_other_weight, "sigmoid alone", "`W_gate` and `W_up`"),
    ("padding_mask", padding_and_one_more, "True at the padding", "off by one"),
    ("rms_norm", layer_norm_with_another_weight, "as in layer norm", "`weight` with 1"),
    (
        "attention",
        queries_share_a_key_weights_first,
        "normalised over the queries",
        "in another order",
    ),
    (
        "previous_token_score",
        transposed_and_one_number,
        "exchanged rows and columns",
        "a single number, the mean of all values",
    ),
]


@pytest.mark.parametrize(("name", "wrong", "one", "other"), SLIPS)
def test_both_slips_are_told(name, wrong, one, other):
    message = told(name, wrong)
    assert one in message
    assert other in message


# An exercise of its own, whose slips are known ----------------------------------------

blend = Exercise("blend")


def right_blend(x, y, rate):
    """A formula whose parts stand in functions of their own."""
    return bent(x * y + rate * np.sin(y))


def bent(x):
    return np.tanh(x) + raised(x)


def raised(x):
    return np.exp(x / 2)


def drawn_blend(blend, rng):
    size = int(rng.integers(3, 9))
    x, y = rng.standard_normal(size), rng.standard_normal(size)
    return blend(x, y, float(rng.uniform(2, 3)))


for number in range(4):
    blend.case(title=f"drawn {number}", points=1)(drawn_blend)


@blend.case(title="rates of one and more", points=1)
def drawn_rates(blend, rng):
    return [drawn_blend(blend, rng) for _ in range(2)]


class OneExercise(Topic):
    def reference(self, exercise):
        return right_blend

    def mistakes(self, exercise):
        return []


TOPIC = OneExercise("one", {"blend": blend})
FIRST = {  # slips in the formula, by what is told of them
    "`cos` is taken where `sin` belongs": lambda x, y, r: x * y + r * np.cos(y),
    "`y` is left out as a factor": lambda x, y, r: x + r * np.sin(y),
    "`rate` is left out as a factor": lambda x, y, r: x * y + np.sin(y),
}
SECOND = {
    "`tanh` is left out": lambda z: z + np.exp(z / 2),
    "a difference stands where a sum belongs": lambda z: np.tanh(z) - np.exp(z / 2),
    "`exp2` is taken where `exp` belongs": lambda z: np.tanh(z) + np.exp2(z / 2),
    "there is no division by 2": lambda z: np.tanh(z) + np.exp(z),
}


@pytest.fixture(autouse=True)
def _time_enough(monkeypatch):
    """However slow the machine is, and whatever else it does."""
    monkeypatch.setattr(slips, "SECONDS", 600.0)


@pytest.mark.parametrize("other", SECOND)
@pytest.mark.parametrize("one", FIRST)
def test_two_altered_steps_are_told(one, other):
    message = told_in(
        TOPIC, blend, lambda x, y, rate: SECOND[other](FIRST[one](x, y, rate))
    )
    assert message == (
        "A right solution gives your result if two steps are wrong: "
        f"{one}; and {other}."
    )


def test_steps_of_functions_that_call_each_other_are_altered_together():
    x, y = np.array([1.0, 2.0, 5.0]), np.array([0.0, 4.0, 2.0])
    by_name = {step.says: step for step in steps_of(right_blend)}
    for one, other in itertools.product(FIRST, SECOND):
        both = with_steps(right_blend, by_name[one], by_name[other])
        wanted = SECOND[other](FIRST[one](x, y, 2.0))
        if "sum" not in other:  # two sums stand there
            assert np.allclose(both(x, y, 2.0), wanted)
    z = x * y + 2.0 * np.sin(y)
    assert np.allclose(right_blend(x, y, 2.0), np.tanh(z) + np.exp(z / 2))


def test_two_alterations_of_one_place_are_none():
    step = next(steps_of(right_blend))
    assert with_steps(right_blend, step, step) is None


def test_methods_of_a_class_are_altered_together():
    layer = find_topic("EncoderLayer").reference("EncoderLayer")
    steps = list(steps_of(layer))
    functions = {id(step.change.function): step for step in steps}
    assert len(functions) > 1  # forward and __init__
    assert isinstance(with_steps(layer, *functions.values()), type)


def floored(x, y, rate):
    """The products are rounded."""
    return right_blend(np.floor(x), y, rate)


def rooted(x, y, rate):
    """A root is taken."""
    return right_blend(x, np.sqrt(np.abs(y)), rate)


def rooted_with_the_rest(x, y, rate):
    """A root and a rest are taken."""
    return right_blend(x, np.sqrt(np.abs(y)) + (x - np.floor(x)) ** 2, rate)


class Bank(OneExercise):
    def __init__(self, *mistakes):
        super().__init__("one", {"blend": blend})
        self.known = [Mistake(m.__name__, "blend", m.__doc__, m) for m in mistakes]

    def mistakes(self, exercise):
        return self.known


def both_slips(x, y, rate):
    return right_blend(np.floor(x), np.sqrt(np.abs(y)), rate)


def test_of_mistakes_that_give_the_same_with_a_third_none_is_asserted():
    message = told_in(Bank(floored, rooted), blend, both_slips)
    assert floored.__doc__ in message and rooted.__doc__ in message
    assert "more than one" not in message
    bank = Bank(floored, rooted, rooted_with_the_rest)
    message = told_in(bank, blend, both_slips)
    sure, ways = message.split("more than one that gives it:")
    assert floored.__doc__ in sure and rooted.__doc__ not in sure
    assert f"{rooted.__doc__} Or: {rooted_with_the_rest.__doc__}" in ways


def test_mistake_that_differs_in_the_first_case_is_not_asked_for_the_others():
    calls = []

    def noted(x, y, rate):
        """A root is taken."""
        calls.append(x)
        return rooted(x, y, rate)

    bank = Bank(noted, floored)
    expected = expect(bank, blend, public_seeds(blend))
    given = [
        decode(answer(case, floored, seed))
        for case, seed in zip(blend.cases, expected.seeds, strict=True)
    ]
    assert judge(blend, given, expected).mistake == "floored"
    assert len(calls) == 1


def test_altered_mistake_does_not_enter_the_bank():
    topic = find_topic("attention_rollout")
    before = topic.mistakes("attention_rollout")
    mistake = before[0].implementation
    made = [with_steps(mistake, step) for step in steps_of(mistake)]
    assert made
    assert all(callable(one) for one in made if one is not None)
    assert topic.mistakes("attention_rollout") == before


# What is not told ---------------------------------------------------------------------


def trials(topic, exercise, implementation, errors=()):
    """The trials of an answer, with errors in the place of some of its values."""
    expected = expect(topic, exercise, public_seeds(exercise))
    given = [
        decode(answer(case, implementation, seed))
        for case, seed in zip(exercise.cases, expected.seeds, strict=True)
    ]
    for number in errors:
        given[number] = Answer(raised="RuntimeError")
    return Trials(exercise, given, expected, [True] * len(given))


def cosine_without_tanh(x, y, rate):
    z = x * y + rate * np.cos(y)
    return z + np.exp(z / 2)


def test_nothing_is_tried_after_the_time_and_that_is_said(monkeypatch):
    monkeypatch.setattr(slips, "SECONDS", 0.0)
    tried = trials(TOPIC, blend, cosine_without_tanh)
    assert find_two_slips(tried, []) == ""
    assert tried.stopped
    assert told_in(TOPIC, blend, cosine_without_tanh).endswith(STOPPED)


def test_nothing_is_tried_after_the_work_and_that_is_said(monkeypatch):
    monkeypatch.setattr(slips, "WORK", 0)
    monkeypatch.setattr(known_pairs, "WORK", 0)
    tried = trials(TOPIC, blend, cosine_without_tanh)
    assert find_two_slips(tried, []) == ""
    assert tried.stopped
    assert told_in(TOPIC, blend, cosine_without_tanh).endswith(STOPPED)


def test_answer_is_told_the_same_although_all_was_tried_before(monkeypatch):
    """Answers that are kept make a search faster, and it tries no more for that."""
    topic = find_topic("EncoderLayer")
    exercise = topic.exercises["EncoderLayer"]
    no_mask = ("attn_mask=hidden, ", "")
    other_sum = ("out = s + self.linear2(h)", "out = x + self.linear2(h)")
    wrong = student("EncoderLayer", no_mask, other_sum)
    known = expect(topic, exercise, public_seeds(exercise))
    given = [
        decode(answer(case, wrong, seed))
        for case, seed in zip(exercise.cases, known.seeds, strict=True)
    ]
    found = {judge(exercise, given, known).message}  # all is tried
    for work in (20_000, 100_000, 400_000):
        monkeypatch.setattr(slips, "WORK", work)
        monkeypatch.setattr(known_pairs, "WORK", work // 4)
        anew = Probe(
            topic.reference("EncoderLayer"),
            exercise.cases,
            known.seeds,
            partial(topic.mistakes, "EncoderLayer"),
        )
        cold = replace(known, probe=anew, find_mistakes=lambda: known.mistakes)
        first = judge(exercise, given, cold).message
        assert judge(exercise, given, known).message == first
        found.add(first)
    assert len(found) > 1  # the limit did cut searches off


class Together:
    """What processes share that have the same seeds: texts of JSON, by their names."""

    def __init__(self):
        self.kept = {}

    def memoise(self, name, compute):
        if name not in self.kept:
            self.kept[name] = json.dumps(compute())
        return json.loads(self.kept[name])

    def told(self, name, wrong, monkeypatch):
        """What another process says of an answer, and how many versions it runs."""
        topic = find_topic(name)
        exercise, ran = topic.exercises[name], []
        known = expect(topic, exercise, public_seeds(exercise), self.memoise)
        given = [
            decode(answer(case, wrong, seed))
            for case, seed in zip(exercise.cases, known.seeds, strict=True)
        ]

        def run(version, case, seed):
            ran.append(case.title)
            return answer(case, version, seed)

        with monkeypatch.context() as patch:
            patch.setattr(variants, "encoded_answer_of", run)
            return judge(exercise, given, known).message, len(ran), known


def test_versions_are_run_by_the_first_process_that_needs_them(monkeypatch):
    class_ = Together()
    wrong = student(
        "EncoderLayer", ("out = s + self.linear2(h)", "out = s * self.linear2(h)")
    )
    first, ran, known = class_.told("EncoderLayer", wrong, monkeypatch)
    assert known.asking == known.probe.sharing > 0
    second, ran_again, _ = class_.told("EncoderLayer", wrong, monkeypatch)
    assert first == second == told("EncoderLayer", wrong)
    assert ran > 50 + ran_again


def test_costly_versions_are_run_for_nobody_else(monkeypatch):
    monkeypatch.setattr(variants, "MOST", 1_000)
    class_ = Together()
    wrong = student(
        "EncoderLayer", ("out = s + self.linear2(h)", "out = s * self.linear2(h)")
    )
    _, ran, known = class_.told("EncoderLayer", wrong, monkeypatch)
    assert not [name for name in class_.kept if "versions" in name]
    assert ran > 50


def test_work_of_a_case_is_the_same_whenever_it_is_counted():
    topic = find_topic("EncoderLayer")
    exercise = topic.exercises["EncoderLayer"]
    seeds = public_seeds(exercise)
    one, other = (expect(topic, exercise, seeds).probe for _ in range(2))
    counted = [probe.cost(n) for probe in (one, other) for n in range(len(seeds))]
    assert counted[: len(seeds)] == counted[len(seeds) :]
    assert min(counted) > 500


def test_time_for_known_mistakes_is_part_of_the_time_for_all(monkeypatch):
    clock = [0.0]

    def slow(*_):
        clock[0] += 1.0
        return False

    assert TOGETHER in told("swiglu", sigmoid_of_the_other_weight)
    monkeypatch.setattr(slips, "SECONDS", 0.5)
    monkeypatch.setattr(slips.time, "process_time", lambda: clock[0])
    monkeypatch.setattr(diagnosis, "same_answers", slow)
    message = told("swiglu", sigmoid_of_the_other_weight)
    assert TOGETHER not in message
    assert message.endswith(STOPPED)


def test_pair_is_told_of_most_cases_but_not_of_half_of_them():
    wordy = "In 4 of the 5 failing cases"
    one_error = trials(TOPIC, blend, cosine_without_tanh, errors=[1])
    assert find_two_slips(one_error, []).startswith(wordy)
    errors = trials(TOPIC, blend, cosine_without_tanh, errors=[1, 2, 3])
    assert find_two_slips(errors, []) == ""


def test_mistake_that_explains_most_cases_alone_gets_no_second_one():
    class MemoryOverwritten(find_topic("Decoder").reference("Decoder")):
        def forward(self, x, memory, mask=None, memory_padding_mask=None):
            for layer in self.layers:
                padding = memory_padding_mask
                x = memory = layer(x, memory, mask=mask, memory_padding_mask=padding)
            return x if self.norm is None else self.norm(x)

    assert TOGETHER not in told("Decoder", MemoryOverwritten)


def test_a_few_truth_values_say_too_little():
    flag = Exercise("flag")

    @flag.case(title="one", points=1)
    def one(flag, rng):
        return flag(rng.standard_normal(3), rng.standard_normal(3), 1.0) > 0

    topic = OneExercise("one", {"flag": flag})
    few = trials(topic, flag, lambda x, y, rate: -right_blend(x, y, rate))
    assert find_two_slips(few, []) == ""
