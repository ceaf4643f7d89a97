"""Misconceptions about score functions, as code that can be recognised."""

import numpy as np

from autograder.exercise import mistake
from autograder.exercises.score_functions import (
    additive_score,
    cosine_score,
    general_score,
    parameter_count,
    reduced_rank_score,
)


def softmax(scores):
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def lengths(vectors):
    return np.linalg.norm(vectors, axis=1)


def cosine(S, H):
    product = np.outer(lengths(S), lengths(H))
    return S @ H.T / np.where(product > 0, product, 1.0)


def hidden_layer(S, H, W_a, V_a):
    return (S @ V_a.T)[:, None, :] + (H @ W_a.T)[None, :, :]


# cosine_score


@mistake(cosine_score)
def cosine_without_guard(S, H):
    """You divided by a length of zero, which gives NaN. A zero vector has no direction;
    its score is 0, and one NaN would spoil a whole row of weights."""
    with np.errstate(invalid="ignore"):
        return S @ H.T / np.outer(lengths(S), lengths(H))


@mistake(cosine_score)
def cosine_guards_decoder_only(S, H):
    """You guarded against zero decoder states and forgot the encoder states. Padding
    often is a row of zeros on either side, so both lengths need the guard."""
    own = lengths(S)
    with np.errstate(invalid="ignore"):
        return S @ H.T / np.outer(np.where(own > 0, own, 1.0), lengths(H))


@mistake(cosine_score)
def cosine_is_dot(S, H):
    """You did not divide by the lengths at all. The cosine compares directions, so a
    state ten times as long must score the same."""
    return S @ H.T


@mistake(cosine_score)
def cosine_decoder_length_only(S, H):
    """You divided by the length of the decoder state only. The length of the encoder
    state still counts then, and long states win every comparison."""
    own = lengths(S)[:, None]
    return S @ H.T / np.where(own > 0, own, 1.0)


@mistake(cosine_score)
def cosine_squared_lengths(S, H):
    """You divided by the squared lengths: the square root is missing. A state that is
    ten times as long then scores a tenth, where the cosine ignores length."""
    product = np.outer((S**2).sum(axis=1), (H**2).sum(axis=1))
    return S @ H.T / np.where(product > 0, product, 1.0)


@mistake(cosine_score)
def cosine_length_of_everything(S, H):
    """You took the length over all states together. Every state has a length of its
    own, so the length is taken along the features of each row."""
    return S @ H.T / (np.linalg.norm(S) * np.linalg.norm(H))


@mistake(cosine_score)
def cosine_encoder_length_of_features(S, H):
    """You divided the decoder states by their lengths, and the encoder states by
    lengths that were taken along another axis. The features of a state are a row on
    both sides, and its length is taken along them."""
    with np.errstate(all="ignore"):
        return (S / lengths(S)[:, None]) @ (H / np.linalg.norm(H, axis=0)).T


@mistake(cosine_score)
def cosine_large_epsilon(S, H):
    """You added a constant to the denominator that is not small beside short states. It
    shrinks their scores, while the cosine does not depend on length; treat zero as the
    special case that it is."""
    return S @ H.T / (np.outer(lengths(S), lengths(H)) + 0.01)


# general_score


@mistake(general_score)
def general_transposed_weight(S, H, W_a):
    """You transposed W_a. Its rows belong to the decoder's features and its columns to
    the encoder's; when both have the same width only the values tell."""
    return S @ W_a.T @ H.T


@mistake(general_score)
def general_without_weight(S, H, W_a):
    """You left out W_a. The learned matrix is what this score adds to the dot product:
    it says which features of the two states belong together."""
    return S @ H.T


@mistake(general_score)
def general_not_compared(S, H, W_a):
    """You stopped after multiplying with W_a. That brings the decoder states into the
    encoder's space; they still have to be compared with the encoder states."""
    return S @ W_a


@mistake(general_score)
def general_scaled(S, H, W_a):
    """You divided by the square root of a width. The scores of this chapter are not
    scaled, and a learned matrix can take up any factor by itself."""
    return S @ W_a @ H.T / np.sqrt(H.shape[1])


@mistake(general_score)
def general_with_tanh(S, H, W_a):
    """You put a tanh behind the matrix. This score is bilinear: twice the state is
    twice the score. The nonlinearity belongs to the additive score."""
    return np.tanh(S @ W_a) @ H.T


@mistake(general_score)
def general_reshaped_weight(S, H, W_a):
    """W_a was given its transposed shape by reshape, which keeps the order of the
    numbers and so moves them to other features. A transpose swaps the axes: W_a.T."""
    return S @ W_a.reshape(W_a.shape[::-1]).T @ H.T


# reduced_rank_score


@mistake(reduced_rank_score)
def reduced_exchanged(S, H, U_a, V_a):
    """You exchanged U_a and V_a. U_a acts on decoder states and V_a on encoder states;
    when both have the same width only the values tell."""
    return (S @ V_a.T) @ (H @ U_a.T).T


@mistake(reduced_rank_score)
def reduced_builds_the_matrix(S, H, U_a, V_a):
    """You multiplied U_a and V_a into one (s, h) matrix first. The scores are right,
    but the point of the two thin matrices is that the large one never exists: bring
    both states to k features and compare them there."""
    return S @ (U_a.T @ V_a) @ H.T


@mistake(reduced_rank_score)
def reduced_one_projection(S, H, U_a, V_a):
    """You used U_a for both states. Each side has its own projection, because asking
    and answering are different jobs."""
    return (S @ U_a.T) @ (H @ U_a.T).T


@mistake(reduced_rank_score)
def reduced_scaled(S, H, U_a, V_a):
    """You divided by the square root of k. The scores of this chapter are not scaled,
    and learned matrices can take up any factor."""
    return (S @ U_a.T) @ (H @ V_a.T).T / np.sqrt(len(U_a))


@mistake(reduced_rank_score)
def reduced_not_turned(S, H, U_a, V_a):
    """You used U_a and V_a without turning them. Each is (k, width) and acts on a
    column; with states in rows it has to be transposed, and a square one hides it."""
    return (S @ U_a) @ (H @ V_a).T


@mistake(reduced_rank_score)
def reduced_ignores_weights(S, H, U_a, V_a):
    """You left both states unprojected and ignored the learned matrices. They decide
    which k mixtures of features are compared."""
    return S @ H.T


# additive_score


@mistake(additive_score)
def additive_without_tanh(S, H, W_a, V_a, v_a):
    """You forgot the tanh. Without it the score is a sum of one number per decoder
    state and one per encoder state, and the first drops out in the softmax: the query
    would have no say."""
    return hidden_layer(S, H, W_a, V_a) @ v_a


@mistake(additive_score)
def additive_tanh_last(S, H, W_a, V_a, v_a):
    """You applied v_a before the tanh. The nonlinearity acts on each of the r hidden
    numbers, and v_a reads the score off them afterwards."""
    return np.tanh(hidden_layer(S, H, W_a, V_a) @ v_a)


@mistake(additive_score)
def additive_v_inside(S, H, W_a, V_a, v_a):
    """You multiplied the hidden numbers by v_a before the tanh, and summed afterwards.
    The weights of a sum stand outside: v_a . tanh(...) weighs what tanh gives."""
    return np.tanh(hidden_layer(S, H, W_a, V_a) * v_a).sum(axis=-1)


@mistake(additive_score)
def additive_exchanged(S, H, W_a, V_a, v_a):
    """You exchanged W_a and V_a. W_a acts on encoder states and V_a on decoder states;
    when both have the same width only the values tell."""
    return np.tanh(hidden_layer(S, H, V_a, W_a)) @ v_a


@mistake(additive_score)
def additive_pairs_only(S, H, W_a, V_a, v_a):
    """You added state i to state i only, without the two new axes. Every decoder state
    meets every encoder state, so the sum needs a (T_dec, T_enc, r) array."""
    count = min(len(S), len(H))
    return np.tanh(S[:count] @ V_a.T + H[:count] @ W_a.T) @ v_a


@mistake(additive_score)
def additive_tanh_of_each(S, H, W_a, V_a, v_a):
    """You applied tanh to each projection before adding them. Then nothing nonlinear
    sees both states, and the query drops out in the softmax."""
    asked, offered = np.tanh(S @ V_a.T), np.tanh(H @ W_a.T)
    return (asked[:, None] + offered[None]) @ v_a


@mistake(additive_score)
def additive_without_v(S, H, W_a, V_a, v_a):
    """You summed the hidden layer without v_a. That vector is learned: it says how much
    each hidden number counts, and in which direction."""
    return np.tanh(hidden_layer(S, H, W_a, V_a)).sum(axis=2)


@mistake(additive_score)
def additive_rectified(S, H, W_a, V_a, v_a):
    """You cut off negative hidden numbers instead of applying tanh. The additive score
    is defined with tanh, which keeps the sign and bounds the size."""
    return np.maximum(hidden_layer(S, H, W_a, V_a), 0.0) @ v_a


@mistake(additive_score)
def additive_not_turned(S, H, W_a, V_a, v_a):
    """You used W_a and V_a without turning them. Each is (r, width) and acts on a
    column; with states in rows it has to be transposed, and a square one hides it."""
    return np.tanh((S @ V_a)[:, None] + (H @ W_a)[None]) @ v_a


# parameter_count


def count(score, s, h, k=None, r=None):
    return {
        "dot": lambda: 0,
        "cosine": lambda: 0,
        "general": lambda: s * h,
        "reduced_rank": lambda: k * (s + h),
        "additive": lambda: r * (s + h + 1),
    }[score]()


@mistake(parameter_count)
def count_without_v(score, s, h, k=None, r=None):
    """You forgot v_a in the additive score. Its r numbers read the score off the hidden
    layer and are learned like the two matrices."""
    return r * (s + h) if score == "additive" else count(score, s, h, k, r)


@mistake(parameter_count)
def count_with_biases(score, s, h, k=None, r=None):
    """You added bias terms. None of the five formulas has one, so only the entries of
    the matrices and of v_a are learned."""
    biases = {"general": 1, "reduced_rank": 2 * (k or 0), "additive": r or 0}
    return count(score, s, h, k, r) + biases.get(score, 0)


@mistake(parameter_count)
def count_general_as_sum(score, s, h, k=None, r=None):
    """You counted s + h numbers for the general score. Its matrix pairs every feature
    of one state with every feature of the other."""
    return s + h if score == "general" else count(score, s, h, k, r)


@mistake(parameter_count)
def count_reduced_as_full(score, s, h, k=None, r=None):
    """You counted the full (s, h) matrix for reduced rank. It is never built or stored;
    what is learned are its two thin factors."""
    return s * h if score == "reduced_rank" else count(score, s, h, k, r)


@mistake(parameter_count)
def count_product_of_factors(score, s, h, k=None, r=None):
    """You counted k * s * h numbers for reduced rank. Its two matrices are separate, so
    their sizes are added and not multiplied."""
    return k * s * h if score == "reduced_rank" else count(score, s, h, k, r)


@mistake(parameter_count)
def count_one_width(score, s, h, k=None, r=None):
    """You took s for the width of both states. An encoder state has h features, and the
    two may differ for every score that learns something."""
    return count(score, s, s, k, r)


@mistake(parameter_count)
def count_dot_by_width(score, s, h, k=None, r=None):
    """You counted a number per feature for dot and cosine. They learn nothing: the
    numbers that they multiply are the states themselves."""
    return s if score in ("dot", "cosine") else count(score, s, h, k, r)


@mistake(parameter_count)
def count_k_and_r_exchanged(score, s, h, k=None, r=None):
    """You exchanged k and r. k is the number of features that reduced rank compares, r
    the width of the additive score's hidden layer."""
    return count(score, s, h, r, k)
