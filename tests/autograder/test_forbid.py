"""Library calls that an exercise forbids are refused while a case runs, only then."""

from __future__ import annotations

import contextlib

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from autograder.answers import decode, encode_refusal
from autograder.exercise import find_topic, load_topic
from autograder.forbid import ForbiddenCall, answer_by_hand, refusing
from autograder.judge import judge
from classroom.submissions import right_answers
from tests.autograder.judged import asked, report_on

x, w, b = torch.randn(2, 3, 4), torch.ones(4), torch.zeros(4)
NORMS = ("layer_norm", "LayerNorm", "native_layer_norm", "group_norm")
made = nn.LayerNorm(4)


class Own(nn.LayerNorm):
    """A subclass that does nothing."""


def catches():
    """Go on as if nothing had been said."""
    with contextlib.suppress(BaseException):
        F.layer_norm(x, (4,))


REACHED = {  # a call, and what is then said to be called
    "a function": (lambda: F.layer_norm(x, (4,)), "layer_norm"),
    "a compiled one": (lambda: torch.layer_norm(x, (4,)), "layer_norm"),
    "an operator": (
        lambda: torch.ops.aten.native_layer_norm(x, (4,), w, b, 1e-5),
        "native_layer_norm",
    ),
    "a layer": (lambda: nn.LayerNorm(4), "LayerNorm"),
    "a subclass": (lambda: Own(4), "LayerNorm"),
    "a layer that was made before": (lambda: made(x), "LayerNorm"),
    "a refusal that is caught": (catches, "layer_norm"),
}


@pytest.mark.parametrize("way", REACHED)
def test_a_library_norm_is_refused_however_it_is_reached(way):
    call, named = REACHED[way]
    call()  # which may be done otherwise
    with refusing(NORMS) as called, contextlib.suppress(ForbiddenCall):
        call()
    assert called[0] == named


def test_what_an_exercise_does_not_forbid_may_be_called():
    with refusing(load_topic("transformer").exercises["EncoderLayer"].forbidden) as no:
        x = torch.randn(1, 3, 8, requires_grad=True)
        y = nn.LayerNorm(8)(nn.MultiheadAttention(8, 2, batch_first=True)(x, x, x)[0])
        F.scaled_dot_product_attention(y, y, y).sum().backward()
        nn.Transformer.generate_square_subsequent_mask(3)
        import tqdm  # noqa: F401
    assert no == []


def state() -> list:
    """What is replaced while a case runs."""
    mode = torch.overrides._get_current_function_mode()
    return [nn.LayerNorm.__init__, nn.LayerNorm.forward, mode]


@pytest.mark.parametrize("error", [None, KeyboardInterrupt])
def test_all_is_given_back_however_a_case_ends(error):
    before = state()
    with (
        contextlib.suppress(BaseException),
        refusing(["layer_norm", "LayerNorm"]),
    ):
        assert all(now is not was for now, was in zip(state(), before, strict=True))
        if error:
            raise error
    assert state() == before
    F.layer_norm(nn.LayerNorm(3)(torch.ones(2, 3)), (3,))


def test_one_refused_case_costs_its_exercise_and_nothing_after_it():
    exercise, expected = asked("EncoderLayer")
    right = find_topic("EncoderLayer").reference("EncoderLayer")
    given = [
        decode(answer_by_hand(exercise, case, f, seed))
        for f, case, seed in zip(
            [nn.TransformerEncoderLayer] + [right] * (len(exercise.cases) - 1),
            exercise.cases,
            expected.seeds,
            strict=True,
        )
    ]
    assert [one.called for one in given[:2]] == ["TransformerEncoderLayer", None]
    report = judge(exercise, given, expected)
    assert report.score == 0
    assert report.message.startswith(
        "uses TransformerEncoderLayer, which this exercise asks you to build yourself. "
        "May be used: everything but what you build here"
    )


def test_a_name_that_no_exercise_forbids_is_not_repeated_to_anybody():
    exercise, expected = asked("EncoderLayer")
    given = [decode(encode_refusal("the question"))] * len(exercise.cases)
    report = judge(exercise, given, expected)
    assert report.score == 0
    assert "question" not in report.message
    assert "TransformerEncoderLayer" in report.message


# Honest uses, outside of a case: comparisons beside an answer, and tests of it.
BESIDE = """
{answer}
theirs = nn.TransformerEncoderLayer(8, 2, 5, 0.0, batch_first=True)
ours, x = EncoderLayer(8, 2, 5), torch.randn(2, 3, 8)
ours.load_state_dict(theirs.state_dict())
torch.testing.assert_close(ours(x), theirs(x))
EncoderLayer.reference = nn.TransformerEncoderLayer
"""


def test_an_answer_that_is_compared_with_the_library_has_full_points():
    names = {"F": F, "torch": torch, "nn": nn}
    answer = right_answers("transformer")["EncoderLayer"]
    exec(BESIDE.format(answer=answer), names)
    report = report_on("EncoderLayer", names["EncoderLayer"])
    assert report.score == report.max_score
