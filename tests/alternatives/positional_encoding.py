"""Other right answers to the exercises on positions."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from solutions import positional_encoding as solutions


def encoding_by_slices_in_single_precision(length, dim):
    table = torch.zeros(length, dim)
    position = torch.arange(length).unsqueeze(1)
    factor = torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))
    table[:, 0::2] = torch.sin(position * factor)
    table[:, 1::2] = torch.cos(position * factor)
    return table


def encoding_by_loops(length, dim):
    rows = []
    for i in range(length):
        row = []
        for j in range(dim):
            angle = i / 10000 ** (2 * (j // 2) / dim)
            row.append(math.cos(angle) if j % 2 else math.sin(angle))
        rows.append(row)
    return torch.tensor(rows)


def encoding_numpy(length, dim):
    exponent = np.arange(dim) // 2 * 2 / dim
    angles = np.outer(np.arange(length), np.power(10000, -exponent))
    return np.where(np.arange(dim) % 2, np.cos(angles), np.sin(angles))


def encoding_by_phase(length, dim):
    """A cosine is a sine that is a quarter of a turn ahead."""
    component = torch.arange(dim, dtype=torch.float64)
    exponent = (component - component % 2) / dim
    angles = torch.arange(length)[:, None] / torch.pow(10000.0, exponent)
    return torch.sin(angles + torch.pi / 2 * (component % 2))


def encoding_complex(length, dim):
    frequencies = 10000.0 ** (-torch.arange(0, dim, 2).double() / dim)
    angles = torch.outer(torch.arange(length).double(), frequencies)
    turning = torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turning).flip(-1).reshape(length, dim)


def shift_by_loops(offset, dim):
    matrix = torch.zeros(dim, dim)
    for k in range(dim // 2):
        angle = offset / 10000 ** (2 * k / dim)
        matrix[2 * k, 2 * k] = matrix[2 * k + 1, 2 * k + 1] = math.cos(angle)
        matrix[2 * k, 2 * k + 1] = math.sin(angle)
        matrix[2 * k + 1, 2 * k] = -math.sin(angle)
    return matrix


def shift_by_exponential(offset, dim):
    """A rotation is the exponential of its generator."""
    frequencies = 10000.0 ** (-torch.arange(0, dim, 2).double() / dim)
    generator = torch.zeros(dim, dim, dtype=torch.float64)
    even = torch.arange(0, dim, 2)
    generator[even, even + 1] = frequencies
    generator[even + 1, even] = -frequencies
    return torch.linalg.matrix_exp(offset * generator)


def shift_by_scattered_diagonals(offset, dim):
    angles = offset * np.repeat(10000.0 ** (-np.arange(0, dim, 2) / dim), 2)
    upper = np.sin(angles)[:-1].copy()
    upper[1::2] = 0
    return np.diag(np.cos(angles)) + np.diag(upper, 1) - np.diag(upper, -1)


def shift_power_of_one_step(offset, dim):
    step = solutions.shift_matrix(1, dim).double()
    return torch.linalg.matrix_power(step, offset)


def grid_by_loops(height, width, dim):
    rows = solutions.sinusoidal_encoding(height, dim // 2)
    columns = solutions.sinusoidal_encoding(width, dim // 2)
    return torch.stack(
        [torch.cat([rows[r], columns[c]]) for r in range(height) for c in range(width)]
    )


def grid_by_index(height, width, dim):
    cell = torch.arange(height * width)
    table = solutions.sinusoidal_encoding(max(height, width), dim // 2)
    return torch.hstack([table[cell // width], table[cell % width]])


def grid_by_repeats(height, width, dim):
    rows = encoding_by_slices_in_single_precision(height, dim // 2)
    columns = encoding_by_slices_in_single_precision(width, dim // 2)
    return torch.cat([rows.repeat_interleave(width, 0), columns.repeat(height, 1)], 1)


def rotary_complex(x, positions, base=10000.0):
    d = x.shape[-1]
    frequencies = base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    angles = torch.outer(positions.double(), frequencies)
    pairs = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous())
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).flatten(-2)


def rotary_in_single_precision(x, positions, base=10000.0):
    x, d = x.float(), x.size(-1)
    frequencies = torch.exp(-math.log(base) * torch.arange(0, d, 2).float() / d)
    angles = (positions.float().unsqueeze(-1) * frequencies).repeat_interleave(2, -1)
    crossed = torch.empty_like(x)
    crossed[..., 0::2], crossed[..., 1::2] = -x[..., 1::2], x[..., 0::2]
    return x * torch.cos(angles) + crossed * torch.sin(angles)


def rotary_matrices(x, positions, base=10000.0):
    """One matrix for each token; the shift matrix turns the other way."""
    d = x.shape[-1]
    matrices = []
    for position in positions.tolist():
        blocks = []
        for k in range(d // 2):
            a = position * base ** (-2 * k / d)
            blocks.append([[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]])
        blocks = torch.tensor(blocks, dtype=x.dtype)
        matrices.append(torch.block_diag(*blocks))
    return torch.einsum("nij,...nj->...ni", torch.stack(matrices), x)


def rotary_from_a_table(x, positions, base=10000.0):
    """Sines and cosines of all positions first, then the rows that are asked for."""
    d = x.shape[-1]
    exponents = torch.arange(d // 2, dtype=torch.float64) * 2 / d
    every = torch.arange(int(positions.max()) + 1)[:, None] / base**exponents
    cosine, sine = every.cos()[positions], every.sin()[positions]
    out = x.clone()
    out[..., ::2] = x[..., ::2] * cosine - x[..., 1::2] * sine
    out[..., 1::2] = x[..., 1::2] * cosine + x[..., ::2] * sine
    return out


class PositionsByLookup(nn.Module):
    def __init__(self, max_length, dim):
        super().__init__()
        self.max_length = max_length
        self.table = nn.Parameter(torch.empty(max_length, dim))
        nn.init.normal_(self.table, std=0.02)

    def forward(self, x):
        batch, length, _ = x.size()
        index = torch.arange(length, device=x.device).expand(batch, length)
        return x + F.embedding(index, self.table)


class PositionsByLoop(nn.Module):
    def __init__(self, max_length, dim):
        super().__init__()
        self.register_parameter("table", nn.Parameter(torch.zeros(max_length, dim)))

    def forward(self, x):
        tokens = [x[:, i] + self.table[i] for i in range(x.shape[1])]
        return torch.stack(tokens, dim=1)


class PositionsByOneHot(nn.Module):
    def __init__(self, max_length, dim):
        super().__init__()
        self.table = nn.Parameter(torch.rand(max_length, dim) - 0.5)

    def forward(self, x):
        length = x.shape[-2]
        chosen = torch.eye(self.table.shape[0], dtype=x.dtype)[:length]
        return torch.add(x, chosen @ self.table)


def break_rotary_embedding_far_away():
    return torch.tensor([[-1.0, 0.5, 2.0, 1.0]]), torch.tensor([7]), 5.0


def break_rotary_embedding_with_arrays():
    return [np.array([[4, 3, 2, 1]]), np.array([2]), 50]


ALTERNATIVES = {
    "break_rotary_embedding": [
        break_rotary_embedding_far_away,
        break_rotary_embedding_with_arrays,
    ],
    "sinusoidal_encoding": [
        encoding_by_slices_in_single_precision,
        encoding_by_loops,
        encoding_numpy,
        encoding_by_phase,
        encoding_complex,
    ],
    "shift_matrix": [
        shift_by_loops,
        shift_by_exponential,
        shift_by_scattered_diagonals,
        shift_power_of_one_step,
    ],
    "sinusoidal_encoding_2d": [grid_by_loops, grid_by_index, grid_by_repeats],
    "rotary_embedding": [
        rotary_complex,
        rotary_in_single_precision,
        rotary_matrices,
        rotary_from_a_table,
    ],
    "LearnedPositions": [PositionsByLookup, PositionsByLoop, PositionsByOneHot],
}
