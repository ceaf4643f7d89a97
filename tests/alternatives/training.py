"""Other right ways to write `training`: loops, padding, torch's own functions."""

import math

import torch
import torch.nn.functional as F


def shift_in_a_loop(targets, start_id):
    rows = [[start_id, *row[:-1]] for row in targets.tolist()]
    return torch.tensor(rows)


def shift_by_padding(targets, start_id):
    return F.pad(targets, (1, -1), value=start_id)


def shift_by_rolling(targets, start_id):
    shifted = torch.roll(targets, shifts=1, dims=-1)
    shifted[..., 0] = start_id
    return shifted


def shift_into_empty(targets, start_id):
    shifted = torch.empty_like(targets)
    shifted[:, 0] = start_id
    shifted[:, 1:] = targets[:, :-1]
    return shifted


def loss_by_definition(logits, targets, pad_id, label_smoothing=0.0):
    vocab_size = logits.shape[-1]
    truth = F.one_hot(targets, vocab_size).to(logits.dtype)
    truth = (1 - label_smoothing) * truth + label_smoothing / vocab_size
    losses = -(truth * F.log_softmax(logits, dim=-1)).sum(-1)
    real = (targets != pad_id).to(logits.dtype)
    return (losses * real).sum() / real.sum()


def loss_of_selected_places(logits, targets, pad_id, label_smoothing=0.0):
    real = targets.ne(pad_id)
    return F.cross_entropy(logits[real], targets[real], label_smoothing=label_smoothing)


def loss_with_classes_in_the_middle(logits, targets, pad_id, label_smoothing=0.0):
    criterion = torch.nn.CrossEntropyLoss(
        ignore_index=pad_id, label_smoothing=label_smoothing
    )
    return criterion(logits.transpose(1, 2), targets)


def loss_in_a_loop_in_single_precision(logits, targets, pad_id, label_smoothing=0.0):
    total, count = 0.0, 0
    for scores, ids in zip(logits.float(), targets, strict=True):
        for row, token in zip(scores, ids, strict=True):
            if int(token) == pad_id:
                continue
            log_probs = row - row.logsumexp(0)
            total = total - (1 - label_smoothing) * log_probs[token]
            total = total - label_smoothing * log_probs.mean()
            count += 1
    return total / count


def rate_in_two_parts(step, d_model, warmup_steps):
    if step < warmup_steps:
        return step / math.sqrt(d_model * warmup_steps**3)
    return 1 / math.sqrt(d_model * step)


def rate_by_torch(step, d_model, warmup_steps):
    now = torch.tensor(float(step))
    rate = torch.minimum(now.rsqrt(), now * warmup_steps**-1.5)
    return rate / d_model**0.5


def rate_from_the_peak(step, d_model, warmup_steps):
    peak = (d_model * warmup_steps) ** -0.5
    return peak * min(step / warmup_steps, (warmup_steps / step) ** 0.5)


def break_the_loss_with_padding_in_front():
    logits = torch.tensor([[[-900.0, 5.0], [0.0, 2.0]], [[1.0, 0.0], [3.0, 1.0]]])
    return [logits, torch.tensor([[1, 1], [0, 1]]), 0, 0.2]


def break_the_loss_with_integers():
    logits = torch.tensor([[[9, 0], [800, 0]], [[0, 5], [2, 5]]])
    return logits, torch.tensor([[0, 0], [0, 1]]), 1, 0.25


ALTERNATIVES = {
    "break_sequence_cross_entropy": [
        break_the_loss_with_padding_in_front,
        break_the_loss_with_integers,
    ],
    "shift_right": [
        shift_in_a_loop,
        shift_by_padding,
        shift_by_rolling,
        shift_into_empty,
    ],
    "sequence_cross_entropy": [
        loss_by_definition,
        loss_of_selected_places,
        loss_with_classes_in_the_middle,
        loss_in_a_loop_in_single_precision,
    ],
    "warmup_learning_rate": [rate_in_two_parts, rate_by_torch, rate_from_the_peak],
}
