"""Hints hold for other ways to the same mistake than the one in the bank."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from autograder.answers import answer, decode
from autograder.exercise import find_topic
from autograder.expected import expect, public_seeds
from autograder.judge import judge
from tests.autograder.student_answers import student


def exponent_of_the_component_doubled(length, dim):
    if dim % 2:
        raise ValueError("dim has to be even")
    encoding = np.zeros((length, dim))
    for even in range(0, dim, 2):
        angles = np.arange(length) / 10000 ** (2 * even / dim)
        encoding[:, even], encoding[:, even + 1] = np.sin(angles), np.cos(angles)
    return encoding


def too_steep(step, d_model, warmup_steps):
    if step < 1:
        raise ValueError("steps count from 1")
    rates = [1 / step**0.5, step / warmup_steps**0.5]
    return min(rates) / d_model**0.5


def weights_out_of_step_with_biases(query, key, value, weight, bias=None):
    width = query.shape[-1]
    starts, results = (width, 0, 2 * width), []
    for n, tokens in enumerate((query, key, value)):
        result = tokens @ weight[starts[n] : starts[n] + width].mT
        if bias is not None:
            result = result + bias[n * width : (n + 1) * width]
        results.append(result)
    return tuple(results)


def normalised_least_mean_squares(state, key, value, beta):
    step = beta / np.dot(key, key)
    return state + step * np.outer(key, value - key @ state)


def turned_by_one_more(x, positions, base=10000.0):
    if x.shape[-1] % 2:
        raise ValueError("odd")
    half = x.shape[-1] // 2
    turn = np.exp(1j * (positions + 1)[:, None] / base ** (np.arange(half) / half))
    turned = (x[..., :half] + 1j * x[..., half:]) * turn
    return np.concatenate([turned.real, turned.imag], axis=-1)


def neighbours_overwritten_in_turn(x, positions, base=10000.0):
    if x.shape[-1] % 2 or positions.shape != x.shape[-2:-1]:
        raise ValueError(f"{x.shape} {positions.shape}")
    angles = np.outer(positions, base ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1]))
    sin, cos = np.sin(angles), np.cos(angles)
    y = x.copy()
    y[..., 0::2] = y[..., 0::2] * cos - y[..., 1::2] * sin
    y[..., 1::2] = y[..., 0::2] * sin + y[..., 1::2] * cos
    return y


def denominator_not_shifted(scores):
    with np.errstate(all="ignore"):
        largest = scores.max(axis=-1, keepdims=True)
        total = np.exp(scores).sum(axis=-1, keepdims=True)
        return np.exp(scores - largest) / total


def divided_into_whole_numbers(step, d_model, warmup_steps):
    if step <= 0:
        raise ValueError("steps count from 1")
    rising = step // (warmup_steps * math.sqrt(warmup_steps))
    return min(1 / math.sqrt(step), rising) / math.sqrt(d_model)


def as_shares_of_the_largest(scores):
    with np.errstate(all="ignore"):
        exponentials = np.exp(scores / np.max(scores, axis=-1, keepdims=True))
        return exponentials / np.sum(exponentials, axis=-1, keepdims=True)


def largest_key(text, num_merges):
    ids, merges = list(text.encode()), []
    while len(merges) < num_merges:
        counts = Counter(zip(ids, ids[1:], strict=False))
        if not counts or max(counts.values()) < 2:
            break
        merges.append(max(counts))
        merged, i = [], 0
        while i < len(ids):
            found = tuple(ids[i : i + 2]) == merges[-1]
            merged.append(255 + len(merges) if found else ids[i])
            i += 2 if found else 1
        ids = merged
    return merges


def scaled_by_the_inputs(q, X):
    if len(q) != X.shape[1]:
        raise ValueError(f"{q.shape} {X.shape}")
    scores = np.einsum("nd,d->n", X, q) / len(X) ** 0.5
    weights = np.exp(scores - np.max(scores))
    weights = weights / np.sum(weights)
    return np.einsum("n,nd->d", weights, X), weights


def scaled_by_the_values(queries, keys, values):
    scores = queries @ keys.T / values.shape[1] ** 0.5
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = weights / weights.sum(axis=1, keepdims=True)
    return weights @ values, weights


def one_axis_forgotten(S, H):
    if S.shape[1] != H.shape[1]:
        raise ValueError(f"{S.shape} {H.shape}")
    with np.errstate(all="ignore"):
        unit = S / np.sqrt((S**2).sum(1, keepdims=True))
        return np.einsum("if,jf->ij", unit, H / np.sqrt((H**2).sum(0)))


def with_targets_in_another_order(logits, targets, pad_id):
    rows, real = logits.flatten(0, 1), targets.flatten() != pad_id
    # What is left out is right here, and what the scores are compared with is not.
    times = logits.transpose(0, 1).reshape(rows.shape).log_softmax(-1)
    chosen = times.gather(1, targets.reshape(-1, 1)).squeeze(1)
    return -torch.where(real, chosen, 0.0).sum() / real.sum().clamp(min=1)


def exponents_up_to_one(length, dim):
    if dim % 2:
        raise ValueError("odd")
    pairs = dim // 2
    table = np.zeros((length, dim))
    for k in range(pairs):
        angles = np.arange(length) / 10000 ** (k / (pairs - 1 if pairs > 1 else 1))
        table[:, 2 * k], table[:, 2 * k + 1] = np.sin(angles), np.cos(angles)
    return table


def _a_beam(model, start_id, end_id, size, steps, penalty, *, any_end, keep_ended):
    beam = [((), 0.0)]
    for _ in range(steps):
        done = [one for one in beam if one[0][-1:] == (end_id,)]
        alive = [one for one in beam if one[0][-1:] != (end_id,)]
        if not alive or (done and any_end):
            break
        rows = model(np.array([(start_id, *ids) for ids, _ in alive]))
        wider = done if keep_ended else []
        for (ids, total), row in zip(alive, rows, strict=True):
            wider = wider + [((*ids, k), total + float(p)) for k, p in enumerate(row)]
        wider.sort(key=lambda one: -one[1] / len(one[0]) ** penalty)
        beam = wider[:size]
    ids, total = beam[0]
    return np.array(ids), total / len(ids) ** penalty


def beam_until_one_ends(model, start, end, size, steps, length_penalty=0.0):
    options = {"any_end": True, "keep_ended": True}
    return _a_beam(model, start, end, size, steps, length_penalty, **options)


def beam_of_the_living(model, start, end, size, steps, length_penalty=0.0):
    options = {"any_end": False, "keep_ended": False}
    return _a_beam(model, start, end, size, steps, length_penalty, **options)


def written_until_one_ends(next_logits, start_ids, end_id, max_length):
    prefix = start_ids.reshape(-1, 1)
    for _ in range(max_length):
        token = next_logits(prefix).argmax(-1, keepdims=True)
        if end_id in token:
            break
        prefix = np.hstack((prefix, token))
    return prefix[:, 1:]


def limit_read_after_the_append(query, key, value, cache):
    keys, values = cache.append(key, value)
    n, width = query.shape[2:]
    i, j = np.arange(n)[:, None], np.arange(keys.shape[2])
    scores = np.einsum("bhnd,bhtd->bhnt", query, keys) / math.sqrt(width)
    scores = np.where(j <= cache.length + i, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ values


def pad_id_or_none(logits, targets, pad_id):
    ignored = {"ignore_index": pad_id} if pad_id else {}
    loss = F.cross_entropy(logits.mT, targets, reduction="sum", **ignored)
    counted = (targets != pad_id) if pad_id else torch.ones_like(targets)
    return loss / counted.sum().clamp(min=1)


def padding_of_id_zero(logits, targets, pad_id=None):
    if logits.shape[:2] != targets.shape:
        raise ValueError(f"{logits.shape} {targets.shape}")
    rows = logits - logits.max(-1, keepdims=True)
    rows = rows - np.log(np.exp(rows).sum(-1, keepdims=True))
    surprise = -np.take_along_axis(rows, targets[:, :, None], 2).squeeze(2)
    if pad_id:
        surprise = surprise[targets != pad_id]
    return float(np.exp(surprise.mean()))


def limited_to_seven_hundred(scores):
    shares = np.exp(np.maximum(np.minimum(scores, 700.0), -700.0))
    return shares / np.sum(shares, axis=-1, keepdims=True)


def summed_from_one_on(q, X):
    if len(q) != X.shape[1]:
        raise ValueError("widths")
    scores = np.zeros(len(X))
    for i, x in enumerate(X):
        for j in range(1, len(q)):
            scores[i] += x[j] * q[j]
    return scores / np.sqrt(len(q))


def column_by_column(targets, start_id):
    shifted = targets.copy()
    for t in range(1, targets.shape[1]):
        shifted[:, t] = shifted[:, t - 1]
    shifted[:, 0] = start_id
    return shifted


def cut_from_the_end(lengths, max_length):
    mask = np.ones((len(lengths), max_length), dtype=bool)
    for row, length in zip(mask, lengths, strict=True):
        row[-(max_length - int(length)) :] = False
    return mask


@pytest.mark.parametrize(
    ("exercise", "mistake", "other"),
    [
        ("alignment_scores", "first_feature_left_out", summed_from_one_on),
        ("shift_right", "first_copied_to_all", column_by_column),
        ("padding_mask", "padding_full_rows_empty", cut_from_the_end),
        (
            "delta_rule_step",
            "step_divided_by_the_squared_norm",
            normalised_least_mean_squares,
        ),
        ("rotary_half", "one_position_further", turned_by_one_more),
        (
            "rotary_embedding",
            "second_from_the_turned_first",
            neighbours_overwritten_in_turn,
        ),
        ("softmax", "shifted_in_the_numerator_alone", denominator_not_shifted),
        ("attend", "attends_with_scale_by_inputs", scaled_by_the_inputs),
        ("attention", "attention_scale_by_value_width", scaled_by_the_values),
        ("cosine_score", "cosine_encoder_length_of_features", one_axis_forgotten),
        ("warmup_learning_rate", "rounded_down", divided_into_whole_numbers),
        (
            "rms_norm",
            "weight_added",
            lambda x, weight, eps=1e-6: (
                x * ((x**2).mean(-1, keepdims=True) + eps) ** -0.5 + weight
            ),
        ),
        ("softmax", "divided_by_the_largest", as_shares_of_the_largest),
        ("train_bpe", "largest_pair", largest_key),
        ("sequence_loss", "places_out_of_step", with_targets_in_another_order),
        ("sinusoidal_encoding", "last_pair_reaches_the_base", exponents_up_to_one),
        (
            "sinusoidal_encoding",
            "exponent_doubled_within_pairs",
            exponent_of_the_component_doubled,
        ),
        ("warmup_learning_rate", "rises_too_steeply", too_steep),
        (
            "in_projection_packed",
            "packed_weight_key_first",
            weights_out_of_step_with_biases,
        ),
        ("beam_search", "stops_with_an_end_in_the_beam", beam_until_one_ends),
        ("beam_search", "ended_are_forgotten", beam_of_the_living),
        ("greedy_decode", "stops_before_the_first_end", written_until_one_ends),
        ("cached_attention", "no_mask", limit_read_after_the_append),
        ("sequence_loss", "padding_zero_counted", pad_id_or_none),
        ("perplexity", "padding_zero_counted", padding_of_id_zero),
        ("softmax", "scores_clipped", limited_to_seven_hundred),
    ],
)
def test_other_way_to_a_mistake_gets_its_hint(exercise, mistake, other):
    assert named(exercise, other) == mistake


def named(exercise, implementation):
    cases, expected = expected_of(exercise)
    given = [
        decode(answer(case, implementation, seed))
        for case, seed in zip(cases.cases, expected.seeds, strict=True)
    ]
    return judge(cases, given, expected).mistake


@cache
def expected_of(exercise):
    topic = find_topic(exercise)
    cases = topic.exercises[exercise]
    return cases, expect(topic, cases, public_seeds(cases))


# The mistakes that students make most. What stands in a right answer of a student, what
# stands there with the mistake, and its name.
SLIPS = {
    "softmax": [
        ("np.max(scores, axis=-1, keepdims=True)", "0", "exponential_overflows"),
        (
            "np.max(scores, axis=-1, keepdims=True)",
            "np.max(scores)",
            "one_maximum_for_all_rows",
        ),
        ("e / total", "e", "never_normalised"),
        (
            "np.sum(e, axis=-1, keepdims=True)",
            "np.sum(e)",
            "divided_by_the_sum_of_all_rows",
        ),
    ],
    "attention": [
        (" / math.sqrt(Q.shape[1])", "", "attention_scale_missing"),
        ("math.sqrt(Q.shape[1])", "Q.shape[1]", "attention_scale_by_width"),
        (
            "math.sqrt(Q.shape[1])",
            "math.sqrt(len(K))",
            "attention_scale_by_number_of_keys",
        ),
        ("np.exp(E - E.max(1)[:, None])", "np.exp(E)", "no_maximum_subtracted"),
        ("return A @ V, A", "return A, A @ V", "weights_returned_first"),
    ],
    "attention_entropy": [
        ("np.log(safe)", "np.log2(safe)", "entropy_in_bits"),
        ("-np.sum", "np.sum", "entropy_negative"),
        ("np.sum(", "np.mean(", "entropy_mean"),
        ("axis=-1", "axis=0", "entropy_of_columns"),
    ],
    "causal_mask": [
        ("<=", ">", "causal_inverted"),
        ("<=", ">=", "causal_upper_triangle"),
        ("<=", "<", "causal_diagonal_hidden"),
    ],
    "padding_mask": [
        (" < ", " >= ", "padding_inverted"),
        (" < ", " <= ", "padding_one_too_many"),
        ("lengths.reshape(-1, 1)", "lengths.reshape(-1, 1) - 1", "padding_one_too_few"),
    ],
    "scaled_dot_product_attention": [
        (" / math.sqrt(d)", "", "attention_unscaled"),
        (
            "    bias = ",
            "    else:\n        mask = ~mask\n    bias = ",
            "attention_mask_inverted",
        ),
        ("if mask is None:", "if True:", "attention_mask_unused"),
    ],
    "split_heads": [
        (
            "np.stack(heads, axis=1)",
            "x.reshape(B, num_heads, N, d)",
            "split_by_reshaping_only",
        ),
        ("axis=1)", "axis=2)", "split_without_transposing"),
        ("i * d : (i + 1) * d]", "i::num_heads]", "split_interleaved"),
    ],
    "merge_heads": [
        (
            "np.concatenate([x[:, i] for i in range(x.shape[1])], axis=-1)",
            "x.reshape(x.shape[0], x.shape[2], -1)",
            "merge_by_reshaping_only",
        ),
        (
            "np.concatenate([x[:, i] for i in range(x.shape[1])], axis=-1)",
            "sum(x[:, i] for i in range(x.shape[1]))",
            "merge_by_adding",
        ),
        ("axis=-1", "axis=1", "merge_along_the_tokens"),
    ],
    "multi_head_attention": [
        ("np.sqrt(d)", "np.sqrt(E)", "attention_scaled_by_model_width"),
        ("joined @ W_O", "joined", "attention_without_output_projection"),
        (
            "(a @ v).transpose(0, 2, 1, 3)",
            "(a @ v)",
            "attention_merged_by_reshaping",
        ),
    ],
    "layer_norm": [
        ("np.sqrt(var + eps)", "(np.sqrt(var) + eps)", "eps_outside_the_root"),
        (
            "((x - mu) ** 2).mean(-1, keepdims=True)",
            "x.var(-1, ddof=1, keepdims=True)",
            "variance_of_a_sample",
        ),
        ("np.sqrt(var + eps)", "(var + eps)", "root_forgotten"),
        (" + bias", "", "bias_left_out"),
    ],
    "rms_norm": [
        ("np.sqrt(ms + eps)", "(ms + eps)", "root_missing"),
        ("np.sqrt(ms + eps)", "(np.sqrt(ms) + eps)", "eps_after_the_root"),
        (" * weight", "", "weight_ignored"),
    ],
    "swiglu": [
        (
            "g = g * (0.5 * (1 + np.tanh(g / 2)))",
            "g = 0.5 * (1 + np.tanh(g / 2))",
            "sigmoid_gate",
        ),
        ("g = g * (0.5 * (1 + np.tanh(g / 2)))", "g = np.maximum(g, 0)", "relu_gate"),
        ("g * (x @ W_up)", "g + (x @ W_up)", "added"),
    ],
    "patchify": [
        (".reshape(B,", ".transpose(0, 2, 3, 1).reshape(B,", "channels_behind"),
        (".reshape(B,", ".swapaxes(2, 3).reshape(B,", "patch_transposed"),
        (".reshape(B, C * p * p)", "", "patches_not_flattened"),
    ],
    "attention_rollout": [
        ("        A = A + eye\n", "", "without_residual"),
        ("        A = A / A.sum(-1, keepdims=True)\n", "", "not_renormalised"),
        ("A @ R", "R @ A", "layers_in_reverse"),
        ("R[:, 0, 1:]", "R[:, 1:, 0]", "column_of_the_class_token"),
    ],
    "shift_right": [
        (
            "shifted[:, 1:] = targets[:, :-1]",
            "shifted[:, 1:] = targets[:, 1:]",
            "first_overwritten",
        ),
        ("    shifted[:, 0] = start_id\n", "", "starts_with_zero"),
        ("return shifted", "return np.roll(targets, 1, 1)", "rolled"),
    ],
    "context_vector": [
        (
            "state[:, None, :]).sum(-1)",
            "state[:, None, :]).sum(-1) / state.shape[-1] ** 0.5",
            "scaled_scores",
        ),
        (
            'return torch.einsum("bt,bth->bh", weights, encoder_states), weights',
            'return weights, torch.einsum("bt,bth->bh", weights, encoder_states)',
            "weights_come_first",
        ),
    ],
    "greedy_decode": [
        ("ids[:, 1:]", "ids", "start_kept"),
        ("        token[ended] = end_id\n", "", "goes_on_after_the_end"),
        ("bool(ended.all())", "bool(ended.any())", "stops_at_the_first_end"),
    ],
    "cached_attention": [
        (" / query.shape[3] ** 0.5", "", "not_scaled"),
        ("<= rows", "<= rows + 1", "one_key_too_many"),
        ("<= rows", "< rows", "hidden_from_itself_until_nan"),
        (
            "np.where(mask, scores, -np.inf)",
            "np.where(mask, -np.inf, scores)",
            "mask_turned_round_until_nan",
        ),
        ("np.arange(T - n, T)", "np.arange(n)", "triangle_at_the_first_key"),
    ],
    "VisionTransformer": [
        ("z = z[:, 0]", "z = z.mean(1)", "MeanOfAllTokens"),
        ("z = z[:, 0]", "z = z[:, 1:].mean(1)", "MeanOfPatches"),
        ("z = z[:, 0]", "z = z[:, -1]", "LastToken"),
        ("        z = self.norm(z)\n", "", "NoFinalNorm"),
        ("batch_first=True, norm", "norm", "SequenceFirst"),
        ('activation="gelu", ', "", "Relu"),
    ],
    "MultiHeadAttention": [
        ("sqrt(d)", "sqrt(E)", "layer_scaled_by_model_width"),
        ("self.out_proj(joined)", "joined", "layer_without_output_projection"),
        ("self.v_proj(value)", "self.v_proj(key)", "layer_values_from_keys"),
        ("torch.nan_to_num(weights)", "weights", "layer_without_keys_nan"),
    ],
    "Encoder": [
        ("y = layer(y, ", "y = y + layer(y, ", "ResidualsTwice"),
        (
            "            y = layer(y, *masks, **named)\n        y = finish(y)\n",
            "            y = finish(layer(y, *masks, **named))\n",
            "NormAfterEachLayer",
        ),
    ],
    "EncoderLayer": [
        ("s = x + h", "s = h", "NoResidualAroundAttention"),
        ("attn_mask=hidden, ", "", "MaskIgnored"),
        (
            "hidden = ~mask if mask is not None else None",
            "hidden = None",
            "MaskIgnored",
        ),
        ("        h = self.activation(h)\n", "", "NoActivation"),
    ],
    "DecoderLayer": [
        ("x = h + x\n", "x = h\n", "NoResidualAroundCrossAttention"),
        (", attn_mask=hidden", "", "DecoderMaskIgnored"),
        ("(h, memory, memory, key_padding_mask=padded)", "(h, h, h)", "MemoryIgnored"),
    ],
}


@pytest.mark.parametrize("exercise", SLIPS)
def test_mistake_in_a_right_answer_of_a_student_is_named(exercise):
    cases, expected = expected_of(exercise)
    right = [
        decode(answer(case, student(exercise), seed))
        for case, seed in zip(cases.cases, expected.seeds, strict=True)
    ]
    report = judge(cases, right, expected)
    assert report.score == report.max_score
    for written, wrong, mistake in SLIPS[exercise]:
        assert named(exercise, student(exercise, (written, wrong))) == mistake, wrong
