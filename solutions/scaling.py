"""Scaling: what the width of a key does to scores, weights and gradients.

Symbols, in this file and in the chapter:

    q (d,)     one query             e = K q (N,)             raw scores
    K (N, d)   one key per row       a = softmax(scale e)     weights
"""

import numpy as np


def dot_product_variance(d: int, num_samples: int, rng: np.random.Generator) -> float:
    """Variance of the dot product of two random vectors, measured.

    Var(q . k) over ``num_samples`` pairs whose entries are standard normal

    Args:
        d: number of features.
        num_samples: number of pairs.
        rng: draws the queries first, then the keys, each as one standard normal
            array of shape (num_samples, d).

    Returns:
        Population variance of the dot products.

    Source: Vaswani et al. (2017), footnote 4.
    """
    queries = rng.standard_normal((num_samples, d))
    keys = rng.standard_normal((num_samples, d))
    return float((queries * keys).sum(axis=1).var())  # of (num_samples,) products


def softmax_jacobian(weights: np.ndarray) -> np.ndarray:
    """How each softmax weight reacts to each score.

    J[i, j] = d a_i / d e_j, which depends on the weights alone

    Args:
        weights: (N,) the weights a, the softmax of some scores e.

    Returns:
        (N, N) derivatives: one row per weight, one column per score.

    Source: Bridle (1990), the derivative of the softmax.
    """
    return np.diag(weights) - np.outer(weights, weights)  # (N, N)


def attention_entropy(weights: np.ndarray) -> np.ndarray:
    """How spread out weights are: 0 for a single one, log N when all are equal.

    entropy(a) = - sum_i a_i log a_i, with 0 log 0 = 0

    Args:
        weights: (..., N) weights that sum to one along the last axis.

    Returns:
        (...) entropies in nats.

    Source: Shannon (1948), section 6, with the natural logarithm.
    """
    logarithms = np.log(np.where(weights > 0, weights, 1.0))  # log 1 = 0 for log 0
    return -(weights * logarithms).sum(axis=-1)  # (...)


def score_gradient_norm(q: np.ndarray, K: np.ndarray, scale: float) -> float:
    """How strongly the weights react to the raw scores.

    Frobenius norm of d a / d e, for a = softmax(scale e) and e = K q

    Args:
        q: (d,) a query.
        K: (N, d) keys.
        scale: factor on the raw scores.

    Returns:
        The norm of the (N, N) derivatives with respect to the raw scores e.
    """
    scores = scale * (K @ q)  # (N,)
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    jacobian = np.diag(weights) - np.outer(weights, weights)  # (N, N)
    return float(scale * np.linalg.norm(jacobian))  # the chain rule brings the scale
