"""Other right answers to the exercises on score functions."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from solutions import score_functions as solutions


def dot_einsum(S, H):
    return np.einsum("id,jd->ij", S, H)


def dot_loops(S, H):
    scores = np.zeros((S.shape[0], H.shape[0]))
    for i, j, d in np.ndindex(len(S), len(H), S.shape[1]):
        scores[i, j] += S[i, d] * H[j, d]
    return scores


def dot_inner(S, H):
    return np.inner(S.astype(np.float32), H.astype(np.float32))


def dot_torch(S, H):
    return torch.from_numpy(np.ascontiguousarray(S)) @ torch.tensor(H).T


def cosine_of_unit_vectors(S, H):
    def unit(states):
        length = np.sqrt((states**2).sum(axis=-1, keepdims=True))
        return np.divide(states, length, out=np.zeros_like(states), where=length != 0)

    return unit(S) @ unit(H).T


def cosine_nan_to_num(S, H):
    with np.errstate(all="ignore"):
        scores = (S @ H.T) / np.linalg.norm(S, axis=1)[:, None]
        return np.nan_to_num(scores / np.linalg.norm(H, axis=1))


def cosine_tiny_epsilon(S, H):
    lengths = np.linalg.norm(S, axis=1)[:, None] * np.linalg.norm(H, axis=1)[None]
    return S @ H.T / (lengths + 1e-12)


def cosine_torch(S, H):
    S, H = torch.tensor(S), torch.tensor(H)
    return F.cosine_similarity(S[:, None], H[None], dim=-1).numpy()


def cosine_loops(S, H):
    scores = np.zeros((len(S), len(H)))
    for i, s in enumerate(S):
        for j, h in enumerate(H):
            if s.any() and h.any():
                scores[i, j] = s @ h / math.sqrt((s @ s) * (h @ h))
    return scores


def general_einsum(S, H, W_a):
    return np.einsum("is,st,jt->ij", S, W_a, H)


def general_encoder_first(S, H, W_a):
    return S @ (H @ W_a.T).T


def general_single_precision(S, H, W_a):
    S, H, W_a = (array.astype(np.float32) for array in (S, H, W_a))
    return np.linalg.multi_dot([S, W_a, H.T])


def general_bilinear(S, H, W_a):
    S, H, W_a = (torch.tensor(array) for array in (S, H, W_a))
    pairs = S[:, None].expand(-1, len(H), -1), H[None].expand(len(S), -1, -1)
    return F.bilinear(*(part.contiguous() for part in pairs), W_a[None])[..., 0]


def reduced_from_left(S, H, U_a, V_a):
    return S @ U_a.T @ V_a @ H.T


def reduced_columns(S, H, U_a, V_a):
    return (U_a @ S.T).T @ (V_a @ H.T)


def reduced_naive_einsum(S, H, U_a, V_a):
    return np.einsum("is,ks,kt,jt->ij", S, U_a, V_a, H)


def reduced_sum_over_rank(S, H, U_a, V_a):
    total = np.zeros((len(S), len(H)))
    for u, v in zip(U_a, V_a, strict=True):
        total += np.outer(S @ u, H @ v)
    return total


def reduced_torch(S, H, U_a, V_a):
    import torch.nn.functional as functional

    S, H, U_a, V_a = (torch.tensor(array) for array in (S, H, U_a, V_a))
    return functional.linear(S, U_a) @ functional.linear(H, V_a).mT


def reduced_as_dot(S, H, U_a, V_a):
    return solutions.dot_score(S @ U_a.T, H @ V_a.T)


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


def additive_einsum(S, H, W_a, V_a, v_a):
    hidden = np.tanh((V_a @ S.T)[:, :, None] + (W_a @ H.T)[:, None, :])
    return np.einsum("r,rij->ij", v_a, hidden)


def additive_exponentials(S, H, W_a, V_a, v_a):
    twice = 2 * (np.expand_dims(S @ V_a.T, 1) + H @ W_a.T)
    return ((1 - 2 / (np.exp(twice) + 1)) * v_a).sum(-1)


def additive_single_precision(S, H, W_a, V_a, v_a):
    S, H, W_a, V_a, v_a = (torch.tensor(x).float() for x in (S, H, W_a, V_a, v_a))
    return (F.linear(S, V_a)[:, None] + F.linear(H, W_a)).tanh() @ v_a


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


def count_numpy(score, s, h, k=None, r=None):
    if score == "general":
        return np.zeros((s, h)).size
    if score == "reduced_rank":
        return np.int64(k) * (s + h)
    return np.empty(r).size * (h + s + 1) if score == "additive" else 0


def break_general_score_with_one_decoder_state():
    return (
        np.array([[1.5]]),
        np.array([[1.0, 2.0], [3.0, 4.0]]),
        np.array([[1.0, -1.0]]),
    )


def break_general_score_with_integers():
    return np.array([[7], [-3]]), np.array([[1, -2]]), np.array([[4, 1]])


ALTERNATIVES = {
    "break_general_score": [
        break_general_score_with_one_decoder_state,
        break_general_score_with_integers,
    ],
    "dot_score": [dot_einsum, dot_loops, dot_inner, dot_torch],
    "cosine_score": [
        cosine_of_unit_vectors,
        cosine_nan_to_num,
        cosine_tiny_epsilon,
        cosine_torch,
        cosine_loops,
    ],
    "general_score": [
        general_einsum,
        general_encoder_first,
        general_single_precision,
        general_bilinear,
    ],
    "reduced_rank_score": [
        reduced_from_left,
        reduced_columns,
        reduced_naive_einsum,
        reduced_sum_over_rank,
        reduced_torch,
        reduced_as_dot,
    ],
    "additive_score": [
        additive_loops,
        additive_concatenated,
        additive_einsum,
        additive_exponentials,
        additive_single_precision,
    ],
    "parameter_count": [count_match, count_from_shapes, count_numpy],
}
