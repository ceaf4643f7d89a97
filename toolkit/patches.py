"""Image tokens, for the chapters that build on them."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class PatchTokens(nn.Module):
    """The first tokens of a vision transformer, through a projection that is given.

    Parameters: ``projection``; ``class_token`` (1, 1, E), which begins as zeros;
    ``positions`` (1, N + 1, E), which begin as small random numbers.

    Args:
        projection: from the C*p*p numbers of a patch to the E of a token.
        num_patches: N, how many patches an image has.
        patch_size: p, height and width of a patch.

    Source: Dosovitskiy et al. (2021), equation 1.
    """

    def __init__(
        self, projection: nn.Linear, num_patches: int, patch_size: int
    ) -> None:
        """Make the class token and the positions."""
        super().__init__()
        self.patch_size = patch_size
        self.projection = projection
        self.class_token = nn.Parameter(torch.zeros(1, 1, projection.out_features))
        positions = torch.empty(1, num_patches + 1, projection.out_features)
        self.positions = nn.Parameter(nn.init.trunc_normal_(positions, std=0.02))

    def forward(self, images: Tensor) -> Tensor:
        """Tokens (B, N + 1, E) of images (B, C, H, W), the class token first."""
        patches = F.unfold(images, self.patch_size, stride=self.patch_size).mT
        class_token = self.class_token.expand(len(images), -1, -1)  # (B, 1, E)
        tokens = torch.cat([class_token, self.projection(patches)], dim=1)
        return tokens + self.positions  # (B, N + 1, E)
