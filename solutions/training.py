"""Training: shifted targets, the loss of a batch, a learning rate that warms up.

Symbols, in this file and in the chapter:

    B sequences in a batch, T tokens of a target, V tokens in the vocabulary
"""

import numpy as np


def shift_right(targets: np.ndarray, start_id: int) -> np.ndarray:
    """Turn the targets of a decoder into its inputs.

    Args:
        targets: (B, T) ids of the tokens to predict.
        start_id: the first input.

    Returns:
        (B, T) ids. Column 0 is the start, column t is the target of column t - 1.

    Source: Vaswani et al. (2017), section 3.1.
    """
    start = np.full_like(targets[:, :1], start_id)  # (B, 1)
    return np.concatenate([start, targets[:, :-1]], axis=1)


def sequence_cross_entropy(
    logits: np.ndarray, targets: np.ndarray, pad_id: int, label_smoothing: float = 0.0
) -> float:
    """Mean cross-entropy of the tokens that are not padding.

    Args:
        logits: (B, T, V) scores of the token to predict at each position.
        targets: (B, T) ids of the tokens to predict; at least one is not padding.
        pad_id: the id that pads short rows of ``targets``.
        label_smoothing: fraction of the probability that is spread evenly over all V.

    Returns:
        The mean over all tokens of the batch that are not padding, in nats.

    Source: Szegedy et al. (2016), section 7.
    """
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_probs = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    true = np.take_along_axis(log_probs, targets[..., None], axis=-1)[..., 0]  # (B, T)
    even = log_probs.mean(axis=-1)  # (B, T)
    losses = -(1 - label_smoothing) * true - label_smoothing * even
    return float(losses[targets != pad_id].mean())


def warmup_learning_rate(step: int, d_model: int, warmup_steps: int) -> float:
    """Learning rate that rises linearly, then falls as 1 / sqrt(step).

    Args:
        step: number of the training step; the first is 1.
        d_model: width of the model.
        warmup_steps: the step at which the rate is largest.

    Returns:
        The learning rate of this step.

    Source: Vaswani et al. (2017), equation 3.
    """
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)
