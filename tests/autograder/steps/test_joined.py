"""Two mistakes of the bank at once are both told, and nothing that does not hold."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
import torch

from autograder import slips, two_slips
from autograder.answers import Answer, answer, decode
from autograder.exercise import find_topic
from autograder.expected import AnswersTo
from autograder.rows import disagreement
from autograder.steps.joined import joined, order_matters
from autograder.symptoms.outcomes import Outcome
from autograder.symptoms.pairs import find_besides, find_both, find_pair, find_part
from autograder.variants import Role
from tests.autograder.unnamed import told


@pytest.fixture(autouse=True)
def _time_enough(monkeypatch):
    """However slow the machine is, and whatever else it does."""
    monkeypatch.setattr(slips, "SECONDS", 600.0)


# Joining ------------------------------------------------------------------------------


def right(x):
    return x + 1


def twice(x):
    return 2 * x + 2


def of_the_opposite(x):
    return (lambda y: right(-y))(x)


def with_an_offset(x, *, offset=10):
    return right(x) + offset


def nothing_of_the_reference(x):
    return x


def test_function_is_made_around_another():
    assert joined(of_the_opposite, twice, right)(3) == twice(-3)
    assert joined(with_an_offset, twice, right)(3) == twice(3) + 10
    assert of_the_opposite(3) == right(-3)  # as it was


def test_function_that_does_not_use_the_reference_is_not_joined():
    assert joined(nothing_of_the_reference, twice, right) is None


def test_reference_is_found_as_a_name_of_its_module():
    topic = find_topic("greedy_decode")
    bank = {m.name: m.implementation for m in topic.mistakes("greedy_decode")}
    reference = topic.reference("greedy_decode")
    made = joined(bank["start_kept"], bank["never_stops"], reference)

    def next_logits(prefix):
        return torch.nn.functional.one_hot(prefix.new_full(prefix[:, 0].shape, 2), 4)

    start = torch.tensor([1, 3])
    ids = made(next_logits, start, 2, 5)
    assert ids.tolist() == [[1, 2, 2, 2, 2, 2], [3, 2, 2, 2, 2, 2]]
    assert isinstance(bank["start_kept"].__globals__["right"], ModuleType)


class Base:
    def first(self):
        return 1

    def second(self):
        return 10

    def both(self):
        return self.first() + self.second()


class WrongFirst(Base):
    def first(self):
        return 2


class WrongSecond(Base):
    def second(self):
        return 20


class FirstDoubled(Base):
    def first(self):
        return 2 * super().first()


class WrongAll(WrongFirst):
    def both(self):
        return 0


def test_classes_become_the_bases_of_one():
    assert joined(WrongFirst, WrongSecond, Base)().both() == 22
    assert joined(WrongFirst, WrongAll, Base) is None
    assert joined(WrongFirst, twice, Base) is None


def test_class_of_which_nothing_would_be_left_is_not_joined():
    assert joined(WrongFirst, FirstDoubled, Base) is None
    assert joined(FirstDoubled, WrongFirst, Base)().both() == 14


def test_order_of_classes_matters_where_both_replace_one_step():
    assert order_matters(WrongFirst, FirstDoubled)
    assert not order_matters(WrongFirst, WrongSecond)
    assert order_matters(of_the_opposite, with_an_offset)


# What is told -------------------------------------------------------------------------


def start_kept_and_no_filling(next_logits, start_ids, end_id, max_length):
    ids = start_ids[:, None]
    over = torch.zeros(len(ids), dtype=torch.bool)
    for _ in range(max_length):
        chosen = next_logits(ids).argmax(-1)
        ids = torch.cat((ids, chosen[:, None]), -1)
        over = over | (chosen == end_id)
        if over.all():
            break
    return ids


def from_start_to_before_the_last_end(step, state, start_id, end_id, max_length):
    word = torch.full((len(state),), start_id)
    words, over = [word], torch.zeros(len(state), dtype=torch.bool)
    for _ in range(max_length):
        logits, state = step(word, state)
        word = torch.where(over, torch.tensor(end_id), logits.argmax(dim=-1))
        over |= word == end_id
        if over.all():
            break
        words.append(word)
    return torch.stack(words, dim=1)


@pytest.mark.parametrize(
    ("name", "wrong", "one", "other"),
    [
        ("greedy_decode", start_kept_and_no_filling, "kept the start", "go on writing"),
        (
            "greedy_translate",
            from_start_to_before_the_last_end,
            "begins with the start token",
            "left the end token out",
        ),
    ],
)
def test_two_mistakes_are_told(name, wrong, one, other):
    message = told(name, wrong)
    assert message.startswith(two_slips.TOGETHER)
    assert one in message
    assert other in message


PAIRS = list(
    itertools.permutations(find_topic("greedy_decode").mistakes("greedy_decode"), 2)
)


@pytest.mark.parametrize("pair", PAIRS[::16], ids=lambda p: f"{p[0].name}-{p[1].name}")
def test_two_that_are_told_do_as_the_answer_does_with_other_inputs(pair):
    topic = find_topic("greedy_decode")
    exercise, reference = (
        topic.exercises["greedy_decode"],
        topic.reference("greedy_decode"),
    )
    made = joined(*(m.implementation for m in pair), reference)
    if made is None or "sampled" in {m.name for m in pair}:
        return
    try:
        message = told("greedy_decode", made)
    except AssertionError:  # one of the two explains it alone, or it is right
        return
    if "The other is a known mistake" not in message:
        return
    bank = topic.mistakes("greedy_decode")
    named = sorted(
        (m for m in bank if m.hint in message), key=lambda m: message.index(m.hint)
    )
    assert len(named) == 2
    said = joined(*(m.implementation for m in named), reference)
    for seed, case in itertools.product(range(3), exercise.cases):
        both = [decode(answer(case, one, 1000 + seed)) for one in (made, said)]
        assert disagreement(case, *both) is None


# Mistakes that show in different cases, and values that are not finite ----------------

RIGHT = [np.arange(5.0) + n for n in range(4)]


def outcomes(given):
    return [
        Outcome(Answer(value=right), Answer(value=np.asarray(one)), 1e-5, 1e-6)
        for right, one in zip(RIGHT, given, strict=True)
    ]


def known(hint, changed, change):
    return hint, [
        Answer(value=change(right) if n in changed else right)
        for n, right in enumerate(RIGHT)
    ]


def doubled(x):
    return 2 * x


def negative(x):
    return -x


ONE, OTHER = known("A.", {0, 2}, doubled), known("B.", {3}, negative)
GIVEN = outcomes([2 * RIGHT[0], RIGHT[1], 2 * RIGHT[2], -RIGHT[3]])


def test_mistakes_that_show_in_different_cases_are_both_told():
    assert find_both(GIVEN, [OTHER, ONE]).endswith("each in cases of its own. A. B.")


@pytest.mark.parametrize(
    "mistakes",
    [
        [ONE],
        [ONE, known("B.", {1}, negative)],
        [ONE, known("B.", {3}, doubled)],
        [ONE, known("B.", {2, 3}, negative)],  # in case 2 it is not what was given
        [ONE, OTHER, known("C.", {3}, negative)],  # which of the two was it?
    ],
)
def test_nothing_is_told_if_a_mistake_does_not_show_where_it_should(mistakes):
    assert find_both(GIVEN, mistakes) == ""


class Asked(Sequence):
    """Answers that note which of them are looked at."""

    def __init__(self, answers):
        self.answers, self.numbers = answers, set()

    def __len__(self):
        return len(self.answers)

    def __getitem__(self, number):
        self.numbers.add(number)
        return self.answers[number]


@pytest.mark.parametrize("find", [find_pair, find_part, find_both])
def test_mistake_that_is_refuted_is_asked_for_nothing_else(find):
    results = [replace(outcome, roles={(): Role()}) for outcome in GIVEN]
    hint, answers = known("C.", {1}, doubled)
    asked = Asked(answers)
    assert find(results, [(hint, asked)]) == ""
    assert asked.numbers <= {0, 1}  # it is wrong in case 1, where the answer is right


def test_answers_to_some_cases_are_looked_at_when_they_are_asked_for():
    asked = Asked(RIGHT)
    some = AnswersTo([0, 2, 3], asked)
    assert (len(some), asked.numbers) == (3, set())
    assert (some[1] == RIGHT[2]).all()
    assert asked.numbers == {2}


def test_mistake_is_told_beside_values_that_are_not_finite():
    everywhere = known("A.", {0, 1, 2, 3}, doubled)
    nan = np.where(np.arange(5) > 2, math.nan, 2 * RIGHT[1])
    given = [2 * RIGHT[0], nan, 2 * RIGHT[2], 2 * RIGHT[3]]
    assert "Of the mistake alone this would be said: A. Then" in find_besides(
        outcomes(given), [everywhere, OTHER]
    )
    assert find_besides(outcomes(given), [everywhere, ("C.", everywhere[1])]) == ""
    given[1] = np.where(np.arange(5) > 2, math.nan, 3 * RIGHT[1])
    assert find_besides(outcomes(given), [everywhere, OTHER]) == ""


def test_mistake_is_told_although_no_case_is_free_of_nan():
    everywhere = known("A.", {0, 1, 2, 3}, doubled)
    given = [np.where(np.arange(5) > 2, math.nan, 2 * right) for right in RIGHT]
    assert "A. Then" in find_besides(outcomes(given), [everywhere, OTHER])


def test_a_few_finite_values_are_no_mistake():
    everywhere = known("A.", {0, 1, 2, 3}, doubled)
    given = [np.where(np.arange(5) > 0, math.nan, 2 * right) for right in RIGHT[:3]]
    assert find_besides(outcomes([*given, 2 * RIGHT[3] * math.nan]), [everywhere]) == ""


def test_what_is_computed_from_nan_is_left_aside_but_nothing_else():
    everywhere = known("A.", {0, 1, 2, 3}, doubled)
    nan = [np.where(np.arange(5) > 2, math.nan, 2 * right) for right in RIGHT]
    roles = {(): Role()}

    def with_roles(gradients):
        *results, case = outcomes([*nan[:3], gradients])
        return [*(replace(result, roles=roles) for result in results), case]

    spoilt = np.where(np.arange(5) > 2, math.nan, 0.0)
    assert "A. Then" in find_besides(with_roles(spoilt), [everywhere])
    assert find_besides(with_roles(np.zeros(5)), [everywhere]) == ""
    assert find_besides(outcomes([*nan[:3], spoilt]), [everywhere]) == ""


def attention_divided_by_the_width(query, key, value, mask=None):
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ValueError("these do not fit")
    scores = query @ key.transpose(-2, -1) / key.shape[-1]
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), -math.inf)
    weights = torch.softmax(scores, -1)
    return weights @ value, weights


def test_scale_is_told_although_rows_without_keys_are_nan():
    message = told("scaled_dot_product_attention", attention_divided_by_the_width)
    assert "You divided by d_k." in message
    assert "NaN or infinite" in message
