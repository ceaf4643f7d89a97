"""Positions: tables that are added to tokens, and rotations of queries and keys."""

import torch
from torch import Tensor, nn


def sinusoidal_encoding(length: int, dim: int) -> Tensor:
    """A table of sines and cosines, one row for each position.

    table[i, 2k]     = sin(i w_k)
    table[i, 2k + 1] = cos(i w_k)   with the frequency w_k = 10000^(-2k / dim)

    The pair number k runs from 0 to dim/2 - 1, and both entries of a pair share w_k.

    Args:
        length: number of positions; the first is 0.
        dim: features of a row, an even number.

    Returns:
        (length, dim) table, computed in float64, in torch's default dtype.

    Source: Vaswani et al. (2017), section 3.5.
    """
    positions = torch.arange(length, dtype=torch.float64)  # (length,)
    doubled = torch.arange(0, dim, 2, dtype=torch.float64)  # (dim/2,) this is 2k
    angles = positions[:, None] * 10000.0 ** (-doubled / dim)  # (length, dim/2)
    pairs = torch.stack([angles.sin(), angles.cos()], dim=-1)  # (length, dim/2, 2)
    return pairs.flatten(start_dim=-2).to(torch.get_default_dtype())  # (length, dim)


def shift_matrix(offset: int, dim: int) -> Tensor:
    """The matrix that moves every sinusoidal encoding by the same offset.

    encoding[i + offset] = shift_matrix(offset, dim) @ encoding[i], for every i

    Args:
        offset: how many positions to move, of either sign.
        dim: features of the encoding, an even number.

    Returns:
        (dim, dim) matrix, computed in float64, in torch's default dtype.

    Source: Vaswani et al. (2017), section 3.5, where it is claimed and not written out.
    """
    doubled = torch.arange(0, dim, 2, dtype=torch.float64)  # (dim/2,)
    angles = offset * 10000.0 ** (-doubled / dim)
    sine, cosine = angles.sin(), angles.cos()
    to_sine = torch.stack([cosine, sine], dim=-1)  # (dim/2, 2) sin(a + b)
    to_cosine = torch.stack([-sine, cosine], dim=-1)  # (dim/2, 2) cos(a + b)
    blocks = torch.stack([to_sine, to_cosine], dim=-2)  # (dim/2, 2, 2)
    return torch.block_diag(*blocks).to(torch.get_default_dtype())


def sinusoidal_encoding_2d(height: int, width: int, dim: int) -> Tensor:
    """Sinusoidal encodings for the cells of a grid, such as the patches of an image.

    The first half of the features encodes the row of the cell, the second half its
    column, each by ``sinusoidal_encoding`` with dim/2 features.

    Args:
        height: rows of the grid.
        width: columns of the grid.
        dim: features of a cell, divisible by 4.

    Returns:
        (height * width, dim) table in row-major order: the cell in row r and column c
        is entry r * width + c. Computed in float64, in torch's default dtype.
    """
    rows = sinusoidal_encoding(height, dim // 2)  # (height, dim/2)
    columns = sinusoidal_encoding(width, dim // 2)  # (width, dim/2)
    rows = rows[:, None].expand(height, width, dim // 2)
    columns = columns[None].expand(height, width, dim // 2)
    return torch.cat([rows, columns], dim=-1).flatten(0, 1)  # (height * width, dim)


def rotary_embedding(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Turn each pair of features by an angle that grows with the position.

    The pair (x[2i], x[2i + 1]) is turned counter-clockwise, as a point in the plane, by
    the angle position * base^(-2i / d).

    Args:
        x: (..., N, d) queries or keys, d even.
        positions: (N,) position of each token.
        base: the larger, the slower the last pairs turn.

    Returns:
        (..., N, d) the turned vectors, in the dtype of ``x``.

    Source: Su et al. (2021), section 3.2.2, equation 15.
    """
    d = x.shape[-1]
    doubled = torch.arange(0, d, 2, dtype=torch.float64, device=x.device)  # (d/2,)
    angles = positions[:, None] * base ** (-doubled / d)  # (N, d/2)
    sine, cosine = angles.sin().to(x.dtype), angles.cos().to(x.dtype)
    first, second = x[..., 0::2], x[..., 1::2]  # (..., N, d/2) each
    turned = first * cosine - second * sine, first * sine + second * cosine
    return torch.stack(turned, dim=-1).flatten(start_dim=-2)  # (..., N, d)


class LearnedPositions(nn.Module):
    """Adds a learned vector to each token, one vector for each position.

    Args:
        max_length: longest sequence; the number of rows of ``table``.
        dim: features of a token.

    Attributes:
        table: (max_length, dim) parameter.

    Source: Gehring et al. (2017), section 3.1.
    """

    def __init__(self, max_length: int, dim: int) -> None:
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_length, dim))

    def forward(self, x: Tensor) -> Tensor:
        """Add position vectors 0 to N - 1.

        Args:
            x: (B, N, dim) tokens.

        Returns:
            (B, N, dim) tokens that carry their position.
        """
        N = x.shape[1]
        return x + self.table[:N]  # (B, N, dim)


def break_rotary_embedding() -> tuple[Tensor, Tensor, float]:
    """Find vectors and positions on which wrong versions of rotary_embedding go wrong.

    Returns:
        The arguments of one call of rotary_embedding: x (N, d) with d even, positions
        (N,) from 0 to 1000, and a base from 2 to 100000.
    """
    return torch.tensor([[1.0, 2.0, 3.0, 4.0]]), torch.tensor([1]), 100.0
