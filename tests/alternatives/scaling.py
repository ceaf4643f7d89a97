"""Other right answers to the exercises on scaling."""

import numpy as np
import torch

from solutions import scaling as solutions


def variance_einsum(d, num_samples, rng):
    queries = rng.standard_normal((num_samples, d))
    keys = rng.standard_normal((num_samples, d))
    return np.var(np.einsum("nd,nd->n", queries, keys))


def variance_loops(d, num_samples, rng):
    queries = [[rng.standard_normal() for _ in range(d)] for _ in range(num_samples)]
    keys = [[rng.standard_normal() for _ in range(d)] for _ in range(num_samples)]
    products = [
        sum(a * b for a, b in zip(q, k, strict=True))
        for q, k in zip(queries, keys, strict=True)
    ]
    mean = sum(products) / num_samples
    return sum((product - mean) ** 2 for product in products) / num_samples


def jacobian_loops(weights):
    n = len(weights)
    jacobian = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            jacobian[i, j] = weights[i] * ((i == j) - weights[j])
    return jacobian


def jacobian_torch(weights):
    with np.errstate(divide="ignore"):
        scores = torch.from_numpy(np.log(weights))
    return torch.autograd.functional.jacobian(lambda e: e.softmax(0), scores)


def entropy_masked(weights):
    logarithms = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    return -np.einsum("...n,...n->...", weights, logarithms)


def entropy_tiny_epsilon(weights):
    return -(weights * np.log(weights + 1e-12)).sum(-1)


def gradient_from_parts(q, K, scale):
    scores = K @ q * scale
    weights = np.exp(scores - np.logaddexp.reduce(scores))
    return np.sqrt((solutions.softmax_jacobian(weights) ** 2).sum()) * scale


def gradient_autograd(q, K, scale):
    scores = torch.tensor(K @ q)
    jacobian = torch.autograd.functional.jacobian(
        lambda e: torch.softmax(scale * e, dim=0), scores
    )
    return torch.linalg.norm(jacobian).item()


ALTERNATIVES = {
    "dot_product_variance": [variance_einsum, variance_loops],
    "softmax_jacobian": [jacobian_loops, jacobian_torch],
    "attention_entropy": [entropy_masked, entropy_tiny_epsilon],
    "score_gradient_norm": [gradient_from_parts, gradient_autograd],
}
