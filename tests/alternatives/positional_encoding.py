"""Other right answers to the exercises on positions."""

import math

import numpy as np

from solutions import positional_encoding as solutions


def encoding_by_loops(length, dim):
    rows = []
    for i in range(length):
        row = []
        for j in range(dim):
            angle = i / 10000 ** (2 * (j // 2) / dim)
            row.append(math.cos(angle) if j % 2 else math.sin(angle))
        rows.append(row)
    return np.array(rows)


def shift_power_of_one_step(offset, dim):
    return np.linalg.matrix_power(solutions.shift_matrix(1, dim), offset)


def rotary_view(x, positions, base=10000.0):
    """As in LLaMA: neighbours are seen as one complex number, without a copy."""
    pairs = x.view(np.complex128)  # (..., N, d/2)
    factors = base ** (-np.arange(pairs.shape[-1]) / pairs.shape[-1])
    return (pairs * np.exp(1j * np.outer(positions, factors))).view(np.float64)


def break_rotary_embedding_far_away():
    return np.array([[-1.0, 0.5, 2.0, 1.0]]), np.array([7]), 5.0


ALTERNATIVES = {
    "break_rotary_embedding": [break_rotary_embedding_far_away],
    "sinusoidal_encoding": [encoding_by_loops],
    "shift_matrix": [shift_power_of_one_step],
    "rotary_embedding": [rotary_view],
}
