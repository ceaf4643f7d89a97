"""Taking a trained transformer apart: scores of heads, attribution, patching, lens.

Symbols, in this file and in the chapter:

    B batch    h heads    N queries    T keys    d_v width of a head's values
    E width of the residual stream    V size of the vocabulary    L layers
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def previous_token_score(weights: np.ndarray) -> np.ndarray:
    """How much weight each head puts on the token before the query, on average.

    The mean of weights[i, i - 1] over all queries i >= 1

    Args:
        weights: (..., N, N) attention weights.

    Returns:
        (...) one score for each map, between 0 and 1.

    Source: Elhage et al. (2021), for the heads that it finds.
    """
    return np.diagonal(weights, -1, -2, -1).mean(axis=-1)


def induction_score(weights: np.ndarray, period: int) -> np.ndarray:
    """How much weight each head puts on the token that followed last time, on average.

    The mean is over all queries whose token has occurred before.

    Args:
        weights: (..., N, N) attention weights of a sequence that repeats.
        period: tokens from one occurrence to the next, at least 2 and below N.

    Returns:
        (...) one score for each map, between 0 and 1.

    Source: Olsson et al. (2022), who call it the prefix matching score.
    """
    # The diagonal begins at query period - 1, which repeats nothing yet.
    return np.diagonal(weights, 1 - period, -2, -1)[..., 1:].mean(axis=-1)


def head_contributions(
    weights: np.ndarray, values: np.ndarray, W_O: np.ndarray
) -> np.ndarray:
    """What each head of a layer adds to the residual stream.

    (weights values) W_O, for each head on its own

    Args:
        weights: (B, h, N, T) attention weights.
        values: (B, h, T, d_v) values of each head.
        W_O: (h, d_v, E) each head's part of the output projection.

    Returns:
        (B, h, N, E) contributions. Their sum over the heads is the layer's output.

    Source: Elhage et al. (2021), who treat heads as independent and additive.
    """
    return weights @ values @ W_O  # (B, h, N, E)


def logit_attribution(
    contributions: np.ndarray, W_U: np.ndarray, targets: np.ndarray
) -> np.ndarray:
    """What each head adds to the logit of the target, relative to all other tokens.

    The contribution's logit of the target, minus the mean of its logits over the
    vocabulary.

    Args:
        contributions: (B, h, N, E) what each head adds to the residual stream.
        W_U: (E, V) the unembedding, from the residual stream to the logits.
        targets: (B, N) an id of the vocabulary for each position.

    Returns:
        (B, h, N) attributions.

    Source: Elhage et al. (2021), for logits as a sum over heads.
    """
    directions = (W_U - W_U.mean(axis=1, keepdims=True)).T[targets]  # (B, N, E)
    return (contributions * directions[:, None]).sum(axis=-1)  # (B, h, N)


def patching_effect(
    run: Callable[[Any, dict[str, Any]], tuple[float, dict[str, Any]]],
    clean: Any,
    corrupted: Any,
    names: Sequence[str],
) -> dict[str, float]:
    """How much of a metric each activation of the clean run brings back, on its own.

    The effect is linear in the patched metric: 0 at the metric of the corrupted run,
    1 at that of the clean run.

    Args:
        run: ``run(inputs, replace)`` returns a metric and all activations by name;
            ``replace`` holds activations to use instead of the run's own.
        clean: inputs that the model solves.
        corrupted: inputs that it does not solve.
        names: the activations to patch, each in a run of its own.

    Returns:
        The effect of each name, after 2 + len(names) runs.

    Source: Zhang and Nanda (2024), section 2.
    """
    clean_metric, activations = run(clean, {})
    corrupted_metric, _ = run(corrupted, {})
    gap = clean_metric - corrupted_metric
    effects = {}
    for name in names:
        patched_metric, _ = run(corrupted, {name: activations[name]})
        effects[name] = (patched_metric - corrupted_metric) / gap
    return effects


def logit_lens(
    hidden: np.ndarray, norm: Callable[[np.ndarray], np.ndarray], W_U: np.ndarray
) -> np.ndarray:
    """The token that each layer's state would predict, if the model ended there.

    argmax over the vocabulary of norm(hidden) W_U

    Args:
        hidden: (L, B, N, E) residual stream after each layer.
        norm: the model's last norm; it takes and returns (..., E).
        W_U: (E, V) the unembedding.

    Returns:
        (L, B, N) ids of the largest logits.

    Source: nostalgebraist (2020), "Interpreting GPT: the logit lens".
    """
    return (norm(hidden) @ W_U).argmax(axis=-1)  # (L, B, N)
