"""Scaling: what the width of a key does to scores, weights and gradients.

Symbols, in this file and in the chapter:

    q (d,)     one query             e = K q (N,)             raw scores
    K (N, d)   one key a row         a = softmax(scale e)     weights
"""

import numpy as np


def dot_product_variance(d: int, num_samples: int, rng: np.random.Generator) -> float:
    """Variance of the dot product of two random vectors, measured.

    Var(q . k) over ``num_samples`` pairs whose entries are standard normal

    Args:
        d: width of a vector.
        num_samples: how many pairs are drawn.
        rng: draws all queries first, then all keys, each as one standard normal
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
        weights: (N,) the weights a, which are the softmax of some scores e.

    Returns:
        (N, N) derivatives: a row for each weight, a column for each score.

    Source: Bridle (1990), the derivative of the softmax.
    """
    return np.diag(weights) - np.outer(weights, weights)  # (N, N)


def attention_entropy(weights: np.ndarray) -> np.ndarray:
    """How spread out weights are: 0 for a single one, log N when all are equal.

    entropy(a) = - sum_i a_i log a_i, with 0 log 0 = 0

    Args:
        weights: (..., N) weights, each row a distribution.

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
        scale: factor on the raw scores before the softmax.

    Returns:
        The norm of the (N, N) matrix of derivatives with respect to the raw scores.
    """
    scores = scale * (K @ q)  # (N,)
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    jacobian = np.diag(weights) - np.outer(weights, weights)  # (N, N)
    return float(scale * np.linalg.norm(jacobian))  # the chain rule brings the scale


def scale_for(d_k: int, mode: str) -> float:
    """The factor that a way of scaling puts on dot products.

    Args:
        d_k: width of a query or key.
        mode: "none" for 1, "sqrt" for 1/sqrt(d_k), "linear" for 1/d_k.

    Returns:
        What the raw scores are multiplied by.
    """
    return {"none": 1.0, "sqrt": d_k**-0.5, "linear": 1.0 / d_k}[mode]


def break_attention_entropy() -> tuple[np.ndarray]:
    """Find weights on which wrong versions of attention_entropy go wrong.

    Returns:
        The arguments of one call of attention_entropy, as a tuple: the array of
        weights, of shape (..., N), whose rows are distributions.
    """
    return (np.array([[1.0, 0.0], [0.5, 0.5]]),)
