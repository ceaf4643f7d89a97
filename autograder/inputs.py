"""Helpers for cases: sizes, random tensors, known parameters, gradients."""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

AnyModule = TypeVar("AnyModule", bound=nn.Module)


def sizes(
    rng: np.random.Generator, count: int, low: int = 3, high: int = 9
) -> list[int]:
    """``count`` sizes from ``low`` to ``high``, no two of them equal."""
    return [int(size) for size in rng.permutation(np.arange(low, high + 1))[:count]]


def tensor(rng: np.random.Generator, *shape: int) -> Tensor:
    """Standard normal values of the given shape, float64."""
    return torch.from_numpy(rng.standard_normal(shape))


def targets_with_padding(
    rng: np.random.Generator, b: int, t: int, v: int, pad_id: int
) -> Tensor:
    """(B, T) ids below V, rows filled up with ``pad_id``, which stands nowhere else."""
    others = np.delete(np.arange(v), pad_id)
    targets = rng.choice(others, (b, t))
    for row, length in zip(targets, 1 + rng.permutation(t)[:b], strict=True):
        row[length:] = pad_id
    return torch.from_numpy(targets)


def fill(module: AnyModule, rng: np.random.Generator, scale: float = 0.5) -> AnyModule:
    """Give every parameter of ``module`` float64 values that depend on its name.

    Two modules whose parameters have the same names and shapes get the same values,
    in whatever order they were defined. ``scale`` keeps the activations out of
    saturation.
    """
    salt = int(rng.integers(2**32))
    module.double()
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            parameter.copy_(_values_of(salt, name, tuple(parameter.shape), scale))
    return module


@lru_cache(maxsize=256)  # each wrong version of a model is given the same ones
def _values_of(salt: int, name: str, shape: tuple[int, ...], scale: float) -> Tensor:
    own = np.random.default_rng([salt, zlib.crc32(name.encode())])
    return torch.from_numpy(np.asarray(scale * own.standard_normal(shape)))


def gradients(result: Tensor, *inputs: Tensor) -> list[Tensor]:
    """Gradients of a fixed mixture of the entries of ``result``; zero if none."""
    if not (isinstance(result, Tensor) and result.requires_grad):
        return [torch.zeros_like(x) for x in inputs]
    mixture = torch.linspace(0.5, 1.5, result.numel(), dtype=result.dtype)
    found = torch.autograd.grad(
        (result * mixture.reshape(result.shape)).sum(), inputs, allow_unused=True
    )
    return [
        torch.zeros_like(x) if g is None else g
        for x, g in zip(inputs, found, strict=True)
    ]
