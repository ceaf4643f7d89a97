"""Hints hold for other ways to the same mistake than the one in the bank."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
import torch

from tests.autograder.judged import report_on


def denominator_not_shifted(scores):
    with np.errstate(all="ignore"):
        largest = scores.max(axis=-1, keepdims=True)
        total = np.exp(scores).sum(axis=-1, keepdims=True)
        return np.exp(scores - largest) / total


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


def with_targets_in_another_order(logits, targets, pad_id):
    rows, real = logits.flatten(0, 1), targets.flatten() != pad_id
    # What is left out is right here, and what the scores are compared with is not.
    times = logits.transpose(0, 1).reshape(rows.shape).log_softmax(-1)
    chosen = times.gather(1, targets.reshape(-1, 1)).squeeze(1)
    return -torch.where(real, chosen, 0.0).sum() / real.sum().clamp(min=1)


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


def limit_read_after_the_append(query, key, value, cache):
    keys, values = cache.append(key, value)
    n, width = query.shape[2:]
    i, j = np.arange(n)[:, None], np.arange(keys.shape[2])
    scores = np.einsum("bhnd,bhtd->bhnt", query, keys) / math.sqrt(width)
    scores = np.where(j <= cache.length + i, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ values


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


def cut_from_the_end(lengths, max_length):
    mask = np.ones((len(lengths), max_length), dtype=bool)
    for row, length in zip(mask, lengths, strict=True):
        row[-(max_length - int(length)) :] = False
    return mask


@pytest.mark.parametrize(
    ("exercise", "mistake", "other"),
    [
        ("padding_mask", "padding_full_rows_empty", cut_from_the_end),
        ("softmax", "shifted_in_the_numerator_alone", denominator_not_shifted),
        ("train_bpe", "largest_pair", largest_key),
        ("sequence_loss", "places_out_of_step", with_targets_in_another_order),
        ("beam_search", "stops_with_an_end_in_the_beam", beam_until_one_ends),
        ("beam_search", "ended_are_forgotten", beam_of_the_living),
        ("cached_attention", "no_mask", limit_read_after_the_append),
        ("perplexity", "padding_zero_counted", padding_of_id_zero),
        ("softmax", "scores_clipped", limited_to_seven_hundred),
    ],
)
def test_other_way_to_a_mistake_gets_its_hint(exercise, mistake, other):
    assert report_on(exercise, other).mistake == mistake


# Right answers as students write them, otherwise than the references and the bank.
RIGHT = {
    "MultiHeadAttention": """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("heads do not divide the width")
        self.h = num_heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (
            nn.Linear(d_model, d_model) for _ in range(4)
        )

    def forward(self, query, key, value, mask=None):
        q, k, v = self.q_proj(query), self.k_proj(key), self.v_proj(value)
        B, N, E = q.shape
        T, d = k.shape[1], E // self.h
        q = q.view(B, N, self.h, d).transpose(1, 2)
        k = k.view(B, T, self.h, d).transpose(1, 2)
        v = v.view(B, T, self.h, d).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / math.sqrt(d)
        if mask is None:
            mask = torch.ones_like(scores, dtype=torch.bool)
        weights = torch.softmax(scores.masked_fill(~mask, -math.inf), -1)
        weights = torch.nan_to_num(weights)
        joined = (weights @ v).transpose(1, 2).reshape(B, N, E)
        return self.out_proj(joined), weights
""",
    "cached_attention": """
def cached_attention(query, key, value, cache):
    K, V = cache.append(key, value)
    n, T = query.shape[2], K.shape[2]
    rows = np.arange(T - n, T)[:, None]
    mask = np.arange(T)[None, :] <= rows
    scores = np.einsum("bhnd,bhtd->bhnt", query, K) / query.shape[3] ** 0.5
    scores = np.where(mask, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights = weights / weights.sum(-1, keepdims=True)
    return np.einsum("bhnt,bhtd->bhnd", weights, V)
""",
    "softmax": """
def softmax(scores):
    e = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    total = np.sum(e, axis=-1, keepdims=True)
    return e / total
""",
    "attention": """
def attention(Q, K, V):
    E = np.einsum("id,jd->ij", Q, K) / math.sqrt(Q.shape[1])
    e = np.exp(E - E.max(1)[:, None])
    A = e / e.sum(1)[:, None]
    return A @ V, A
""",
    "causal_mask": """
def causal_mask(n):
    i = np.arange(n)
    return i[None, :] <= i[:, None]
""",
    "scaled_dot_product_attention": """
def scaled_dot_product_attention(query, key, value, mask=None):
    d = query.shape[-1]
    scores = np.matmul(query, np.swapaxes(key, -1, -2)) / math.sqrt(d)
    if mask is None:
        mask = np.ones(scores.shape, dtype=bool)
    bias = np.where(mask, 0.0, -np.inf)
    e = np.exp(scores + bias - np.max(scores + bias, -1, keepdims=True, initial=-1e300))
    weights = e / np.maximum(np.sum(e, -1, keepdims=True), 1e-300)
    return np.matmul(weights, value), weights
""",
    "split_heads": """
def split_heads(x, num_heads):
    B, N, E = x.shape
    if E % num_heads:
        raise ValueError(f"{x.shape} {num_heads}")
    d = E // num_heads
    heads = [x[:, :, i * d : (i + 1) * d] for i in range(num_heads)]
    return np.stack(heads, axis=1)
""",
    "layer_norm": """
def layer_norm(x, weight, bias, eps=1e-5):
    mu = x.mean(-1, keepdims=True)
    var = ((x - mu) ** 2).mean(-1, keepdims=True)
    return weight * ((x - mu) / np.sqrt(var + eps)) + bias
""",
    "greedy_decode": """
def greedy_decode(next_logits, start_ids, end_id, max_length):
    ids = start_ids.reshape(-1, 1)
    ended = np.zeros(len(ids), dtype=bool)
    for _ in range(max_length):
        token = np.argmax(next_logits(ids), axis=-1)
        token[ended] = end_id
        ids = np.concatenate([ids, token.reshape(-1, 1)], axis=1)
        ended = ended | (token == end_id)
        if bool(ended.all()):
            break
    return ids[:, 1:]
""",
}


def student(exercise: str, *slips: tuple[str, str]) -> Callable:
    """The answer to an exercise with some slips in it."""
    source = RIGHT[exercise]
    for right, wrong in slips:
        assert source.count(right) == 1, (exercise, right)
        source = source.replace(right, wrong)
    namespace = {"math": math, "np": np, "torch": torch, "nn": torch.nn}
    exec(compile(source, f"<{exercise}>", "exec"), namespace)
    return namespace[exercise]


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
    "causal_mask": [
        ("<=", ">", "causal_inverted"),
        ("<=", ">=", "causal_upper_triangle"),
        ("<=", "<", "causal_diagonal_hidden"),
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
    "MultiHeadAttention": [
        ("sqrt(d)", "sqrt(E)", "layer_scaled_by_model_width"),
        ("self.out_proj(joined)", "joined", "layer_without_output_projection"),
        ("self.v_proj(value)", "self.v_proj(key)", "layer_values_from_keys"),
        ("torch.nan_to_num(weights)", "weights", "layer_without_keys_nan"),
    ],
}


@pytest.mark.parametrize("exercise", SLIPS)
def test_mistake_in_a_right_answer_of_a_student_is_named(exercise):
    report = report_on(exercise, student(exercise))
    assert report.score == report.max_score
    for written, wrong, mistake in SLIPS[exercise]:
        found = report_on(exercise, student(exercise, (written, wrong)))
        assert found.mistake == mistake, wrong
