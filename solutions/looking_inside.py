"""Taking a trained transformer apart: scores of heads, attribution, patching, lens.

Symbols, in this file and in the chapter:

    B batch    h heads    N queries    T keys    d_v width of a head's values
    E width of the residual stream    V size of the vocabulary    L layers
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor


def previous_token_score(weights: Tensor) -> Tensor:
    """How much weight each head puts on the token before the query, on average.

    The mean of weights[i, i - 1] over all queries i >= 1

    Args:
        weights: (..., N, N) attention weights.

    Returns:
        (...) one score for each map, between 0 and 1.

    Source: Elhage et al. (2021), for the heads that it finds.
    """
    return weights.diagonal(-1, dim1=-2, dim2=-1).mean(dim=-1)


def induction_score(weights: Tensor, period: int) -> Tensor:
    """How much weight each head puts on the token that followed last time, on average.

    In a sequence that repeats after ``period`` tokens: the mean, over all queries whose
    token has occurred before, of the weight on the token that followed its previous
    occurrence

    Args:
        weights: (..., N, N) attention weights.
        period: tokens from one occurrence to the next, at least 2 and below N.

    Returns:
        (...) one score for each map, between 0 and 1.

    Source: Olsson et al. (2022), who call it the prefix matching score.
    """
    # The diagonal begins at query period - 1, which repeats nothing yet.
    return weights.diagonal(1 - period, dim1=-2, dim2=-1)[..., 1:].mean(dim=-1)


def head_contributions(weights: Tensor, values: Tensor, W_O: Tensor) -> Tensor:
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


def logit_attribution(contributions: Tensor, W_U: Tensor, targets: Tensor) -> Tensor:
    """What each head adds to the logit of the target, relative to all other tokens.

    contribution . W_U[:, target] minus the mean of contribution . W_U over the
    vocabulary

    Args:
        contributions: (B, h, N, E) what each head adds to the residual stream.
        W_U: (E, V) the unembedding, from the residual stream to the logits.
        targets: (B, N) an id of the vocabulary for each position.

    Returns:
        (B, h, N) attributions.

    Source: Elhage et al. (2021), for logits as a sum over heads. The mean is
    subtracted because the softmax ignores what all logits have in common.
    """
    directions = (W_U - W_U.mean(dim=1, keepdim=True)).T[targets]  # (B, N, E)
    return (contributions * directions[:, None]).sum(dim=-1)  # (B, h, N)


def patching_effect(
    run: Callable[[Any, dict[str, Tensor]], tuple[float, dict[str, Tensor]]],
    clean: Any,
    corrupted: Any,
    names: Sequence[str],
) -> dict[str, float]:
    """How much of a metric each activation of the clean run brings back, on its own.

    The patched run is on the corrupted inputs, with the clean run's activation of that
    name. The effect is a linear function of its metric: 0 where this equals the metric
    of the unpatched run on the corrupted inputs, 1 where it equals that of the clean
    run.

    Args:
        run: ``run(inputs, replace)`` returns a metric and a dictionary of all
            activations by name. ``replace`` is a dictionary of activations that take
            the place of the run's own, empty for a run without patches.
        clean: inputs of the clean run.
        corrupted: inputs of the corrupted run.
        names: names of the activations to patch, each in a run of its own.

    Returns:
        The effect for each name: 0 if nothing comes back, 1 if the whole metric does.
        The model is run 2 + len(names) times in all.

    Source: Vig et al. (2020) and Meng et al. (2022), for the method; Zhang and Nanda
    (2024), for the scale.
    """
    clean_metric, activations = run(clean, {})
    corrupted_metric, _ = run(corrupted, {})
    gap = clean_metric - corrupted_metric
    effects = {}
    for name in names:
        patched_metric, _ = run(corrupted, {name: activations[name]})
        effects[name] = (patched_metric - corrupted_metric) / gap
    return effects


def logit_lens(hidden: Tensor, norm: Callable[[Tensor], Tensor], W_U: Tensor) -> Tensor:
    """The token that each layer's state would predict, if the model ended there.

    argmax over the vocabulary of norm(hidden) W_U

    Args:
        hidden: (L, B, N, E) residual stream after each layer.
        norm: the model's last norm; it takes and returns (..., E).
        W_U: (E, V) the unembedding.

    Returns:
        (L, B, N) ids of the largest logits, of equal ones the first.

    Source: nostalgebraist (2020), "Interpreting GPT: the logit lens".
    """
    return (norm(hidden) @ W_U).argmax(dim=-1)  # (L, B, N)


def break_induction_score() -> tuple[Tensor, int]:
    """Find attention weights on which wrong versions of induction_score go wrong.

    Returns:
        The arguments of one call of induction_score: weights (N, N), each row of which
        is a distribution, and a period from 2 to N - 1.
    """
    # Period 2: what followed last time is the token before.
    back = torch.tensor([0.0, 0.0, 0.6, 0.6, 0.0, 0.0], dtype=torch.float64)
    weights = torch.diag(1 - back) + torch.diag(back[1:], -1)  # rows sum to one
    return weights, 2
