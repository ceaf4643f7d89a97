"""Hints hold for other ways to the same mistake than the one in the bank."""

from __future__ import annotations

import pytest
import torch

from autograder.answers import answer, decode
from autograder.exercise import find_topic
from autograder.expected import expect, public_seeds
from autograder.judge import judge


def exponent_of_the_component_doubled(length, dim):
    if dim % 2:
        raise ValueError("dim has to be even")
    encoding = torch.zeros(length, dim, dtype=torch.float64)
    positions = torch.arange(length, dtype=torch.float64)
    for even in range(0, dim, 2):
        angles = positions / 10000 ** (2 * even / dim)
        encoding[:, even], encoding[:, even + 1] = angles.sin(), angles.cos()
    return encoding.float()


def too_steep(step, d_model, warmup_steps):
    if step < 1:
        raise ValueError("steps count from 1")
    rates = [1 / step**0.5, step / warmup_steps**0.5]
    return min(rates) / d_model**0.5


def weights_out_of_step_with_biases(query, key, value, weight, bias=None):
    width = query.shape[-1]
    if weight.shape != (3 * width, width) or key.shape[-1] != width:
        raise ValueError(f"{weight.shape} {key.shape}")
    if bias is not None and bias.shape != (3 * width,):
        raise ValueError(f"{bias.shape}")
    starts, results = (width, 0, 2 * width), []
    for n, tokens in enumerate((query, key, value)):
        result = tokens @ weight[starts[n] : starts[n] + width].mT
        if bias is not None:
            result = result + bias[n * width : (n + 1) * width]
        results.append(result)
    return tuple(results)


@pytest.mark.parametrize(
    ("exercise", "mistake", "other"),
    [
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
    ],
)
def test_other_way_to_a_mistake_gets_its_hint(exercise, mistake, other):
    topic = find_topic(exercise)
    cases = topic.exercises[exercise]
    expected = expect(topic, cases, public_seeds(cases))
    given = [
        decode(answer(case, other, seed))
        for case, seed in zip(cases.cases, expected.seeds, strict=True)
    ]
    assert judge(cases, given, expected).mistake == mistake
