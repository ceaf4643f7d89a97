"""Other right ways to write chapter 1: loops, einsum, torch, odd temporaries."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from scipy import special


def softmax_with_logsumexp(scores):
    largest = np.max(scores, axis=-1, keepdims=True)
    log_sum = np.log(np.sum(np.exp(scores - largest), axis=-1, keepdims=True))
    return np.exp(scores - largest - log_sum)


def softmax_in_a_loop(scores):
    rows = scores.reshape(-1, scores.shape[-1])
    weights = []
    for row in rows:
        exponentials = [math.exp(score - max(row)) for score in row]
        total = sum(exponentials)
        weights.append([e / total for e in exponentials])
    return np.array(weights).reshape(scores.shape)


def softmax_in_single_precision(scores):
    return F.softmax(torch.tensor(scores, dtype=torch.float32), -1).numpy()


def softmax_from_differences(scores):
    differences = scores[..., None, :] - scores[..., :, None]
    with np.errstate(over="ignore"):
        return 1 / np.exp(differences).sum(axis=-1)


def scores_in_a_loop(q, X):
    scores = []
    for x in X:
        scores.append(sum(a * b for a, b in zip(q, x, strict=True)) / len(q) ** 0.5)
    return np.array(scores)


def scores_by_einsum(q, X):
    return np.einsum("d,nd->n", q, X) * q.size**-0.5


def scores_in_single_precision(q, X):
    q, X = q.astype(np.float32), X.astype(np.float32)
    return np.inner(X, q) / np.float32(len(q) ** 0.5)


def attend_in_a_loop(q, X):
    weights = softmax_in_a_loop(scores_in_a_loop(q, X))
    output = np.zeros(X.shape[1])
    for weight, x in zip(weights, X, strict=True):
        output += weight * x
    return output, weights


def attend_by_einsum(q, X):
    weights = special.softmax(np.einsum("d,nd", q, X) / np.sqrt(len(q)))
    return [np.einsum("n,nd->d", weights, X), weights]


def attend_in_single_precision(q, X):
    q, X = q.astype("float32"), X.astype("float32")
    weights = softmax_with_logsumexp(X @ q / np.float32(np.sqrt(len(q))))
    return (X.T * weights).sum(-1), weights


def lookup_in_a_loop(query, keys, values, temperature=1.0):
    scores = scores_in_a_loop(query, keys) / temperature
    total, output = 0.0, np.zeros(values.shape[1])
    for score, value in zip(scores, values, strict=True):
        weight = math.exp(score - scores.max())
        total += weight
        output = output + weight * value
    return output / total


def lookup_of_a_cooled_query(query, keys, values, temperature=1.0):
    _, weights = attend_by_einsum(query / temperature, keys)
    return values.T @ weights


def lookup_with_torch(query, keys, values, temperature=1.0):
    query, keys, values = map(torch.tensor, (query, keys, values))
    scale = 1 / (math.sqrt(len(query)) * temperature)
    return F.scaled_dot_product_attention(
        query[None, None], keys[None], values[None], scale=scale
    )[0, 0]


def break_softmax_with_batches():
    return (np.array([[[-900.0, 900.0], [5.0, 5.0]]] * 3)[:1, :, ::-1],)


def break_softmax_with_integers():
    return [np.array([[-1000, 900], [-200, -201]])]


ALTERNATIVES = {
    "break_softmax": [break_softmax_with_batches, break_softmax_with_integers],
    "softmax": [
        softmax_with_logsumexp,
        softmax_in_a_loop,
        softmax_in_single_precision,
        softmax_from_differences,
    ],
    "alignment_scores": [
        scores_in_a_loop,
        scores_by_einsum,
        scores_in_single_precision,
    ],
    "attend": [attend_in_a_loop, attend_by_einsum, attend_in_single_precision],
    "soft_lookup": [lookup_in_a_loop, lookup_of_a_cooled_query, lookup_with_torch],
}
