"""What a cell sets for the whole process costs no right answer its points."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from autograder.check import examine_here
from autograder.exercise import find_topic
from autograder.usual import usual_settings
from classroom.submissions import cell_source

# What one cell may leave behind, with what it was before.
LEFT = {
    "NumPy raises": (lambda: np.seterr(all="raise"), lambda old: np.seterr(**old)),
    "no gradients": (
        lambda: torch.set_grad_enabled(False),
        lambda _: torch.set_grad_enabled(True),
    ),
    "anomalies": (
        lambda: torch.autograd.set_detect_anomaly(True),
        lambda _: torch.autograd.set_detect_anomaly(False),
    ),
    "another device": (
        lambda: torch.set_default_device("meta"),
        lambda _: torch.set_default_device(None),
    ),
}


@pytest.fixture(params=LEFT)
def left(request):
    leave, back = LEFT[request.param]
    was = leave()
    yield request.param
    back(was)


def answered(name):
    """A right answer as its author made it, whatever was set since."""
    topic = find_topic(name)
    names = {"np": np, "torch": torch}
    exec(cell_source(topic.reference(name), name), names)
    return topic.exercises[name], names[name]


@pytest.mark.parametrize("name", ["masked_softmax", "MultiHeadAttention"])
def test_a_right_answer_has_all_its_points(left, name):
    exercise, answer = answered(name)
    report = examine_here(exercise, answer).report
    assert (report.score, report.message) == (exercise.points, "")


def test_a_device_that_is_not_here_costs_nothing():
    exercise, answer = answered("context_vector")
    torch.set_default_device("mps")
    try:
        report = examine_here(exercise, answer).report
    finally:
        torch.set_default_device(None)
    assert (report.score, report.message) == (exercise.points, "")


def test_settings_are_those_of_the_cell_again_afterwards(left):
    def seen():
        return (
            *(np.geterr(), torch.is_grad_enabled(), torch.is_anomaly_enabled()),
            torch.get_default_device(),
        )

    before = seen()
    with usual_settings():
        assert seen() != before
    assert seen() == before


def test_tensors_made_where_nothing_is_recorded_can_be_followed():
    with torch.inference_mode(), usual_settings():
        x = torch.ones(2, requires_grad=True)
        (2 * x).sum().backward()
    assert x.grad.tolist() == [2, 2]
