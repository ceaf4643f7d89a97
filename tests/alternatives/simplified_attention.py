"""Other right answers to the exercises on one query: einsum, torch, float32."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from scipy import special


def softmax_in_single_precision(scores):
    return F.softmax(torch.tensor(scores, dtype=torch.float32), -1).numpy()


def scores_in_single_precision(q, X):
    q, X = q.astype(np.float32), X.astype(np.float32)
    return np.inner(X, q) / np.float32(len(q) ** 0.5)


def attend_by_einsum(q, X):
    weights = special.softmax(np.einsum("d,nd", q, X) / np.sqrt(len(q)))
    return [np.einsum("n,nd->d", weights, X), weights]


def lookup_with_torch(query, keys, values, temperature=1.0):
    query, keys, values = map(torch.tensor, (query, keys, values))
    scale = 1 / (math.sqrt(len(query)) * temperature)
    return F.scaled_dot_product_attention(
        query[None, None], keys[None], values[None], scale=scale
    )[0, 0]


def break_softmax_with_integers():
    return [np.array([[-1000, 900], [-200, -201]])]


ALTERNATIVES = {
    "break_softmax": [break_softmax_with_integers],
    "softmax": [softmax_in_single_precision],
    "alignment_scores": [scores_in_single_precision],
    "attend": [attend_by_einsum],
    "soft_lookup": [lookup_with_torch],
}
