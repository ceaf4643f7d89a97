"""An edit of the reference is explained as that edit, or as an earlier one.

The oracle is the edit itself: another implementation, run by the case as a student's
would be.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache
from itertools import islice

import numpy as np
import pytest

from autograder.answers import answer, decode
from autograder.break_exercise import BreakExercise
from autograder.exercise import load_topic
from autograder.expected import expect, public_seeds
from autograder.explain import results, search
from autograder.explain.arguments import wrapped
from autograder.explain.results import ARRANGED, RESULTS, Wrong
from autograder.explain.search import FURTHER, _Edits, _numbers, explain
from autograder.judge import judge
from autograder.reasons import Reason

CHAPTERS = ("simplified_attention", "masking", "scaling", "multi_head", "vit_patches")
EXERCISES = [
    pytest.param(topic, name, id=name)
    for topic in CHAPTERS
    for name, exercise in load_topic(topic).exercises.items()
    if not isinstance(exercise, BreakExercise)
    and name != "PatchEmbedding"  # an edit of it leaves what was in memory
]
SOME = 12  # edits of each reference, as far apart as can be


@pytest.fixture
def without_haste(monkeypatch):
    """However long the processor takes."""
    monkeypatch.setattr(search, "SECONDS", 1e6)


@cache
def asked(topic_name, name):
    """An exercise with its right answers, and no mistake of the bank."""
    topic = load_topic(topic_name)
    exercise = topic.exercises[name]
    expected = expect(topic, exercise, public_seeds(exercise))
    return exercise, replace(expected, find_mistakes=list)


def answers(exercise, implementation, expected):
    return [
        decode(answer(case, implementation, seed))
        for case, seed in zip(exercise.cases, expected.seeds, strict=True)
    ]


def is_wrong_in_value(exercise, given, expected):
    """Whether some case gives another value than the right one, and none an error."""
    report = judge(exercise, given, replace(expected, implementation=None))
    values = [
        one.is_value
        for one, right in zip(given, expected.reference, strict=True)
        if right.is_value
    ]
    return report.score < report.max_score and all(values)


@pytest.mark.parametrize(("topic", "name"), EXERCISES)
def test_every_edit_of_a_reference_is_explained_as_that_or_an_earlier_one(
    topic, name, without_haste
):
    exercise, expected = asked(topic, name)
    edits = _Edits(expected.implementation, exercise.cases, expected)
    told = [tried.edit for tried in islice(edits.all(), search.MOST)]
    order = {edit.says: number for number, edit in reversed([*enumerate(told)])}
    for number in range(0, len(told), max(1, len(told) // SOME)):
        edit = told[number]
        try:
            made = edit.make()
        except Exception:  # it makes no sense here
            continue
        given = answers(exercise, made, expected)
        if not is_wrong_in_value(exercise, given, expected):
            continue
        found = explain(exercise, given, expected)
        lost = any(not np.isfinite(_numbers(one.value)).all() for one in given)
        assert lost or found.reason in (Reason.EDIT, Reason.ERRORS_MISSING), edit.says
        if found.words in order:  # and no relation between the results
            assert order[found.words] <= number


ROWS = np.random.default_rng(5).dirichlet(np.ones(4), (3, 5))  # (3, 5, 4), sum to one
SIGNED = np.random.default_rng(3).normal(size=(3, 5, 4))
VALUES = {  # of what is fitted, by a word of the sentence
    "in the order": (2, 0, 1),
    "softmax gives": (-1, 2.5),
    "times {}": 0.6931,
    "plus": 1.5,
    "lacks": (-2, "last"),
    "one too many": (-2, "last"),
}


def of_row(row):
    """The right and the wrong array of a row of the table."""
    value = next((v for w, v in VALUES.items() if w in row.says), -2)
    start = SIGNED if row.undo else ROWS
    if "opposite" in row.says:
        start = (ROWS > 0.3).astype(float)
    with np.errstate(all="ignore"):
        made = np.asarray(row.edit(start, value))
    return (made, start) if row.undo else (start, made)


@pytest.mark.parametrize("row", RESULTS, ids=lambda r: r.says)
def test_a_row_of_the_table_is_told_or_one_before_it(row):
    right, given = of_row(row)
    wrong = [[Wrong(right, given, 1e-6, 1e-9)]]
    said = results.find(wrong)
    table = ARRANGED if "opposite" in row.says else RESULTS
    told = [found for r in table if (found := r.explains(wrong[0]))]
    assert row.explains(wrong[0]) in told
    assert said == told[0].format("Your result")


PLACED = {
    "NaN in some places": lambda y: np.where(y > 0.3, np.nan, y),
    "infinite in some places": lambda y: np.where(y > 0.3, np.inf, y),
    "in their order, in another shape": lambda y: y.reshape(5, 12),
    "values in another order": lambda y: y.reshape(5, 3, 4).swapaxes(0, 1),
    "another one in each case": lambda y: y * y.max(),
}


@pytest.mark.parametrize("words", PLACED)
def test_where_a_result_is_right_is_told(words):
    wrong = [
        [Wrong(y, PLACED[words](y), 1e-6, 1e-9)]
        for y in (ROWS, np.random.default_rng(8).dirichlet(np.ones(4), (3, 5)))
    ]
    assert words in results.find(wrong, places=True)


def test_what_follows_no_rule_is_told_nothing():
    """Neither does agreement count that a few equal values have by accident."""
    noise = np.random.default_rng(9).normal(size=ROWS.shape)
    for right, given in (
        (ROWS, noise),
        (ROWS, np.sin(40 * ROWS) + noise),
        (np.ones((2, 2)), 2 * np.ones((2, 2))),
    ):
        wrong = [[Wrong(right, given, 1e-6, 1e-9)]]
        assert results.find(wrong) == ""
        assert results.find(wrong, places=True) == ""


def in_place(scores):
    scores -= scores.max(axis=-1, keepdims=True)
    return np.exp(scores)


def changed(change):
    """An implementation that does something with the right result."""
    return lambda right: wrapped(right, lambda f, given: change(f(**given)))


@pytest.mark.parametrize(
    ("name", "made", "said"),
    [
        ("softmax", changed(lambda y: y * np.log(2)), "right result times 0.6931."),
        ("softmax", changed(lambda y: [y]), "A comma at the end of a return"),
        ("softmax", changed(lambda y: None), "Nothing was returned"),
        ("softmax", changed(lambda y: y * np.nan), "NaN everywhere"),
        ("softmax", changed(lambda y: y.sum), "brackets are missing after its name"),
        (
            "softmax",
            lambda _: in_place,
            "Your code changes its argument `scores` in place",
        ),
        (
            "attend",
            changed(lambda both: (2 * both[0], both[1])),
            "What comes out as the output is the right result times 2",
        ),
        ("attend", changed(lambda both: both[::-1]), "come in the order 2, 1"),
        ("attend", changed(lambda both: both[1]), "You return result 2 of 2 alone"),
    ],
)
def test_results_are_explained_through_the_cases(name, made, said):
    exercise, expected = asked("simplified_attention", name)
    given = answers(exercise, made(expected.implementation), expected)
    assert said in explain(exercise, given, expected).words
    without = replace(expected, implementation=None)  # as with an answer key
    assert said in explain(exercise, given, without).words


def softmax_sum_without_maximum(score_blocks, value_blocks):
    pairs = zip(map(np.exp, score_blocks), value_blocks, strict=True)
    parts = [(w.sum(-1, keepdims=True), w @ v) for w, v in pairs]
    total, output = (sum(each) for each in zip(*parts, strict=True))
    return output / np.where(total == 0, 1.0, total)


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize(
    ("topic", "name", "made"),
    [
        ("efficient_attention", "online_softmax_sum", softmax_sum_without_maximum),
        ("positional_encoding", "shift_matrix", lambda _, dim: np.zeros((dim, dim))),
    ],
)
def test_no_step_is_blamed_where_results_are_lost_or_one_number(topic, name, made):
    exercise, expected = asked(topic, name)
    words = explain(exercise, answers(exercise, made, expected), expected).words
    assert "one step" not in words


def test_an_edit_that_would_not_end_is_given_up():
    """Without its limit, a beam grows by a factor of the vocabulary at every step."""
    exercise, expected = asked("decoding", "beam_search")

    def strange(*arguments):
        return np.array([1, 2, 3]), 0.5

    given = answers(exercise, strange, expected)
    start = time.process_time()
    explain(exercise, given, expected)
    assert time.process_time() - start < 3


def test_a_search_ends_when_its_time_is_over(monkeypatch):
    exercise, expected = asked("multi_head", "split_heads")
    edits = _Edits(expected.implementation, exercise.cases, expected)
    for tried in edits.all():
        if tried.made and "reshape" in tried.edit.says:
            given = answers(exercise, tried.made, expected)
            if explain(exercise, given, expected).words == tried.edit.says:
                monkeypatch.setattr(search, "SECONDS", -1)
                assert explain(exercise, given, expected).words != tried.edit.says
                return
    raise AssertionError("no edit of these is found in time")


def softmax_of_columns_that_overflows(scores):
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=0, keepdims=True)


def unscaled_and_hidden_by_zero(query, key, value, mask=None):
    scores = query @ np.swapaxes(key, -1, -2)
    scores = scores if mask is None else np.where(mask, scores, 0)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights = weights / weights.sum(-1, keepdims=True)
    return weights @ value, weights


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize(
    ("topic", "implementation", "name", "says"),
    [
        (
            "simplified_attention",
            softmax_of_columns_that_overflows,
            "softmax",
            "You normalised over the first axis",
        ),
        (
            "masking",
            unscaled_and_hidden_by_zero,
            "scaled_dot_product_attention",
            "You left out the scale",
        ),
    ],
)
@pytest.mark.parametrize("with_bank", [True, False])
def test_of_two_slips_the_first_that_shows_is_told(
    topic, implementation, name, says, with_bank, without_haste
):
    exercise, expected = asked(topic, name)
    if with_bank:
        expected = expect(load_topic(topic), exercise, public_seeds(exercise))
    given = answers(exercise, implementation, expected)
    found = explain(exercise, given, expected)
    assert found.words.endswith(FURTHER)
    assert found.reason == (Reason.MISTAKE if with_bank else Reason.EDIT)
    if with_bank:
        assert says in found.words
