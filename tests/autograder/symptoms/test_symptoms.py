"""A wrong answer is told the relation by which it was made, and nothing untrue."""

from __future__ import annotations

import linecache

import numpy as np
import pytest
import torch

from autograder.answers import answer, decode
from autograder.diagnosis import BY_HAND, UNKNOWN, says_why
from autograder.exercise import Exercise, Topic, find_topic
from autograder.expected import expect, public_seeds
from autograder.judge import judge
from autograder.symptoms.functions import sharper_or_flatter
from autograder.symptoms.outcomes import Pair
from autograder.symptoms.places import low_precision, nearly_right
from autograder.symptoms.shapes import another_axis_gone, not_finite
from autograder.symptoms.structure import (
    BYTES_AMONG_NUMBERS,
    BYTES_GIVEN,
    COMPLEX_GIVEN,
    DICTIONARY_GIVEN,
    FUNCTION_GIVEN,
    GENERATOR_GIVEN,
    LIST_GIVEN,
    LISTED_FOR_A_DICTIONARY,
    OBJECTS_GIVEN,
    TEXT_GIVEN,
    TEXTS_GIVEN,
    TOO_LARGE,
)
from autograder.symptoms.zeros import (
    not_finite_besides,
    weights_exchanged,
    zeros_filled,
    zeros_only,
)
from solutions import seq2seq as right_seq2seq
from solutions import simplified_attention as right_first
from solutions import vision_transformer as right_vit
from tests.autograder.unnamed import told as told_of_course
from tests.autograder.unnamed import told_in

scores = Exercise("scores")
both = Exercise("both")
mask = Exercise("mask")
positions = Exercise("positions")
weights = Exercise("weights")
scale = Exercise("scale")


@scores.case(title="two sizes", points=2)
def two_sizes(scores, rng):
    return [
        scores(rng.standard_normal((3, 5)), rng.standard_normal((4, 5))),
        scores(rng.standard_normal((2, 7)), rng.standard_normal((6, 7))),
    ]


@scores.case(title="as many queries as keys", points=1)
def square(scores, rng):
    return scores(rng.standard_normal((4, 6)), rng.standard_normal((4, 6)))


@scores.case(title="queries and keys are unchanged", points=1)
def left_alone(scores, rng):
    Q, K = rng.standard_normal((3, 5)), rng.standard_normal((4, 5))
    return scores(Q, K), Q, K


@scores.case(title="other widths: ValueError", points=1)
def other_widths(scores, rng):
    return scores(np.ones((2, 3)), np.ones((2, 4)))


@both.case(title="weights and output", points=2)
def weights_and_output(both, rng):
    return both(rng.standard_normal((3, 5)), rng.standard_normal((4, 5)))


@both.case(title="gradients", points=1)
def gradients(both, rng):
    Q = torch.from_numpy(rng.standard_normal((3, 5))).requires_grad_()
    K = torch.from_numpy(rng.standard_normal((4, 5)))
    weights, output = both(Q, K)
    (weights.sum() + (output**2).sum()).backward()
    return Q.grad


@both.case(title="other sizes", points=2)
def other_sizes(both, rng):
    return both(rng.standard_normal((2, 3)), rng.standard_normal((6, 3)))


@mask.case(title="a mask", points=1)
def a_mask(mask, rng):
    return mask(int(rng.integers(5, 9)))


@mask.case(title="another mask", points=1)
def another_mask(mask, rng):
    return mask(int(rng.integers(10, 15)))


@positions.case(title="positions", points=1)
def some_positions(positions, rng):
    return positions(int(rng.integers(5, 9)))


@weights.case(title="a table", points=1)
def weights_of_a_table(weights, rng):
    return weights(rng.standard_normal((3, 5)))


@weights.case(title="three each, and a batch", points=1)
def weights_of_a_batch(weights, rng):
    return weights(rng.standard_normal((4, 3))), weights(rng.standard_normal((2, 3, 4)))


@weights.case(title="some weights next to zero", points=1)
def weights_of_large_scores(weights, rng):
    return weights(rng.permutation([0.0, 1.0, 2.5, -3000.0, -5000.0]))


@scale.case(title="drawn", points=1)
def drawn_scales(scale, rng):
    return [scale(int(size)) for size in rng.permutation(np.arange(2, 9))]


def right_weights(e):
    exponentials = np.exp(e - e.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def right_scale(d):
    return d**-0.5


def right_scores(Q, K):
    if Q.shape[-1] != K.shape[-1]:
        raise ValueError("widths differ")
    return Q @ K.T / np.sqrt(Q.shape[-1])


def right_both(Q, K):
    e = Q @ K.swapaxes(0, 1)
    if isinstance(e, torch.Tensor):
        weights = e.softmax(dim=-1)
    else:
        weights = np.exp(e) / np.exp(e).sum(axis=-1, keepdims=True)
    return weights, weights @ K


def right_mask(n):
    return np.tri(n, dtype=bool)


def right_positions(n):
    return 10**9 + np.arange(n) ** 2


class Chapter(Topic):
    def reference(self, exercise):
        return globals()[f"right_{exercise}"]

    def mistakes(self, exercise):
        return []


CHAPTER = Chapter(
    "made_up", {e.name: e for e in (scores, both, mask, positions, weights, scale)}
)


def told(exercise, implementation):
    return told_in(CHAPTER, exercise, implementation)


def changed(result_of):
    """The right function, with something done to its result."""

    def scores(Q, K):
        return result_of(right_scores(Q, K))

    return scores


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (changed(lambda e: 3 * e), "times 3."),
        (changed(lambda e: e / 2), "times 1/2."),
        (changed(lambda e: -e), "wrong sign"),
        (changed(lambda e: e + 1), "plus 1."),
        (changed(lambda e: e.T), "transposed"),
        (changed(lambda e: e[::-1]), "reverse order along the last axis but one"),
        (changed(lambda e: np.roll(e, 1, axis=1)), "moved by 1 position"),
        (changed(lambda e: e[None]), "axis of size one is left over"),
        (changed(lambda e: (e,)), "tuple or list of one"),
        (changed(list), "come as a list"),
        (changed(lambda e: None), "return statement"),
        (changed(lambda e: np.zeros_like(e)), "zero"),
        (changed(lambda e: np.exp(e)), "exponential"),
        (changed(lambda e: np.maximum(e, 0)), "Negative values became zero"),
        (changed(lambda e: e.astype(np.float16).astype(float)), "half precision"),
        (changed(lambda e: e[:, :-1]), "missing at the end of the last axis"),
        (changed(lambda e: e.reshape(-1)), "the shape is another one"),
        (changed(lambda e: e - e.max(axis=-1, keepdims=True)), "differs from row to"),
        (changed(lambda e: e * [[np.nan]]), "NaN"),
        (lambda Q, K: right_scores(Q, K) * np.sqrt(Q.shape[-1]), "square root"),
        (lambda Q, K: right_scores(Q, K) * len(K), "times a size"),
    ],
)
def test_relation_by_which_an_answer_was_made_is_told(wrong, says):
    assert says in told(scores, wrong)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda e: right_weights(2 * e), "scores were multiplied by 2."),
        (lambda e: right_weights(e / 3**0.5), "one over the square root of 3."),
        (lambda e: right_weights(np.log(2) * e), "multiplied by 0.6931."),
        (lambda e: right_weights(e / e.size), "differs between the cases"),
        (lambda e: right_weights(-e), "negative scores"),
    ],
)
def test_softmax_of_other_scores_is_told(wrong, says):
    assert says in told(weights, wrong)


def test_softmax_in_which_too_much_takes_part_has_no_factor_of_its_scores():
    said = told(weights, lambda e: right_weights(np.maximum(e, -5)))
    assert said.startswith("Some weights that should be zero are not, and the others")
    assert "multiplied" not in said


def test_weights_that_are_right_but_for_rounding_have_no_factor_of_their_scores():
    right = right_weights(NUMBERS.reshape(4, 5))
    assert sharper_or_flatter([pair(right, right * (1 + 1e-9))]) is None


def test_weights_that_no_factor_of_the_scores_gives_are_no_such_softmax():
    for wrong in (lambda e: right_weights(e**2), lambda e: right_weights(np.tanh(e))):
        assert "softmax" not in told(weights, wrong)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda d: d**0.5, "one over the right one."),
        (lambda d: 1 / d, "the square of the right one."),
        (lambda d: d**-0.25, "the square root of the right one."),
        (lambda d: 0.5, "same number in every case"),
    ],
)
def test_power_of_the_right_values_is_told(wrong, says):
    assert says in told(scale, wrong)


def test_own_check_that_refuses_what_is_allowed_is_named():
    source = [
        "def weights(e):\n",
        "    if e.ndim:\n",
        "        raise ValueError('no scores')\n",
    ]
    linecache.cache["/answer.py"] = 1, None, source, "/answer.py"
    made: dict = {}
    exec(compile("".join(source), "/answer.py", "exec"), made)
    assert "that you raise yourself" in told(weights, made["weights"])


def test_method_where_its_result_is_asked_for_is_told():
    class Cache(find_topic("KVCache").reference("KVCache")):
        def length(self):
            return 0 if self.keys is None else self.keys.shape[2]

    assert "it needs @property" in told_of_course("KVCache", Cache)
    assert "it needs @property" in told_of_course("softmax", lambda scores: scores.mean)
    reference = find_topic("softmax").reference("softmax")
    negative = told_of_course("softmax", lambda scores: -reference(scores))
    assert "@property" not in negative


def test_one_result_of_several_that_is_none_is_not_nothing_returned():
    assert "Nothing was returned" in told(both, lambda Q, K: None)
    assert "Nothing was" not in told(both, lambda Q, K: (None, right_both(Q, K)[1]))


def test_none_in_every_case_is_nothing_returned_although_cases_name_what_they_show():
    assert "Nothing was returned" in told_of_course("merge_pair", lambda *_: None)


def test_texts_in_the_place_of_numbers_are_told():
    def merge_pair(ids, pair, new_id):
        return [str(one) for one in ids]

    assert told_of_course("merge_pair", merge_pair) == TEXTS_GIVEN


def test_bytes_among_the_numbers_are_told():
    right = find_topic("train_bpe").reference("train_bpe")

    def train_bpe(text, num_merges):
        return [(b"a", other) for _, other in right(text, num_merges)]

    assert told_of_course("train_bpe", train_bpe) == BYTES_AMONG_NUMBERS


@pytest.mark.parametrize("name", ["softmax", "greedy_decode", "kv_cache_bytes"])
@pytest.mark.parametrize(
    ("form", "says"),
    [
        (str, TEXT_GIVEN),
        (lambda result: {"result": result}, DICTIONARY_GIVEN),
        (lambda result: lambda: result, FUNCTION_GIVEN),
        (lambda result: (result,), "they come inside a tuple or list of one"),
    ],
)
def test_what_is_no_array_is_told_as_what_it_is(name, form, says):
    """Whether the cases of an exercise name what they show, or not."""
    right = find_topic(name).reference(name)
    assert says in told_of_course(name, lambda *args, **k: form(right(*args, **k)))


@pytest.mark.parametrize(
    "name", ["cached_attention", "sequence_loss", "sequence_cross_entropy"]
)
@pytest.mark.parametrize(
    ("form", "says"),
    [
        (str, TEXT_GIVEN),
        (lambda result: (result,), "they come inside a tuple or list of one"),
        (lambda result: (result, 1), "others are returned along with it"),
    ],
)
def test_gradient_that_is_lost_with_a_result_does_not_hide_why(name, form, says):
    """From what is no tensor, nothing flows back: that gradient is wrong as well."""
    right = find_topic(name).reference(name)
    assert says in told_of_course(name, lambda *args, **k: form(right(*args, **k)))


def test_gradient_that_is_lost_alone_is_not_explained_by_other_cases():
    right = find_topic("sequence_loss").reference("sequence_loss")

    def lost_or_doubled(logits, targets, pad_id):
        loss = right(logits, targets, pad_id)
        return loss.detach() if loss.requires_grad else (loss,)

    said = told_of_course("sequence_loss", lost_or_doubled)
    assert "they come inside a tuple" not in said


def test_bytes_are_told_from_the_text_that_is_asked_for():
    right = find_topic("bpe_decode").reference("bpe_decode")

    def encoded(ids, merges):
        return right(ids, merges).encode()

    assert told_of_course("bpe_decode", encoded) == BYTES_GIVEN


@pytest.mark.parametrize("value", [0.0, float("nan")])
def test_cases_that_differ_in_shape_alone_are_compared_without_an_error(value, caplog):
    right = find_topic("softmax_with_sink").reference("softmax_with_sink")

    def first(scores, sink):
        return right(scores, sink)[0] + value

    told_of_course("softmax_with_sink", first)
    assert "no reason could be looked for" not in caplog.text


def test_list_within_a_list_of_ids_is_told_where_it_comes_from():
    """A single case gets a regular list, and its entry is not all that is wrong."""

    def merge_pair(ids, pair, new_id):
        merged, i = [], 0
        while i < len(ids):
            found = tuple(ids[i : i + 2]) == pair
            merged.append([new_id] if found else ids[i])
            i += 1 + found
        return merged

    said = told_of_course("merge_pair", merge_pair)
    assert said.startswith("About the TypeError: append puts a list in as one element")


def test_unrelated_answers_are_told_nothing():
    noise = np.random.default_rng(0)
    said = told(scores, changed(lambda e: noise.standard_normal(e.shape)))
    assert said.startswith(UNKNOWN)  # and which case to work out by hand
    assert not says_why(said)
    said = told(scores, changed(lambda e: noise.standard_normal((9, 9, 9))))
    assert said.startswith("Your result has one axis too many")  # and nothing else
    assert said.count(".") == 1
    said = told(both, lambda Q, K: (noise.random((3, 4)), noise.random((3, 5))))
    assert not says_why(said)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda n: right_positions(n) + 1, "the right one plus 1."),
        (lambda n: right_positions(n)[::-1], "in reverse order along the last axis"),
    ],
)
def test_large_integers_are_compared_exactly(wrong, says):
    assert says in told(positions, wrong)


def test_chance_agreement_of_few_values_is_no_relation():
    one_value = Exercise("one")

    @one_value.case(title="one", points=1)
    def one(one, rng):
        return one(rng.standard_normal())

    class One(Topic):
        def reference(self, exercise):
            return lambda x: x + 1

        def mistakes(self, exercise):
            return []

    expected = expect(One("one", {"one": one_value}), one_value, [1])
    given = [decode(answer(one_value.cases[0], lambda x: 17.0, 1))]
    said = judge(one_value, given, expected).message
    assert said == f"{UNKNOWN} {BY_HAND.format('one')}"


def test_altered_arguments_are_told_by_the_names_of_the_parameters():
    assert "`Q` and `K` swapped" in told(both, lambda Q, K: right_both(K, Q))
    said = told(both, lambda Q, K: right_both(-Q, K))
    assert said == "Your result is the right one for `Q` with its sign changed."


def test_input_changed_in_place_is_named():
    def scores_in_place(Q, K):
        result = right_scores(Q, K)
        K *= 2
        return result

    assert "`K` is different after the call" in told(scores, scores_in_place)


def test_input_changed_in_place_is_named_beside_another_reason():
    def halved_in_place(Q, K):
        result = right_scores(Q, K) / 2
        K *= 2
        return result

    said = told(scores, halved_in_place)
    assert "times 1/2" in said or "`K` is different after the call" in said
    assert said.count("`K` is different after the call") == 1

    def sum_over_all(scores):
        scores -= scores.max()
        return np.exp(scores) / np.exp(scores).sum()

    said = told_of_course("softmax", sum_over_all)
    assert "the sum over the whole array" in said
    assert said.endswith(
        "Besides, `scores` is different after the call: something was changed in place."
    )


def test_result_that_is_handed_to_the_next_call_is_no_input_that_was_changed():
    class AttentionDecoder(right_seq2seq.AttentionDecoder):
        def forward(self, token, state, encoder_states, source_mask=None):
            found = super().forward(token, state, encoder_states, source_mask)
            logits, new_state, weights = found
            return logits, new_state.flip(-1) ** 3, weights

    assert "in place" not in told_of_course("AttentionDecoder", AttentionDecoder)


def test_arrays_in_a_list_that_was_passed_are_looked_at_after_the_call():
    def rollout_in_place(attentions):
        attentions.reverse()
        found = right_vit.attention_rollout(attentions[::-1])
        return found

    said = told_of_course("attention_rollout", rollout_in_place)
    assert said.startswith("The results are right, but `attentions` is different")


def test_truth_values_are_not_said_to_be_summed():
    def reshaped(padding, causal):
        wide = causal.reshape(1, 1, padding.shape[1], -1)
        return padding[:, None, None] & wide

    assert "the mean of" not in told_of_course("combine_masks", reshaped)


def test_bfloat16_is_not_taken_for_float32_and_float32_is():
    for dtype, said in ((torch.bfloat16, "float32 or bfloat16"), (None, "float32,")):
        dtype = dtype or torch.float32

        def rounded(logits, targets, padding_id, dtype=dtype):
            loss = right_seq2seq.sequence_loss(logits.to(dtype), targets, padding_id)
            return 1.5 * loss

        topic = find_topic("sequence_loss")
        exercise = topic.exercises["sequence_loss"]
        expected = expect(topic, exercise, public_seeds(exercise))
        given = [
            decode(answer(case, rounded, seed))
            for case, seed in zip(exercise.cases, expected.seeds, strict=True)
        ]
        messages = [c.message for c in judge(exercise, given, expected).cases]
        assert any(f"Yours are {said}" in message for message in messages if message)


def test_results_in_another_order_beside_a_changed_input_are_no_crash():
    def attend(q, X):
        q /= np.sqrt(len(q))
        weights = right_first.softmax(X @ q)
        return weights, weights @ X

    assert "`q` is different after the call" in told_of_course("attend", attend)


def test_wrong_one_of_several_results_is_named():
    def plain_mean(Q, K):
        weights, output = right_both(Q, K)
        return weights, output - output + K.mean(0)

    said = told(both, plain_mean)
    assert said.startswith("Of the two results, the second is wrong and the other")


def test_order_of_results_is_told_although_gradients_cannot_show_it():
    assert "another order" in told(both, lambda Q, K: right_both(Q, K)[::-1])


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda n: ~right_mask(n), "swapped throughout"),
        (lambda n: right_mask(n).T, "transposed"),
        (lambda n: right_mask(n).astype(float), "real numbers where truth values"),
        (lambda n: np.tri(n, k=1, dtype=bool), "too little is hidden"),
        (
            lambda n: right_mask(n) | (np.add.outer(range(n), range(n)) % 3 > 1),
            "too little is hidden. Only what lies above the diagonal is wrong.",
        ),
        (lambda n: np.tri(n, k=-1, dtype=bool), "diagonal"),
        (
            lambda n: right_mask(n) & (np.add.outer(range(n), range(n)) % 3 > 0),
            "too much is hidden",
        ),
        (lambda n: right_mask(n)[None], "axis of size one"),
    ],
)
def test_masks_are_told_which_way_they_err(wrong, says):
    assert says in told(mask, wrong)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda Q, K: np.max(Q, keepdim=True), "NumPy says axis and keepdims"),
        (lambda Q, K: Q @ K, "matrix product"),
        (lambda Q, K: unknown_name, "name is not defined"),  # noqa: F821
        (lambda Q: Q, "parameters"),
        (lambda Q, K: Q if Q > 0 else K, "whole array"),
    ],
)
def test_common_errors_are_lessons(wrong, says):
    assert says in told(scores, wrong)


def test_layer_that_is_made_and_not_called_is_told():
    softmax = torch.nn.Softmax
    assert "A layer stands where" in told_of_course("softmax", lambda scores: softmax())


def test_missing_errors_are_told_when_all_values_are_right():
    def careless(Q, K):
        width = min(Q.shape[-1], K.shape[-1])
        return Q[:, :width] @ K[:, :width].T / np.sqrt(Q.shape[-1])

    assert "All values are right" in told(scores, careless)


def test_no_symptom_tells_an_expected_value():
    expected = expect(CHAPTER, scores, public_seeds(scores))
    values = np.concatenate([part.ravel() for part in expected.reference[0].value])
    said = told(scores, changed(lambda e: np.zeros_like(e)))
    assert not any(f"{abs(value):.2g}" in said for value in values)


def test_huge_answers_are_not_searched():
    assert told(scores, changed(lambda e: np.zeros((600, 600)))) == TOO_LARGE
    assert told(scores, changed(lambda e: np.zeros(5_000_000))) == TOO_LARGE


def test_results_that_hold_no_numbers_are_told_why():
    assert told(scores, changed(lambda e: e.astype(object))) == OBJECTS_GIVEN
    assert told(scores, changed(lambda e: e.astype(complex))) == COMPLEX_GIVEN


def test_empty_results_are_told_so():
    for cut in (lambda e: e[:0], lambda e: e[..., :0], lambda e: np.zeros(0)):
        assert told(scores, changed(cut)).startswith("Your result is empty: one of")


def test_gradient_that_is_cut_off_is_told_from_a_wrong_result():
    def cut(Q, K):
        if isinstance(Q, torch.Tensor):
            weights, output = right_both(Q.detach(), K)
            return weights + 0 * Q.sum(), output
        return right_both(Q, K)

    assert "cuts them off" in told(both, cut)


def test_other_cases_that_raise_are_not_called_right():
    def transposed(Q, K):
        if len(Q) == len(K):
            raise ValueError("square")
        return right_scores(Q, K).T

    said = told(scores, transposed)
    assert "transposed" in said
    assert "right." not in said.partition("swapped.")[2]


# What a small difference, a zero and an infinity mean ---------------------------------


def pair(right, given):
    right, given = np.asarray(right), np.asarray(given)
    kinds = right.dtype.kind, given.dtype.kind
    return Pair(right.astype(float), given.astype(float), 0, 0, None, kinds)


NUMBERS = np.random.default_rng(1).standard_normal(20)


@pytest.mark.parametrize(
    ("given", "precision"),
    [
        (NUMBERS.astype(np.float16), "half"),
        (torch.from_numpy(NUMBERS).bfloat16().double().numpy(), "half"),
        (NUMBERS.astype(np.float32), "single"),
    ],
)
def test_a_precision_is_named_only_if_all_values_have_it(given, precision):
    assert f"rounded to {precision} precision" in low_precision([pair(NUMBERS, given)])
    given = given.astype(float)
    given[3] += 1e-9
    assert low_precision([pair(NUMBERS, given)]) is None


def test_a_precision_that_the_right_values_have_explains_nothing():
    right = NUMBERS.astype(np.float16)
    assert low_precision([pair(right, np.nextafter(right, np.float16(9)))]) is None


def test_values_that_are_nearly_right_have_several_reasons():
    given = NUMBERS * (1 + 1e-4 * np.sin(np.arange(20.0)))
    assert low_precision([pair(NUMBERS, given)]) is None
    assert "another eps, an approximation" in nearly_right([pair(NUMBERS, given)])


def test_a_precision_shows_where_an_eps_decides_as_well():
    def in_half_precision(x, weight, eps=1e-6):
        x, weight, eps = x.astype("f2"), weight.astype("f2"), np.float16(eps)
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + eps) * weight

    said = told_of_course("rms_norm", in_half_precision)
    assert said.startswith("The values are nearly right, and rounded to half precision")
    off = (NUMBERS * (1 + 8e-3 * np.sin(np.arange(20.0)))).astype(np.float32)
    assert low_precision([pair(NUMBERS, off)]) is None  # single precision errs by less


def test_counts_that_are_off_by_a_few_are_not_nearly_right():
    counts = np.array([10_000, 20_500, 33_000, 47_001])
    for detect in (low_precision, nearly_right):
        assert detect([pair(counts, counts + 3)]) is None


def test_ids_that_are_zero_hide_nothing():
    ids, zeros = np.array([3, 7, 2, 5, 9, 4]), np.zeros(6, dtype=int)
    some = np.where(np.arange(6) < 5, zeros, ids)
    assert zeros_only([pair(ids, some)]) is None
    assert "may be hidden" in zeros_only([pair(ids * 1.0, some * 1.0)])
    assert zeros_filled([pair(some, ids + 1)]) is None
    assert "takes part" in zeros_filled([pair(some * 1.0, ids + 1.0)])


def test_others_are_called_right_only_where_there_are_others():
    every, some = NUMBERS * np.nan, np.where(NUMBERS > 0, np.nan, NUMBERS)
    said = not_finite([pair(NUMBERS, every)])
    assert said.startswith("In the cases that fail, every value came out NaN. Look")
    assert "the others are right" in not_finite([pair(NUMBERS, some)])
    infinite = np.full(20, np.inf)
    both = not_finite([pair(NUMBERS, every), pair(NUMBERS, infinite)])
    assert "every value came out NaN or infinite" in both


def test_weights_that_stand_where_zeros_belong_are_told_so():
    rng = np.random.default_rng(0)
    scores, mask = torch.from_numpy(rng.standard_normal((6, 5))), torch.ones(6, 5) > 0
    mask[1:, 3:] = False  # the first row shows everything

    def weights(mask):
        return torch.where(mask, scores, -1e9).softmax(-1).numpy()

    right = weights(mask)
    said = weights_exchanged(2 * [pair(right, weights(~mask))])
    assert "What is hidden and what is not are exchanged" in said
    one = weights_exchanged([pair(right, weights(~mask))])  # it may be an accident
    assert one.endswith("stand where zeros belong.")
    for other in (scores.softmax(-1).numpy(), 0 * right, np.roll(right, 1, axis=-1)):
        assert weights_exchanged([pair(right, other)]) is None
    values = np.where(right > 0, scores.numpy(), 0.0)  # which are no weights
    assert weights_exchanged([pair(values, weights(~mask))]) is None


def test_an_additive_mask_is_told_what_is_wrong_with_it():
    """Its cases give it a name, which is none of the answer's."""
    right = find_topic("additive_mask").reference("additive_mask")
    said = told_of_course("additive_mask", lambda mask, dtype: right(mask, dtype).mT)
    assert said == "Your result is the right one with its last two axes swapped."

    def noise(mask, dtype):
        return torch.randn(mask.shape, dtype=torch.float64).to(dtype)

    said = told_of_course("additive_mask", noise)
    assert said.startswith("None of the values that should be minus infinity is")


def test_axis_that_an_argmax_has_run_along_is_named():
    def over_the_layers(hidden, norm, W_U):
        return (hidden @ W_U).argmax(0)

    said = told_of_course("logit_lens", over_the_layers)
    assert "has lost the first of four axes, where the fourth should be gone" in said


@pytest.mark.parametrize(
    "given",
    [
        [(7, 4, 5), (9, 3, 6)],  # one size alone differs
        [(4, 5, 3), (3, 6, 2)],  # axes in another order
        [(4, 5, 7), (6, 3, 9)],
        [(4, 5), (3, 6)],
    ],
)
def test_other_shapes_are_not_told_to_have_lost_an_axis(given):
    right = [(3, 4, 5), (2, 3, 6)]
    pairs = [pair(np.ones(r), np.ones(g)) for r, g in zip(right, given, strict=True)]
    assert another_axis_gone(pairs) is None


def test_a_changed_input_is_told_once_where_a_known_mistake_tells_it():
    def delta_rule_step(state, key, value, beta):
        found = state @ key if state.shape[0] == state.shape[1] else key @ state
        state += beta * np.outer(key, value - found)
        return state

    said = told_of_course("delta_rule_step", delta_rule_step)
    assert "in place" in said and "different after the call" not in said


def test_exponentials_that_overflow_are_told_what_nan_comes_from():
    def of_exponentials(score_blocks, value_blocks):
        e = [scores.exp() for scores in score_blocks]
        total = sum(scores.sum(-1, keepdim=True) for scores in e)
        return sum(w @ v for w, v in zip(e, value_blocks, strict=True)) / total

    said = told_of_course("online_softmax_sum", of_exponentials)
    assert "came out NaN" in said
    assert "infinity divided by infinity" in said


def test_minus_infinity_may_be_a_mask():
    minus = np.where(np.arange(20) < 5, -np.inf, NUMBERS)
    for detect, given in ((not_finite, minus), (not_finite_besides, minus + 1)):
        assert "a mask or a cut that reaches too far" in detect([pair(NUMBERS, given)])
        said = detect([pair(NUMBERS, -given)]) or detect([pair(-NUMBERS, -given)])
        assert "a mask" not in said
        assert "an overflow" in said


# What is returned in another form -----------------------------------------------------


def test_list_in_the_place_of_an_array_is_told_whatever_its_values():
    chunks = told_of_course("split_heads", lambda x, heads: x.chunk(heads, -1))
    assert chunks == LIST_GIVEN
    assert told(scores, changed(lambda e: [*(e.sum() + e)])) == LIST_GIVEN
    assert "values are right" in told(scores, changed(lambda e: [*e]))
    assert told(both, lambda Q, K: [*right_both(Q, K), K]) != LIST_GIVEN


def test_dictionary_in_the_place_of_a_list_is_told():
    learn = find_topic("train_bpe").reference("train_bpe")

    def ids_by_pair(text, num_merges):
        return {pair: 256 + n for n, pair in enumerate(learn(text, num_merges))}

    assert told_of_course("train_bpe", ids_by_pair) == DICTIONARY_GIVEN


def test_empty_list_where_a_list_is_asked_for_is_not_told_to_be_an_array():
    message = told_of_course("merge_pair", lambda ids, pair, new_id: [])
    assert "array" not in message and "gradient" not in message


def test_list_in_the_place_of_a_dictionary_is_told():
    right = find_topic("patching_effect").reference("patching_effect")

    def listed(*arguments):
        return list(right(*arguments).values())

    assert told_of_course("patching_effect", listed) == LISTED_FOR_A_DICTIONARY


@pytest.mark.parametrize("form", [lambda e: (x for x in e), lambda e: map(float, e)])
def test_values_that_are_not_computed_yet_are_told(form):
    assert told(scores, changed(form)) == GENERATOR_GIVEN


def test_rows_of_zeros_are_not_called_a_factor():
    """A return inside of the loop over the rows leaves the others as they were."""

    def first_row_only(S, H, U_a, V_a):
        result = np.zeros((len(S), len(H)))
        result[0] = H @ V_a.T @ U_a @ S[0]
        return result

    message = told_of_course("reduced_rank_score", first_row_only)
    assert "only the first entry is right" in message
    assert "factor" not in message


def test_zeros_in_another_dtype_do_not_hide_a_factor():
    right = find_topic("kv_cache_bytes").reference("kv_cache_bytes")
    message = told_of_course("kv_cache_bytes", lambda *a, **k: right(*a, **k) / 4)
    assert message.startswith("Every value is the right one times 1/4.")


def test_what_most_cases_raise_is_told_before_what_shows_in_the_others():
    source = """
def in_projection_packed(query, key, value, weight, bias=None):
    w_q, w_k, w_v = weight.reshape(query.shape[-1], 3, -1).unbind(1)
    b_q, b_k, b_v = bias.chunk(3) if bias else (0, 0, 0)
    return query @ w_q.T + b_q, key @ w_k.T + b_k, value @ w_v.T + b_v
"""
    linecache.cache["/cell"] = len(source), None, source.splitlines(True), "/cell"
    names = {}
    exec(compile(source, "/cell", "exec"), names)
    message = told_of_course("in_projection_packed", names["in_projection_packed"])
    assert message.startswith("About the RuntimeError: An if, and, or, not")


@pytest.mark.parametrize("name", ["shift_matrix", "sinusoidal_encoding", "causal_mask"])
def test_values_count_where_nothing_but_values_is_looked_at(name):
    """An array of NumPy is right for torch as well, unless a case needs a tensor."""
    topic = find_topic(name)
    exercise, right = topic.exercises[name], topic.reference(name)
    expected = expect(topic, exercise, public_seeds(exercise))

    def of_numpy(*args, **kwargs):
        return right(*args, **kwargs).numpy()

    given = [
        decode(answer(case, of_numpy, seed))
        for case, seed in zip(exercise.cases, expected.seeds, strict=True)
    ]
    report = judge(exercise, given, expected)
    assert report.score == report.max_score


def test_dropout_that_is_always_on_is_told():
    right = find_topic("LearnedPositions").reference("LearnedPositions")

    class Dropping(right):
        def forward(self, x):
            return torch.nn.functional.dropout(super().forward(x), 0.25)

    said = told_of_course("LearnedPositions", Dropping)
    assert "all others are the right ones times 1.333" in said
    assert "dropout with p = 0.25 does" in said


def test_zeros_and_one_factor_without_zeros_are_no_dropout():
    right = find_topic("LearnedPositions").reference("LearnedPositions")

    class Larger(right):
        def forward(self, x):
            return super().forward(x) / 0.75

    assert "dropout" not in told_of_course("LearnedPositions", Larger)
