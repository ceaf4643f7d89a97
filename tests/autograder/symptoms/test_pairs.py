"""Two slips at once are told as the two that they are, and nothing untrue is told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from autograder import slips
from autograder.answers import Answer, answer, decode
from autograder.diagnosis import says_why
from autograder.exercise import load_topic
from autograder.expected import expect, public_seeds
from autograder.judge import judge
from autograder.rows import disagreement
from autograder.symptoms.outcomes import Outcome
from autograder.symptoms.search import find_change
from autograder.variants import Role
from tests.autograder.student_answers import student
from tests.autograder.unnamed import told as told_of

TOPIC = load_topic("qkv_projections")
EXERCISE = TOPIC.exercises["similarity"]
SEEDS = public_seeds(EXERCISE)
EXPECTED = expect(TOPIC, EXERCISE, SEEDS)
MISTAKES = {m.name: m for m in TOPIC.mistakes("similarity")}

# One exercise of each chapter that is cheap to judge, and returns numbers.
CHEAP = {
    "decoding": "cached_attention",
    "efficient_attention": "online_softmax_sum",
    "language_model": "perplexity",
    "looking_inside": "logit_lens",
    "masking": "additive_mask",
    "modern_attention": "swiglu",
    "multi_head": "merge_heads",
    "positional_encoding": "sinusoidal_encoding",
    "pretrained": "mean_pool",
    "qkv_projections": "similarity",
    "scaling": "softmax_jacobian",
    "score_functions": "additive_score",
    "seq2seq": "sequence_loss",
    "simplified_attention": "softmax",
    "training": "sequence_cross_entropy",
    "transformer": "layer_norm",
    "vision_transformer": "attention_rollout",
    "vit_patches": "patchify",
}


def reverse(result):
    return result[::-1].copy() if isinstance(result, np.ndarray) else result.flip(0)


SECOND = {
    "times 3.": lambda result: 3 * result,
    "wrong sign": lambda result: -result,
    "plus 1.": lambda result: result + 1,
    "transposed": lambda result: result.swapaxes(-1, -2),
    "reverse order": reverse,
}


def report(implementation):
    given = [
        decode(answer(case, implementation, seed))
        for case, seed in zip(EXERCISE.cases, SEEDS, strict=True)
    ]
    return judge(EXERCISE, given, EXPECTED)


def both(first, second):
    """A version with a slip of the bank, and a second one in its result."""

    def changed(*arguments, **options):
        return second(first(*arguments, **options))

    return changed


def answers(exercise, implementation, seeds):
    return [
        decode(answer(case, implementation, seed))
        for case, seed in zip(exercise.cases, seeds, strict=True)
    ]


def untrue(exercise, found, made, second, bank, expected):
    """What is said of an answer, unless it holds for other data as well."""
    seeds = [seed + 1000 for seed in expected.seeds]  # that nothing was judged with
    theirs = answers(exercise, made, seeds)

    def like(implementation):
        return all(
            right.raised is not None or disagreement(case, one, other) is None
            for case, right, one, other in zip(
                exercise.cases,
                expected.reference,
                answers(exercise, implementation, seeds),
                theirs,
                strict=True,
            )
        )

    def told_again(mistake, message):
        """Whether the other data show the same change, in the same words."""
        outcomes = [
            Outcome(right, given, case.rtol, case.atol, expected.probe.roles(n))
            for n, (case, right, given) in enumerate(
                zip(
                    exercise.cases,
                    answers(exercise, mistake.implementation, seeds),
                    theirs,
                    strict=True,
                )
            )
            if expected.reference[n].raised is None
        ]
        change = find_change(outcomes).split(" (")[0]
        return change and change in message

    if found.mistake:
        holds = like(bank[found.mistake].implementation)
    elif found.message.startswith("Your answer is the one that a known mistake"):
        named = [m for m in bank.values() if m.hint in found.message]
        told = [says for says in SECOND if says in found.message]
        holds = any(
            like(both(m.implementation, SECOND[says])) for m in named for says in told
        ) or any(told_again(m, found.message) for m in named)
    else:  # one slip alone, or an error, explains it: other tests look at these
        return ""
    return "" if holds else f"{second} {found.mistake or found.message}"


@pytest.mark.parametrize(("chapter", "name"), CHEAP.items())
def test_what_is_said_of_two_slips_is_true(monkeypatch, chapter, name):
    monkeypatch.setattr(slips, "WORK", 100_000)  # whatever is said has to be true
    topic = load_topic(chapter)
    exercise = topic.exercises[name]
    expected = expect(topic, exercise, public_seeds(exercise))
    bank = {m.name: m for m in topic.mistakes(name)}
    wrong, said = [], 0
    for number, first in enumerate(bank.values()):
        for second in list(SECOND)[number % 2 :: 2]:
            made = both(first.implementation, SECOND[second])
            given = answers(exercise, made, expected.seeds)
            found = judge(exercise, given, expected)
            said += bool(found.mistake or found.message)
            wrong.append(untrue(exercise, found, made, second, bank, expected))
    assert said > len(bank)
    assert "\n".join(filter(None, wrong)) == ""


def test_most_pairs_of_slips_are_explained():
    explained = []
    for first in MISTAKES.values():
        for second in SECOND.values():
            found = report(both(first.implementation, second))
            failed = [case for case in found.cases if not case.passed]
            if failed and not any("was raised" in case.message for case in failed):
                explained.append(found.message != "")
    assert len(explained) > 40
    assert np.mean(explained) > 0.9


def test_mistake_that_explains_most_of_the_failing_cases_is_told_as_a_part():
    unscaled = next(m for n, m in MISTAKES.items() if "scale" in n)
    calls = []

    def similarity(Q, K):
        calls.append(1)
        if len(calls) == 2:  # in this case something that no mistake explains
            return np.random.default_rng(3).standard_normal((len(Q), len(K)))
        return unscaled.implementation(Q, K)

    found = report(similarity)
    failed = sum(not case.passed for case in found.cases)
    assert found.mistake is None
    assert found.message.startswith(f"In {failed - 1} of the {failed} cases that fail")
    assert unscaled.hint in found.message


def test_noise_is_no_pair():
    noise = np.random.default_rng(0)

    def similarity(Q, K):
        return noise.standard_normal((len(Q), len(K)))

    assert not says_why(report(similarity).message)


def test_mistake_is_not_blamed_for_errors_that_are_raised_as_asked():
    def similarity(Q, K):
        if Q.shape[-1] != K.shape[-1]:
            raise ValueError("widths differ")
        return MISTAKES["keys_not_transposed"].implementation(Q, K)

    assert "not raised as it should be" not in report(similarity).message


@pytest.mark.parametrize("factor", [1e200, 1e-200, 5e-324, -1e154, 1e9, 1e308])
def test_no_factor_is_too_large_to_be_judged(factor, caplog):
    right = TOPIC.reference("similarity")
    found = report(lambda Q, K: factor * right(Q, K))
    assert found.score < found.max_score
    assert not caplog.records


def test_explanation_that_fails_costs_no_marks(monkeypatch, caplog):
    def fail(*_):
        raise ZeroDivisionError

    monkeypatch.setattr("autograder.diagnosis.find_cause", fail)
    right = TOPIC.reference("similarity")
    found = report(lambda Q, K: right(Q, K) if len(Q) > 4 else -right(Q, K))
    assert 0 < found.score < found.max_score
    assert found.message == ""
    assert "no reason" in caplog.text


@pytest.mark.parametrize(
    ("dropout", "in_evaluation"),
    [
        (("dropout=0, ", ""), True),
        (
            ("z = self.embedding(images)", "z = F.dropout(self.embedding(images))"),
            False,
        ),
    ],
)
def test_a_mistake_that_dropout_hides_in_training_is_found_in_evaluation(
    dropout, in_evaluation
):
    topic = load_topic("vision_transformer")
    exercise = topic.exercises["VisionTransformer"]
    expected = expect(topic, exercise, public_seeds(exercise))
    made = student(exercise.name, dropout, ("        z = self.norm(z)\n", ""))
    message = judge(exercise, answers(exercise, made, expected.seeds), expected).message
    told = message.startswith("In evaluation") and "left out the last norm" in message
    assert told is in_evaluation, message


def told_by(chapter, name, made):
    topic = load_topic(chapter)
    exercise = topic.exercises[name]
    expected = expect(topic, exercise, public_seeds(exercise))
    return judge(exercise, answers(exercise, made, expected.seeds), expected).message


def test_what_sets_an_answer_apart_from_a_mistake_is_told_if_it_is_one_number():
    def gated_by_a_naive_sigmoid(x, W_gate, W_up, W_down):
        return (1 / (1 + np.exp(-(x @ W_gate))) * (x @ W_up)) @ W_down

    message = told_by("modern_attention", "swiglu", gated_by_a_naive_sigmoid)
    assert "The gate is a sigmoid alone." in message
    assert message.endswith(
        "In the other, the two differ only in “the number of warnings”."
    )


def test_an_error_in_the_cases_that_a_mistake_does_not_explain_is_told():
    def one_too_many(lengths, max_length):
        return torch.arange(max_length)[None] <= lengths[:, None]

    message = told_by("masking", "padding_mask", one_too_many)
    assert "You allow one position too many" in message
    assert message.endswith("In the other, an error is raised.")


def without(chapter, name, mistake, made):
    """What is said of an answer by a bank that does not know this mistake."""
    topic = load_topic(chapter)
    exercise = topic.exercises[name]
    expected = expect(topic, exercise, public_seeds(exercise))
    others = [m for m in expected.mistakes if m.name != mistake]
    assert len(others) < len(expected.mistakes)
    given = answers(exercise, made, expected.seeds)
    return judge(exercise, given, replace(expected, find_mistakes=lambda: others))


def test_mistake_that_a_change_takes_back_is_not_told():
    def similarity(queries, keys):
        return queries @ keys.T / int(np.sqrt(keys.shape[1]))

    said = without("qkv_projections", "similarity", "scale_rounded_down", similarity)
    assert "known mistake" not in said.message.replace("No known mistake", "")


def test_infinite_logits_are_not_taken_for_an_overflow():
    def filter_logits(logits, top_k=None, top_p=None):
        if top_k is not None:
            kth = logits.topk(min(top_k, logits.shape[-1])).values[..., -1:]
            logits = logits.masked_fill(logits < kth, -torch.inf)
        if top_p is not None and top_p < 1:
            ascending, order = logits.sort(dim=-1)
            cut = ascending.softmax(-1).cumsum(-1) <= 1 - top_p
            cut[..., -1] = False
            cut = torch.zeros_like(cut).scatter(-1, order, cut)
            logits = logits.masked_fill(cut, -torch.inf)
        return logits.clone()

    name = "equals_as_a_sort_leaves_them"
    said = without("language_model", "filter_logits", name, filter_logits)
    assert said.score == said.max_score - 2
    assert "known mistake gives, but for" not in said.message
    said = told_by("language_model", "filter_logits", filter_logits)
    assert "stable=True" in said


def test_input_that_is_changed_is_told_before_what_may_follow_from_it():
    right = load_topic("language_model").reference("filter_logits")

    def filter_logits(logits, top_k=None, top_p=None):
        if top_k and top_k > 0:
            logits.copy_(right(logits, top_k))
        return right(logits, top_k, top_p)

    name = "top_k_overwrites"
    said = without("language_model", "filter_logits", name, filter_logits).message
    assert said.startswith("`logits` is different after the call: something was chan")
    assert "Mend that first; other differences may follow from it." in said


def test_mistake_on_one_of_two_ways_through_the_code_is_told():
    right = load_topic("simplified_attention").reference("soft_lookup")

    def soft_lookup(query, keys, values, temperature=1.0):
        found = right(query, keys, values, temperature)
        return values[(keys @ query).argmax()] if temperature < 1 else found

    name = "exact_lookup_when_cool"
    said = without("simplified_attention", "soft_lookup", name, soft_lookup).message
    (exact,) = [
        m.hint
        for m in load_topic("simplified_attention").mistakes("soft_lookup")
        if m.name == "exact_lookup"
    ]
    assert said.startswith("Where your result is wrong, it is the one that a known mis")
    assert exact in said
    assert "your result is right: so only one of several ways" in said


def test_mistake_in_one_of_several_results_is_told():
    right = load_topic("multi_head").reference("in_projection")

    def in_projection(query, key, value, w_q, w_k, w_v, bias=None):
        found = [*right(query, key, value, w_q, w_k, w_v, bias)]
        found[1] = right(query, key, value, w_q, w_k, w_v)[1]
        return tuple(found)

    said = told_by("multi_head", "in_projection", in_projection)
    assert said.startswith("Of the three results, the second is wrong and the others")
    assert "a known mistake would give it: You left out the bias." in said


def test_mistake_is_named_whatever_checks_say_that_refuse_as_much():
    def additive_score(S, H, W_a, V_a, v_a):
        if W_a.shape[1] != S.shape[1] or V_a.shape[1] != H.shape[1]:
            raise ValueError("W_a belongs to S, and V_a to H")
        return np.tanh((S @ W_a.T)[:, None] + (H @ V_a.T)[None]) @ v_a

    topic = load_topic("score_functions")
    exercise = topic.exercises["additive_score"]
    expected = expect(topic, exercise, public_seeds(exercise))
    given = answers(exercise, additive_score, expected.seeds)
    assert judge(exercise, given, expected).mistake == "additive_exchanged"

    def never(S, H, W_a, V_a, v_a):
        raise ValueError("nothing fits")

    given = answers(exercise, never, expected.seeds)
    assert judge(exercise, given, expected).mistake is None


# Where a change shows -----------------------------------------------------------------


def changed(right, given, roles=None):
    """A case in which what a mistake gives was changed."""
    both = Answer(value=right), Answer(value=given)
    return Outcome(*both, 1e-5, 1e-6, roles or {(): Role()})


TABLE = np.arange(12.0).reshape(3, 4) ** 2
NOTHING = np.zeros(3)


@pytest.mark.parametrize(
    ("change", "unchanged"),
    [
        (lambda x: x / 2, [NOTHING]),
        (lambda x: x / 2, [np.full(3, np.nan)]),
        (lambda x: x.T, [np.ones((1, 1)), np.eye(3)]),
        (lambda x: x / x.shape[0], [np.ones((1, 4))]),
    ],
)
def test_results_that_a_change_leaves_alone_are_no_exception(change, unchanged):
    found = [changed(TABLE, change(TABLE)), changed(TABLE.T, change(TABLE.T))]
    said = find_change(found)
    assert said
    same = [changed(x, x) for x in unchanged]
    assert find_change([*found, *same]) == said.replace("3, 4)", "3, 4, 1)")
    other = [changed(TABLE + 1, TABLE + 1)]
    if "sizes" not in said:  # that of another array may be one
        told = find_change([*found, *same, *other])
        assert told == f"{said} Other results are not changed."


def test_change_of_what_is_returned_is_told_beside_a_gradient():
    noise = np.random.default_rng(3).standard_normal((2, 3, 4))
    roles = {(0,): Role()}
    found = [changed([TABLE, noise[0]], [-TABLE, noise[1]], roles)]
    assert find_change(found) == ""
    assert find_change(found, beside=True) == (
        "In what a call returns: Every value has the wrong sign, and is right "
        "otherwise."
    )
    other = [changed([TABLE, noise[0]], [noise[0], noise[1]], roles)]
    assert find_change(other, beside=True) == ""


def test_numbers_in_place_of_truth_values_are_the_change_that_is_told():
    def window(n, window):
        rows, columns = np.arange(n)[:, None], np.arange(n)
        one_too_many = (columns <= rows) & (columns >= rows - window)
        return one_too_many.astype(float)

    said = told_of("sliding_window_mask", window)
    assert "one token too many" in said
    assert "they are real numbers where truth values are asked for" in said
