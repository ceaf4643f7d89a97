"""The reference of `training` against torch, the definition, and the paper."""

import math

import pytest
import torch
import torch.nn.functional as F

from solutions.training import (
    break_sequence_cross_entropy,
    sequence_cross_entropy,
    shift_right,
    warmup_learning_rate,
)

START = 1


# shift_right


def test_place_t_reads_target_t_minus_one():
    targets = torch.tensor([[5, 6, 7, 2], [8, 9, 2, 0]])
    assert shift_right(targets, START).tolist() == [[1, 5, 6, 7], [1, 8, 9, 2]]


def test_shift_leaves_the_targets_alone_and_shares_no_memory_with_them():
    targets = torch.tensor([[5, 6, 7, 2]])
    shift_right(targets, START).zero_()
    assert targets.tolist() == [[5, 6, 7, 2]]


def test_targets_of_one_token_become_the_start():
    assert shift_right(torch.tensor([[5], [6]]), 4).tolist() == [[4], [4]]


# sequence_cross_entropy


def test_uniform_logits_cost_the_logarithm_of_the_vocabulary():
    logits, targets = torch.zeros(2, 3, 7), torch.tensor([[1, 2, 3], [4, 0, 0]])
    for smoothing in (0.0, 0.3):
        loss = sequence_cross_entropy(logits, targets, 0, smoothing)
        assert loss.item() == pytest.approx(math.log(7))


def test_smoothing_follows_the_definition_one_number_at_a_time(normal):
    logits, targets = normal(2, 4, 5), torch.tensor([[3, 1, 4, 0], [2, 0, 0, 0]])
    total = 0.0
    for b, t in [(0, 0), (0, 1), (0, 2), (1, 0)]:
        scores = logits[b, t].tolist()
        log_sum = math.log(sum(math.exp(score) for score in scores))
        for v, score in enumerate(scores):
            probability = 0.2 / 5 + (0.8 if v == targets[b, t] else 0.0)
            total -= probability * (score - log_sum)
    loss = sequence_cross_entropy(logits, targets, 0, 0.2)
    assert loss.item() == pytest.approx(total / 4, rel=1e-12)


def test_loss_is_torchs_on_real_tokens_alone(normal):
    logits, targets = normal(3, 4, 6), torch.tensor([[1, 2, 0, 0]] * 3)
    expected = F.cross_entropy(
        logits[:, :2].flatten(0, 1), targets[:, :2].flatten(), label_smoothing=0.1
    )
    torch.testing.assert_close(
        sequence_cross_entropy(logits, targets, 0, 0.1), expected
    )


def test_more_padding_changes_neither_loss_nor_gradient(normal):
    logits, targets = normal(2, 3, 5), torch.tensor([[1, 2, 3], [4, 2, 0]])
    longer = torch.cat([logits, normal(2, 4, 5)], dim=1).requires_grad_()
    logits.requires_grad_()
    loss = sequence_cross_entropy(logits, targets, 0, 0.1)
    padded = sequence_cross_entropy(longer, F.pad(targets, (0, 4)), 0, 0.1)
    torch.testing.assert_close(padded, loss)
    torch.autograd.backward([loss, padded])
    torch.testing.assert_close(longer.grad[:, :3], logits.grad)
    assert (longer.grad[:, 3:] == 0).all()


def test_smoothed_loss_is_smallest_at_the_smoothed_target():
    smoothing, v = 0.2, 5
    best = torch.full((v,), smoothing / v)
    best[3] += 1 - smoothing
    logits = best.log().reshape(1, 1, v).requires_grad_()
    sequence_cross_entropy(logits, torch.tensor([[3]]), 0, smoothing).backward()
    assert logits.grad.abs().max() < 1e-6


# warmup_learning_rate


def test_rate_is_largest_at_the_end_of_the_warmup():
    rates = [warmup_learning_rate(step, 64, 50) for step in range(1, 400)]
    assert rates.index(max(rates)) == 49
    assert max(rates) == pytest.approx((64 * 50) ** -0.5)


def test_rate_rises_in_a_line_and_falls_with_the_root():
    def rate(step):
        return warmup_learning_rate(step, 64, 50)

    assert rate(40) == pytest.approx(40 * rate(1))
    assert rate(800) == pytest.approx(rate(200) / 2)


def test_rate_is_that_of_the_paper():
    # base model: width 512, 4000 warm-up steps; the peak is often quoted as 7e-4
    assert warmup_learning_rate(4000, 512, 4000) == pytest.approx(6.99e-4, rel=1e-3)


# break_sequence_cross_entropy


def test_break_sequence_cross_entropy_has_all_that_the_versions_differ_in():
    logits, targets, pad_id, smoothing = break_sequence_cross_entropy()
    tokens = (targets != pad_id).sum(dim=1)
    assert 0 < tokens.min() < tokens.max()
    assert 0 < smoothing < 1
    assert torch.tensor(logits.max().item()).double().exp() == math.inf
    real = logits.double()[targets != pad_id]  # one row for each real token
    others = [v for v in range(real.shape[1]) if v != pad_id]
    assert (real[:, pad_id] != real[:, others].mean(dim=1)).any()
    truth = torch.full_like(real, smoothing / real.shape[1])
    truth[range(len(real)), targets[targets != pad_id]] += 1 - smoothing
    expected = -(truth * real.log_softmax(dim=1)).sum(dim=1).mean()
    loss = sequence_cross_entropy(logits, targets, pad_id, smoothing)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)
