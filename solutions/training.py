"""Training: shifted targets, the loss of a batch, a learning rate that warms up.

Symbols, in this file and in the chapter:

    B sequences in a batch, T tokens of a target, V tokens known
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def shift_right(targets: Tensor, start_id: int) -> Tensor:
    """Turn the targets of a decoder into its inputs.

    Column 0 is the start, column t is the target of column t - 1. The last target is
    not part of the input.

    Args:
        targets: (B, T) ids of the tokens to predict.
        start_id: the first input.

    Returns:
        (B, T) ids of the input tokens, a new tensor.

    Source: Vaswani et al. (2017), section 3.1.
    """
    start = torch.full_like(targets[:, :1], start_id)  # (B, 1)
    return torch.cat([start, targets[:, :-1]], dim=1)


def sequence_cross_entropy(
    logits: Tensor, targets: Tensor, pad_id: int, label_smoothing: float = 0.0
) -> Tensor:
    """Mean cross-entropy of the true tokens, padding left out.

    The mean is taken over all tokens of the batch that are not padding, and each of
    them is compared with its smoothed distribution.

    Args:
        logits: (B, T, V) scores of the token to predict at each position.
        targets: (B, T) ids of the tokens to predict; at least one is not padding.
        pad_id: the id that fills up short rows of ``targets``.
        label_smoothing: share of the probability that is spread evenly over all V
            tokens, the true one among them.

    Returns:
        A scalar, in nats per token.

    Source: Szegedy et al. (2016), section 7.
    """
    return F.cross_entropy(
        logits.flatten(0, 1),  # (B * T, V)
        targets.flatten(),  # (B * T,)
        ignore_index=pad_id,
        label_smoothing=label_smoothing,
    )


def warmup_learning_rate(step: int, d_model: int, warmup_steps: int) -> float:
    """Learning rate that rises in a straight line, then falls with the root of time.

    Args:
        step: number of the training step; the first is 1.
        d_model: width of the model.
        warmup_steps: the step at which the rate is largest.

    Returns:
        The learning rate of this step.

    Source: Vaswani et al. (2017), equation 3.
    """
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


def break_sequence_cross_entropy() -> tuple[Tensor, Tensor, int, float]:
    """Find a batch on which wrong versions of sequence_cross_entropy go wrong.

    Returns:
        The arguments of one call of sequence_cross_entropy: logits (B, T, V) from -1000
        to 1000 with V >= 2, targets (B, T), the id of the padding, and the label
        smoothing from 0 to 1. All ids are less than V, that of the padding as well.
    """
    logits = torch.zeros(2, 2, 2)
    logits[0, 0, 1] = 1000.0  # of the padding id, where the true one is the other
    return logits, torch.tensor([[0, 0], [0, 1]]), 1, 0.5
