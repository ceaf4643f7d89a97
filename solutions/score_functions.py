"""Score functions: five ways to say how well two states match.

Symbols, in this file and in the chapter (rows are states):

    S (T_dec, s)   decoder states, which ask     result (T_dec, T_enc)   one score
    H (T_enc, h)   encoder states, which answer                          for each pair
"""

import numpy as np


def cosine_score(S: np.ndarray, H: np.ndarray) -> np.ndarray:
    """Cosine of the angle between every decoder state and every encoder state.

    score(s, h) = s . h / (|s| |h|), and 0 if s or h is zero

    Args:
        S: (T_dec, s) decoder states.
        H: (T_enc, h) encoder states, of the same width: h = s.

    Returns:
        (T_dec, T_enc) scores between -1 and 1. A zero vector has no direction and
        scores 0 with everything.

    Source: Graves et al. (2014), equation 6.
    """
    lengths = np.outer(np.linalg.norm(S, axis=1), np.linalg.norm(H, axis=1))
    return S @ H.T / np.where(lengths > 0, lengths, 1.0)  # (T_dec, T_enc)


def general_score(S: np.ndarray, H: np.ndarray, W_a: np.ndarray) -> np.ndarray:
    """Score with a learned matrix between the two states.

    score(s, h) = s W_a h

    Args:
        S: (T_dec, s) decoder states.
        H: (T_enc, h) encoder states.
        W_a: (s, h) learned; says how much feature i of s and feature j of h agree.

    Returns:
        (T_dec, T_enc) scores, not scaled.

    Source: Luong et al. (2015), section 3.1, "general".
    """
    return S @ W_a @ H.T  # (T_dec, T_enc)


def reduced_rank_score(
    S: np.ndarray, H: np.ndarray, U_a: np.ndarray, V_a: np.ndarray
) -> np.ndarray:
    """General score whose matrix is a product of two thin ones, never multiplied out.

    score(s, h) = (U_a s) . (V_a h), which is s W_a h for W_a = U_a^T V_a

    Args:
        S: (T_dec, s) decoder states.
        H: (T_enc, h) encoder states.
        U_a: (k, s) learned; brings decoder states to k features.
        V_a: (k, h) learned; brings encoder states to the same k features.

    Returns:
        (T_dec, T_enc) scores, not scaled.
    """
    return (S @ U_a.T) @ (H @ V_a.T).T  # (T_dec, k) with (k, T_enc)


def additive_score(
    S: np.ndarray,
    H: np.ndarray,
    W_a: np.ndarray,
    V_a: np.ndarray,
    v_a: np.ndarray,
) -> np.ndarray:
    """Score by a small network with one hidden layer.

    score(s, h) = v_a . tanh(W_a h + V_a s)

    Args:
        S: (T_dec, s) decoder states.
        H: (T_enc, h) encoder states.
        W_a: (r, h) learned; acts on encoder states.
        V_a: (r, s) learned; acts on decoder states.
        v_a: (r,) learned; reads the score off the hidden layer.

    Returns:
        (T_dec, T_enc) scores, not scaled.

    Source: Bahdanau et al. (2015), appendix A.1.2, where the letters are W_a for the
        decoder's side and U_a for the encoder's.
    """
    asked = (S @ V_a.T)[:, None, :]  # (T_dec, 1, r)
    offered = (H @ W_a.T)[None, :, :]  # (1, T_enc, r)
    return np.tanh(asked + offered) @ v_a  # (T_dec, T_enc)


def parameter_count(
    score: str, s: int, h: int, k: int | None = None, r: int | None = None
) -> int:
    """How many parameters a score function learns.

    Args:
        score: "dot", "cosine", "general", "reduced_rank" or "additive".
        s: width of a decoder state.
        h: width of an encoder state.
        k: common features in the reduced-rank score; needed only there.
        r: width of the additive score's hidden layer; needed only there.

    Returns:
        The number of learned parameters.
    """
    if score in ("dot", "cosine"):
        return 0
    if score == "general":
        return s * h
    if score == "reduced_rank":
        return k * s + k * h
    return r * h + r * s + r  # additive
