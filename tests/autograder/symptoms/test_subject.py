"""A relation that one of several results has is told of that result alone."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest
import torch

from autograder import slips
from autograder.answers import answer, decode
from autograder.exercise import Exercise, Topic, load_topic, topic_names
from autograder.expected import expect, public_seeds
from autograder.judge import judge
from autograder.symptoms.outcomes import Outcome
from autograder.symptoms.structure import exchanged_results

ORDINALS = ("first", "second", "third", "fourth")
RELATIONS = {
    "transposed": lambda x: x.swapaxes(-1, -2),
    "times 3": lambda x: 3 * x,
    "wrong sign": lambda x: -x,
    "plus 1.": lambda x: x + 1,
    "reverse order": lambda x: (
        x[::-1].copy() if isinstance(x, np.ndarray) else x.flip(0)
    ),
    "square of the right one": lambda x: x * x,
}
# Where calls are not known.
OTHERS = "Other calls or results in the cases that fail are right."
SAYS = {"transposed": ("transposed", "last two axes swapped")}


def several():
    """The exercises of the course whose functions return several results."""
    for name in topic_names():
        for exercise in load_topic(name).exercises.values():
            if len(exercise.results) > 1:
                yield name, exercise.name


PARTS = [
    (topic, name, index)
    for topic, name in several()
    for index in range(len(load_topic(topic).exercises[name].results))
]


@functools.cache
def expected_of(topic, name):
    """The right answers, with no known mistake beside them."""
    exercise = load_topic(topic).exercises[name]
    expected = expect(load_topic(topic), exercise, public_seeds(exercise))
    return exercise, replace(expected, find_mistakes=tuple)


def with_one_changed(reference, index, change):
    """The reference, one of whose results is changed; of a class, those of a method."""
    if isinstance(reference, type):
        method = "forward" if issubclass(reference, torch.nn.Module) else "append"
        changed = with_one_changed(getattr(reference, method), index, change)
        return type(reference.__name__, (reference,), {method: changed})

    @functools.wraps(reference)
    def changed(*arguments, **options):
        results = list(reference(*arguments, **options))
        if results[index] is not None:
            results[index] = change(results[index])
        return tuple(results)

    return changed


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("topic", "name", "index"), PARTS)
def test_one_result_of_several_is_named(monkeypatch, topic, name, index, relation):
    monkeypatch.setattr(slips, "SECONDS", 0.0)
    exercise, expected = expected_of(topic, name)
    changed = with_one_changed(
        load_topic(topic).reference(name), index, RELATIONS[relation]
    )
    given = [
        decode(answer(case, changed, seed))
        for case, seed in zip(exercise.cases, expected.seeds, strict=True)
    ]
    said = judge(exercise, given, expected).message
    if said.startswith("Your result is the right one for `"):
        return  # an altered argument, with which the reference gives all of this
    if any(words in said for words in SAYS.get(relation, (relation,))):
        assert f"results, the {ORDINALS[index]}" in said or OTHERS in said
    for number, ordinal in enumerate(ORDINALS):
        if number != index:
            assert f"the {ordinal} is wrong" not in said
            assert f"the {ordinal}: " not in said


twice = Exercise("twice")


@twice.case(title="a call for each of two sizes", points=1)
def two_sizes(twice, rng):
    return twice(rng.standard_normal((3, 5))), twice(rng.standard_normal((4, 2)))


@twice.case(title="once more", points=1)
def once_more(twice, rng):
    return twice(rng.standard_normal((4, 3))), twice(rng.standard_normal((6, 2)))


class Made(Topic):
    def reference(self, exercise):
        return lambda x: np.sinh(x)

    def mistakes(self, exercise):
        return []


def test_of_two_calls_only_one_of_which_is_wrong_nothing_is_told_of_all():
    topic = Made("made_up", {"twice": twice})
    expected = expect(topic, twice, public_seeds(twice))
    given = [
        decode(answer(case, lambda x: np.sinh(x) * (1 + x.shape[1] % 2), seed))
        for case, seed in zip(twice.cases, expected.seeds, strict=True)
    ]
    said = judge(twice, given, expected).message
    wrong = [
        [not np.allclose(r, g) for r, g in zip(right.value, mine.value, strict=True)]
        for right, mine in zip(expected.reference, given, strict=True)
    ]
    assert any(any(row) and not all(row) for row in wrong)
    assert "times 2" in said
    assert said.endswith("Other calls in the cases that fail are right.")


def initial_values_drawn_normal():
    """The reference of a layer, whose weights begin as those of another formula."""
    reference = load_topic("multi_head").reference("MultiHeadAttention")

    class MultiHeadAttention(reference):
        def __init__(self, *sizes, **options):
            super().__init__(*sizes, **options)
            for name, value in self.named_parameters():
                if name.endswith("_weight"):
                    torch.nn.init.xavier_normal_(value)

    return MultiHeadAttention


def test_no_mistake_is_told_whose_change_would_only_undo_it():
    topic = load_topic("multi_head")
    exercise = topic.exercises["MultiHeadAttention"]
    expected = expect(topic, exercise, public_seeds(exercise))
    others = [m for m in expected.mistakes if m.name != "WeightsDrawnNormal"]
    given = [
        decode(answer(case, initial_values_drawn_normal(), seed))
        for case, seed in zip(exercise.cases, expected.seeds, strict=True)
    ]
    said = judge(exercise, given, replace(expected, find_mistakes=lambda: others))
    assert said.max_score - said.score == 1  # all but the initial values is right
    assert "known mistake" not in said.message


def test_three_truth_values_in_another_order_are_an_accident():
    topic = load_topic("vit_patches")
    exercise = topic.exercises["PatchEmbedding"]
    expected = expect(topic, exercise, public_seeds(exercise))
    right = [(True, False, True), (True, True, False)]
    outcomes = [
        Outcome(
            replace(expected.reference[0], value=[np.array(v) for v in right[0]]),
            replace(expected.reference[0], value=[np.array(v) for v in right[1]]),
            0.0,
            0.0,
        )
    ]
    assert exchanged_results(outcomes) == ""


def test_cases_that_count_only_beside_others_are_not_called_right():
    always = Exercise("always")

    @always.case(title="drawn", points=1)
    def drawn(always, rng):
        return always(rng.standard_normal(5))

    @always.case(title="zeros", points=1)
    def zeros(always, rng):
        return always(np.zeros(5))

    topic = Made("made_up", {"always": always})
    expected = expect(topic, always, public_seeds(always))
    given = [
        decode(answer(case, lambda x: 2 * np.sinh(x), seed))
        for case, seed in zip(always.cases, expected.seeds, strict=True)
    ]
    said = judge(always, given, expected)
    assert said.score == 0
    assert said.message == "Every value is the right one times 2."
