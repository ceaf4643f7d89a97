"""Training against torch and the numbers of the paper."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from solutions.training import (
    sequence_cross_entropy,
    shift_right,
    warmup_learning_rate,
)

START = 1


# shift_right


def test_position_t_receives_target_t_minus_one():
    targets = np.array([[5, 6, 7, 2], [8, 9, 2, 0]])
    assert shift_right(targets, START).tolist() == [[1, 5, 6, 7], [1, 8, 9, 2]]
    assert targets.tolist() == [[5, 6, 7, 2], [8, 9, 2, 0]]


# sequence_cross_entropy


@pytest.mark.parametrize("smoothing", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("pad_id", [0, 3])
def test_loss_is_torchs_with_padding_ignored(rng, pad_id, smoothing):
    logits, targets = 9 * rng.standard_normal((3, 6, 5)), rng.integers(0, 5, (3, 6))
    targets[0] = pad_id
    expected = F.cross_entropy(
        torch.from_numpy(logits).mT,
        torch.from_numpy(targets),
        ignore_index=pad_id,
        label_smoothing=smoothing,
    )
    loss = sequence_cross_entropy(logits, targets, pad_id, smoothing)
    assert isinstance(loss, float)
    assert loss == pytest.approx(expected.item(), rel=1e-12)


# warmup_learning_rate


def test_rate_rises_linearly_falls_with_the_root_and_is_that_of_the_paper():
    def rate(step):
        return warmup_learning_rate(step, 64, 50)

    assert rate(40) == pytest.approx(40 * rate(1))
    assert rate(800) == pytest.approx(rate(200) / 2)
    # base model: width 512, 4000 warm-up steps; the peak is often quoted as 7e-4
    assert warmup_learning_rate(4000, 512, 4000) == pytest.approx(6.99e-4, rel=1e-3)
