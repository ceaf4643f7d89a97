"""Two slips in a layer, as students make them, are both told."""

from __future__ import annotations

from functools import cache

import pytest

from autograder.answers import answer, decode
from autograder.exercise import find_topic
from autograder.expected import expect, public_seeds
from autograder.judge import judge
from tests.autograder.student_answers import student

ENCODER, DECODER = "EncoderLayer", "DecoderLayer"
VISION, HEADS = "VisionTransformer", "MultiHeadAttention"
CACHED = "cached_attention"

# What stands in a right answer, what a slip makes of it, and what is said of that.
SLIPS = {
    CACHED: {
        "strict": ("<= rows", "< rows", "hid each token from itself"),
        "no root": ("query.size(3) ** 0.5", "query.size(3)", "divided the scores by"),
        "no scale": (" / query.size(3) ** 0.5", "", "forgot to divide the scores"),
        "twice": (
            "K, V = ",
            "cache.append(key, value)\n    K, V = ",
            "new tokens to the cache twice",
        ),
        "mask as it is": ("~mask", "mask", "the wrong way round"),
    },
    VISION: {
        "the mean": ("z = z[:, 0]", "z = z.mean(1)", "averaged all tokens"),
        "no norm": ("        z = self.norm(z)\n", "", "left out the last norm"),
        "sequence first": ("batch_first=True, norm", "norm", "Without batch_first"),
        "a layer skipped": ("in self.layers:", "in self.layers[:-1]:", "last layer"),
        "relu": ('activation="gelu", ', "", "use relu"),
    },
    HEADS: {
        "scale of the model": ("sqrt(d)", "sqrt(E)", "root of the model's width"),
        "heads added": (
            "heads.transpose(1, 2).reshape(B, N, E)",
            "heads.sum(1).repeat(1, 1, h)",
            "added the results of the heads up",
        ),
        "no output": ("self.out_proj(joined)", "joined", "without the output proj"),
        "no bias": ("q, k, v = q + bq, k + bk, v + bv", "pass", "left the bias of"),
        "merged": (
            "heads.transpose(1, 2).reshape(B, N, E)",
            "heads.reshape(B, N, E)",
            "without exchanging heads and tokens",
        ),
    },
    ENCODER: {
        "no mask": ("attn_mask=hidden, ", "", "attention mask is accepted and never"),
        "mask as it is": (
            "hidden = ~mask if mask is not None else None",
            "hidden = mask",
            "and not the attention mask",
        ),
        "no activation": ("        h = self.activation(h)\n", "", "no nonlinearity"),
        "the input added": ("out = s +", "out = x +", "adds the input of the layer"),
    },
    DECODER: {
        "no residual": ("x = h + x\n", "x = h\n", "around the cross-attention"),
        "no mask": (", attn_mask=hidden", "", "attention mask is accepted and never"),
        "no activation": (
            "self.activation(self.linear1(h))",
            "self.linear1(h)",
            "no nonlinearity",
        ),
    },
}

PAIRS = [
    (CACHED, "strict", "no root"),
    (CACHED, "twice", "no scale"),
    (CACHED, "mask as it is", "no scale"),
    (VISION, "the mean", "no norm"),
    (VISION, "the mean", "sequence first"),
    (VISION, "a layer skipped", "no norm"),
    (VISION, "the mean", "relu"),
    (HEADS, "scale of the model", "heads added"),
    (HEADS, "no output", "no bias"),
    (HEADS, "scale of the model", "merged"),
    (ENCODER, "no mask", "no activation"),
    (ENCODER, "no activation", "the input added"),
    (ENCODER, "mask as it is", "no activation"),
    (DECODER, "no residual", "no mask"),
    (DECODER, "no mask", "no activation"),
]


@cache
def expected_of(name):
    topic = find_topic(name)
    exercise = topic.exercises[name]
    return exercise, expect(topic, exercise, public_seeds(exercise))


@pytest.mark.parametrize(("name", "one", "other"), PAIRS)
def test_both_slips_of_a_layer_are_told(name, one, other):
    exercise, expected = expected_of(name)
    slips = [SLIPS[name][slip] for slip in (one, other)]
    wrong = student(name, *(slip[:2] for slip in slips))
    given = [
        decode(answer(case, wrong, seed))
        for case, seed in zip(exercise.cases, expected.seeds, strict=True)
    ]
    message = judge(exercise, given, expected).message
    for *_, says in slips:
        assert says in message
