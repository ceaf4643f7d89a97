"""Other right answers to the exercises on scaling."""

import math

import numpy as np
import torch

from solutions import scaling as solutions


def variance_einsum(d, num_samples, rng):
    queries = rng.standard_normal((num_samples, d))
    keys = rng.standard_normal((num_samples, d))
    return np.var(np.einsum("nd,nd->n", queries, keys))


def variance_stacked(d, num_samples, rng):
    queries, keys = rng.standard_normal((2, num_samples, d))
    return np.cov((queries * keys).sum(-1), ddof=0)


def variance_loops(d, num_samples, rng):
    queries = [[rng.standard_normal() for _ in range(d)] for _ in range(num_samples)]
    keys = [[rng.standard_normal() for _ in range(d)] for _ in range(num_samples)]
    products = [
        sum(a * b for a, b in zip(q, k, strict=True))
        for q, k in zip(queries, keys, strict=True)
    ]
    mean = sum(products) / num_samples
    return sum((product - mean) ** 2 for product in products) / num_samples


def variance_torch(d, num_samples, rng):
    queries = torch.from_numpy(rng.standard_normal((num_samples, d)))
    keys = torch.from_numpy(rng.standard_normal((num_samples, d)))
    return torch.var((queries * keys).sum(1), correction=0)


def variance_of_moments(d, num_samples, rng):
    queries = rng.standard_normal((num_samples, d)).astype(np.float32)
    keys = rng.standard_normal((num_samples, d)).astype(np.float32)
    products = (queries[:, None] @ keys[:, :, None]).ravel().astype(np.float64)
    return (products**2).mean() - products.mean() ** 2


def jacobian_loops(weights):
    n = len(weights)
    jacobian = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            jacobian[i, j] = weights[i] * ((i == j) - weights[j])
    return jacobian


def jacobian_broadcast(weights):
    return weights[:, None] * (np.eye(len(weights)) - weights[None])


def jacobian_torch(weights):
    with np.errstate(divide="ignore"):
        scores = torch.from_numpy(np.log(weights))
    return torch.autograd.functional.jacobian(lambda e: e.softmax(0), scores)


def jacobian_single_precision(weights):
    weights = np.float32(weights)
    jacobian = -np.multiply.outer(weights, weights)
    jacobian[np.diag_indices(len(weights))] += weights
    return jacobian


def entropy_masked(weights):
    logarithms = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    return -np.einsum("...n,...n->...", weights, logarithms)


def entropy_nan_to_num(weights):
    with np.errstate(divide="ignore", invalid="ignore"):
        return -np.nansum(weights * np.log(weights), axis=-1)


def entropy_tiny_epsilon(weights):
    return -(weights * np.log(weights + 1e-12)).sum(-1)


def entropy_torch(weights):
    return torch.special.entr(torch.tensor(weights)).sum(-1)


def entropy_loops(weights):
    def one(row):
        return math.fsum(-w * math.log(w) for w in row.tolist() if w > 0)

    rows = weights.reshape(-1, weights.shape[-1])
    return np.array([one(row) for row in rows]).reshape(weights.shape[:-1])


def entropy_scipy(weights):
    from scipy.stats import entropy

    return entropy(weights, axis=-1)


def gradient_from_parts(q, K, scale):
    scores = K @ q * scale
    weights = np.exp(scores - np.logaddexp.reduce(scores))
    return np.sqrt((solutions.softmax_jacobian(weights) ** 2).sum()) * scale


def gradient_closed_form(q, K, scale):
    weights = torch.tensor(scale * (K @ q)).softmax(0)
    squares = (weights**2).sum()
    total = squares - 2 * (weights**3).sum() + squares**2
    return scale * total.clamp(min=0).sqrt()


def gradient_autograd(q, K, scale):
    scores = torch.tensor(K @ q)
    jacobian = torch.autograd.functional.jacobian(
        lambda e: torch.softmax(scale * e, dim=0), scores
    )
    return torch.linalg.norm(jacobian).item()


def gradient_single_precision(q, K, scale):
    scores = np.float32(scale) * (K.astype(np.float32) @ q.astype(np.float32))
    weights = np.exp(scores - scores.max())
    weights = weights / weights.sum()
    rows = [w * ((np.arange(len(K)) == i) - weights) for i, w in enumerate(weights)]
    return float(scale * np.linalg.norm(np.array(rows)))


def scale_power(d_k, mode):
    powers = {"none": 0, "sqrt": -0.5, "linear": -1}
    return float(d_k) ** powers[mode]


def scale_match(d_k, mode):
    match mode:
        case "none":
            return 1
        case "sqrt":
            return 1 / math.sqrt(d_k)
        case "linear":
            return np.float32(1) / d_k
    raise ValueError


def scale_numpy(d_k, mode):
    scales = [1.0, np.sqrt(1 / d_k), np.reciprocal(float(d_k))]
    return scales[["none", "sqrt", "linear"].index(mode)]


def break_attention_entropy_in_a_batch():
    return (np.array([[[0.0, 1.0], [0.4, 0.6]]]),)


def break_attention_entropy_with_other_weights():
    return [np.array([[0.3, 0.7], [0.0, 1.0]])]


ALTERNATIVES = {
    "break_attention_entropy": [
        break_attention_entropy_in_a_batch,
        break_attention_entropy_with_other_weights,
    ],
    "dot_product_variance": [
        variance_einsum,
        variance_stacked,
        variance_loops,
        variance_torch,
        variance_of_moments,
    ],
    "softmax_jacobian": [
        jacobian_loops,
        jacobian_broadcast,
        jacobian_torch,
        jacobian_single_precision,
    ],
    "attention_entropy": [
        entropy_masked,
        entropy_nan_to_num,
        entropy_tiny_epsilon,
        entropy_torch,
        entropy_loops,
        entropy_scipy,
    ],
    "score_gradient_norm": [
        gradient_from_parts,
        gradient_closed_form,
        gradient_autograd,
        gradient_single_precision,
    ],
    "scale_for": [scale_power, scale_match, scale_numpy],
}
