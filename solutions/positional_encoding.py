"""Positions: a table that is added to tokens, and rotations of queries and keys."""

import numpy as np


def sinusoidal_encoding(length: int, dim: int) -> np.ndarray:
    """A table of sines and cosines, one row per position.

    Each sine is in an even feature, followed by the cosine of the same angle.

    Args:
        length: number of positions; the first is 0.
        dim: features per position, an even number.

    Returns:
        (length, dim) table.

    Source: Vaswani et al. (2017), section 3.5.
    """
    positions = np.arange(length)[:, None]  # (length, 1)
    doubled = np.arange(0, dim, 2)  # (dim/2,) this is 2k
    angles = positions * 10000.0 ** (-doubled / dim)  # (length, dim/2)
    pairs = np.stack([np.sin(angles), np.cos(angles)], axis=-1)  # (length, dim/2, 2)
    return pairs.reshape(length, dim)


def shift_matrix(offset: int, dim: int) -> np.ndarray:
    """The matrix that moves every sinusoidal encoding by the same offset.

    encoding[i + offset] = shift_matrix(offset, dim) @ encoding[i], for every i

    Args:
        offset: how many positions to move, forwards or backwards.
        dim: features of the encoding, an even number.

    Returns:
        (dim, dim) matrix.

    Source: Vaswani et al. (2017), section 3.5, which states that it exists.
    """
    matrix = np.zeros((dim, dim))
    for even in range(0, dim, 2):  # this is 2k
        angle = offset * 10000.0 ** (-even / dim)
        sine, cosine = np.sin(angle), np.cos(angle)
        matrix[even : even + 2, even : even + 2] = [[cosine, sine], [-sine, cosine]]
    return matrix


def rotary_embedding(
    x: np.ndarray, positions: np.ndarray, base: float = 10000.0
) -> np.ndarray:
    """Rotate each pair of features by an angle proportional to the position.

    The pair (x[2i], x[2i + 1]) turns counter-clockwise, as a point in the plane, by
    the angle position * base^(-2i / d).

    Args:
        x: (..., N, d) queries or keys, d even.
        positions: (N,) position of each token.
        base: a larger base makes the last pairs turn more slowly.

    Returns:
        (..., N, d) rotated vectors.

    Source: Su et al. (2021), section 3.2.2, equation 15.
    """
    d = x.shape[-1]
    doubled = np.arange(0, d, 2)  # (d/2,) this is 2i
    angles = positions[:, None] * base ** (-doubled / d)  # (N, d/2)
    sine, cosine = np.sin(angles), np.cos(angles)
    first, second = x[..., 0::2], x[..., 1::2]  # (..., N, d/2) each
    turned = [first * cosine - second * sine, first * sine + second * cosine]
    return np.stack(turned, axis=-1).reshape(x.shape)  # (..., N, d)


def break_rotary_embedding() -> tuple[np.ndarray, np.ndarray, float]:
    """Find vectors and positions on which wrong versions of rotary_embedding fail.

    Returns:
        The arguments of one call of rotary_embedding: x (N, d) with d even, positions
        (N,) from 0 to 1000, and a base from 2 to 100000.
    """
    return np.array([[1.0, 2.0, 3.0, 4.0]]), np.array([1]), 100.0
