"""Hints hold for other ways to the same mistake than the one in the bank."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from tests.autograder.judged import report_on

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
    "scaled_dot_product_attention": [
        (" / math.sqrt(d)", "", "attention_unscaled"),
        (
            "    bias = ",
            "    else:\n        mask = ~mask\n    bias = ",
            "attention_mask_inverted",
        ),
        ("if mask is None:", "if True:", "attention_mask_unused"),
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
