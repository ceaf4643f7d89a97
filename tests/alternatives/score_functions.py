"""Other right answers to the exercises on score functions."""

import math

import numpy as np
import torch
import torch.nn.functional as F


def cosine_of_unit_vectors(S, H):
    def unit(states):
        length = np.sqrt((states**2).sum(axis=-1, keepdims=True))
        return np.divide(states, length, out=np.zeros_like(states), where=length != 0)

    return unit(S) @ unit(H).T


def cosine_torch(S, H):
    S, H = torch.tensor(S), torch.tensor(H)
    return F.cosine_similarity(S[:, None], H[None], dim=-1).numpy()


def general_einsum(S, H, W_a):
    return np.einsum("is,st,jt->ij", S, W_a, H)


def general_bilinear(S, H, W_a):
    S, H, W_a = (torch.tensor(array) for array in (S, H, W_a))
    pairs = S[:, None].expand(-1, len(H), -1), H[None].expand(len(S), -1, -1)
    return F.bilinear(*(part.contiguous() for part in pairs), W_a[None])[..., 0]


def reduced_from_left(S, H, U_a, V_a):
    return S @ U_a.T @ V_a @ H.T


def reduced_sum_over_rank(S, H, U_a, V_a):
    total = np.zeros((len(S), len(H)))
    for u, v in zip(U_a, V_a, strict=True):
        total += np.outer(S @ u, H @ v)
    return total


def additive_loops(S, H, W_a, V_a, v_a):
    scores = np.empty((len(S), len(H)))
    for i in range(len(S)):
        for j in range(len(H)):
            scores[i, j] = v_a.dot(np.tanh(W_a.dot(H[j]) + V_a.dot(S[i])))
    return scores


def additive_concatenated(S, H, W_a, V_a, v_a):
    weight = np.concatenate([V_a, W_a], axis=1)
    pairs = np.concatenate(
        [np.repeat(S, len(H), axis=0), np.tile(H, (len(S), 1))], axis=1
    )
    return (np.tanh(pairs @ weight.T) @ v_a[:, None]).reshape(len(S), len(H))


def count_match(score, s, h, k=None, r=None):
    match score, k, r:
        case (("dot" | "cosine"), _, _):
            return 0
        case "general", _, _:
            return s * h
        case "reduced_rank", int(), _:
            return k * (s + h)
        case "additive", _, int():
            return r * (s + h + 1)
    raise ValueError(f"{score}, {k}, {r}")


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
    "cosine_score": [cosine_of_unit_vectors, cosine_torch],
    "general_score": [general_einsum, general_bilinear],
    "reduced_rank_score": [reduced_from_left, reduced_sum_over_rank],
    "additive_score": [additive_loops, additive_concatenated],
    "parameter_count": [count_match, count_from_shapes],
}
