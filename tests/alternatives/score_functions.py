"""Other right answers to the exercises on score functions."""

import math

import numpy as np
import torch
import torch.nn.functional as F


def cosine_torch(S, H):
    S, H = torch.tensor(S), torch.tensor(H)
    return F.cosine_similarity(S[:, None], H[None], dim=-1).numpy()


def general_bilinear(S, H, W_a):
    S, H, W_a = (torch.tensor(array) for array in (S, H, W_a))
    pairs = S[:, None].expand(-1, len(H), -1), H[None].expand(len(S), -1, -1)
    return F.bilinear(*(part.contiguous() for part in pairs), W_a[None])[..., 0]


def reduced_sum_over_rank(S, H, U_a, V_a):
    total = np.zeros((len(S), len(H)))
    for u, v in zip(U_a, V_a, strict=True):
        total += np.outer(S @ u, H @ v)
    return total


def additive_concatenated(S, H, W_a, V_a, v_a):
    weight = np.concatenate([V_a, W_a], axis=1)
    pairs = np.concatenate(
        [np.repeat(S, len(H), axis=0), np.tile(H, (len(S), 1))], axis=1
    )
    return (np.tanh(pairs @ weight.T) @ v_a[:, None]).reshape(len(S), len(H))


def count_from_shapes(score, s, h, k=None, r=None):
    shapes = {
        "dot": [],
        "cosine": [],
        "general": [(s, h)],
        "reduced_rank": [(k, s), (k, h)],
        "additive": [(r, h), (r, s), (r,)],
    }
    return sum(math.prod(shape) for shape in shapes[score])


ALTERNATIVES = {
    "cosine_score": [cosine_torch],
    "general_score": [general_bilinear],
    "reduced_rank_score": [reduced_sum_over_rank],
    "additive_score": [additive_concatenated],
    "parameter_count": [count_from_shapes],
}
