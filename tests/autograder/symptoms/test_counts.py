"""By how much a count is wrong is told as one product of arguments, or not at all."""

from __future__ import annotations

import math

import pytest

from autograder.symptoms.counts import Count, find_excess
from tests.autograder.unnamed import told

SIZES = [(3, 8, 5), (7, 10, 2), (2, 14, 9), (11, 4, 6)]


def counts(wrong, sizes=SIZES):
    """What is counted is the product of all three sizes."""
    return [
        Count(dict(zip("abc", each, strict=True)), math.prod(each), wrong(*each))
        for each in sizes
    ]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda a, b, c: a * b * c + 4 * b, "too large by 4 · `b`."),
        (lambda a, b, c: a * b * c - a * c, "too small by `a` · `c`."),
        (lambda a, b, c: a * b * c - c**2, "too small by `c`²."),
        (lambda a, b, c: a * b * c + b * b // 2 * 2, "too large by `b`²."),
        (lambda a, b, c: a * b * c + 3, "too large by 3."),
    ],
)
def test_product_is_told(wrong, says):
    assert find_excess(counts(wrong)).endswith(says)


def test_ratio_is_told():
    sizes = [(3, 12, 5), (7, 14, 2), (2, 14, 9)]
    told = find_excess(counts(lambda a, b, c: a * b * c + c * (b // a), sizes))
    assert told == "Your result is too large by `b` · `c` / `a`."


def test_counts_that_are_right_are_mentioned():
    told = find_excess(counts(lambda a, b, c: a * b * c - (a if c > 2 else 0)))
    assert told == "Your result is too small by `a`. Other results are right."


@pytest.mark.parametrize(
    "wrong",
    [
        lambda a, b, c: a * b * c,
        lambda a, b, c: a * b * c + a + b,
        lambda a, b, c: a * b * c + (b if c > 4 else -b),
        lambda a, b, c: a * b * c + 25 * a,
        lambda a, b, c: a * b * c + hash((a, b, c)) % 1000 + 1000,
    ],
)
def test_nothing_else_is_told(wrong):
    assert find_excess(counts(wrong)) == ""


def test_two_wrong_counts_are_too_few():
    assert find_excess(counts(lambda a, b, c: a * b * c + b, SIZES[:2])) == ""


def test_products_that_cannot_be_told_apart_are_not_told():
    sizes = [(3, 3, 5), (7, 7, 2), (2, 2, 9)]
    assert find_excess(counts(lambda a, b, c: a * b * c + b, sizes)) == ""


def without_what_belongs_to_the_class_token_and_the_last_norm(
    image_size, patch_size, channels, embed_dim, num_layers, mlp_dim, num_classes
):
    patches = (image_size // patch_size) ** 2
    tokens = channels * patch_size**2 * embed_dim + embed_dim + patches * embed_dim
    layer = 4 * embed_dim * (embed_dim + 1) + 4 * embed_dim
    layer += 2 * embed_dim * mlp_dim + mlp_dim + embed_dim
    return tokens + num_layers * layer + (embed_dim + 1) * num_classes


def test_two_slips_are_not_taken_for_another_one():
    """What they leave out together is as much as a norm counted with the wrong sign."""
    message = told(
        "vit_parameter_count", without_what_belongs_to_the_class_token_and_the_last_norm
    )
    assert message == "Your result is too small by 4 · `embed_dim`."


def test_words_are_no_sizes():
    made = [
        Count({"kind": "word", "flag": True, "none": None, "size": n}, 5 * n, 4 * n)
        for n in (3, 4, 7)
    ]
    assert find_excess(made) == "Your result is too small by `size`."
