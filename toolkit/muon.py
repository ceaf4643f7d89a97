"""Muon in single precision.

``torch.optim.Muon`` computes in bfloat16, which most processors only imitate: on one
without an instruction for it, the language model took two and a half times as long to
train, and reached the same perplexity.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

# A polynomial that, applied five times, takes singular values from 0 to 1 close to 1.
LINEAR, CUBIC, QUINTIC = 3.4445, -4.7750, 2.0315
MOMENTUM = 0.95


class Muon(torch.optim.Optimizer):
    """Update matrices by Nesterov's momentum, with all its directions equally long.

    Args:
        matrices: parameters of two axes.
        lr: learning rate.
        weight_decay: share of ``lr`` by which weights shrink at each step.

    Source: Jordan et al. (2024), *Muon: an optimizer for hidden layers in neural
    networks*.
    """

    def __init__(
        self, matrices: Iterable[Tensor], lr: float, weight_decay: float
    ) -> None:
        super().__init__(matrices, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self) -> None:
        """Update every matrix once."""
        for group in self.param_groups:
            for matrix in group["params"]:
                state = self.state[matrix]
                if not state:
                    state["average"] = torch.zeros_like(matrix)
                state["average"].lerp_(matrix.grad, 1 - MOMENTUM)
                update = orthogonal(matrix.grad.lerp(state["average"], MOMENTUM))
                rows, columns = matrix.shape
                rate = group["lr"] * max(1, rows / columns) ** 0.5
                matrix.mul_(1 - group["lr"] * group["weight_decay"])
                matrix.sub_(rate * update)


def orthogonal(matrix: Tensor) -> Tensor:
    """The nearest matrix whose singular values are equal, approximately."""
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if tall else matrix
    x = x / x.norm().clamp(min=1e-7)
    for _ in range(5):
        gram = x @ x.T
        x = LINEAR * x + (CUBIC * gram + QUINTIC * gram @ gram) @ x
    return x.T if tall else x
