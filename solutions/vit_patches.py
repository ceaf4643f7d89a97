"""Images as sequences: patches, their embedding, and positions for any resolution.

Symbols, in this file and in the chapter:

    B     images in a batch           p     height and width of a patch
    C     colour channels             N     patches, (H / p) (W / p)
    H, W  height and width            E     width of the model (embed_dim)
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn


def patchify(images: np.ndarray, patch_size: int) -> np.ndarray:
    """Cut images into square patches and flatten each patch.

    Args:
        images: (B, C, H, W).
        patch_size: p.

    Returns:
        (B, H/p * W/p, C*p*p): patches row by row, the values of a patch in the order
        (C, p, p).

    Raises:
        ValueError: unless p divides H and W.

    Source: Dosovitskiy et al. (2021), section 3.1.
    """
    (B, C, H, W), p = images.shape, patch_size
    if H % p != 0 or W % p != 0:
        raise ValueError(f"patches of {p} x {p} do not fill images of {H} x {W}")
    cut = images.reshape(B, C, H // p, p, W // p, p)
    cut = cut.transpose(0, 2, 4, 1, 3, 5)  # (B, H/p, W/p, C, p, p)
    return cut.reshape(B, (H // p) * (W // p), C * p * p)


def unpatchify(
    patches: np.ndarray, patch_size: int, height: int, width: int
) -> np.ndarray:
    """Reassemble images from flattened patches; undoes ``patchify``.

    Args:
        patches: (B, N, C*p*p), as ``patchify`` returns them.
        patch_size: p.
        height: H of the images.
        width: W of the images.

    Returns:
        (B, C, H, W) images.
    """
    (B, _, values), p = patches.shape, patch_size
    rows, columns = height // p, width // p
    C = values // p**2
    cut = patches.reshape(B, rows, columns, C, p, p)
    cut = cut.transpose(0, 3, 1, 4, 2, 5)  # (B, C, H/p, p, W/p, p)
    return cut.reshape(B, C, height, width)


class PatchEmbedding(nn.Module):
    """Make the tokens of a vision transformer from square images.

    Parameters: ``projection``, an ``nn.Linear`` from the C*p*p values of a patch, in
    the order of ``patchify``, to E; ``class_token`` (1, 1, E), initially zeros;
    ``positions`` (1, N + 1, E), initially small random values.

    Args:
        image_size: H = W, which ``patch_size`` divides.
        patch_size: p.
        channels: C.
        embed_dim: E.

    Source: Dosovitskiy et al. (2021), equation 1.
    """

    def __init__(
        self, image_size: int, patch_size: int, channels: int, embed_dim: int
    ) -> None:
        """Make the parameters."""
        super().__init__()
        self.patch_size = patch_size
        num_patches = (image_size // patch_size) ** 2
        self.projection = nn.Linear(channels * patch_size**2, embed_dim)
        self.class_token = nn.Parameter(torch.zeros(1, 1, embed_dim))
        positions = torch.empty(1, num_patches + 1, embed_dim)
        self.positions = nn.Parameter(nn.init.trunc_normal_(positions, std=0.02))

    def forward(self, images: Tensor) -> Tensor:
        """Return tokens (B, N + 1, E) of images (B, C, H, W), the class token first."""
        patches = F.unfold(images, self.patch_size, stride=self.patch_size).mT
        tokens = self.projection(patches)  # (B, N, E)
        class_token = self.class_token.expand(len(images), -1, -1)  # (B, 1, E)
        return torch.cat([class_token, tokens], dim=1) + self.positions


def linear_to_conv(weight: np.ndarray, patch_size: int, channels: int) -> np.ndarray:
    """Turn the weight of a patch projection into the weight of a convolution.

    A convolution of the images with stride p then gives the projected patches.

    Args:
        weight: (E, C*p*p), in the layout of ``nn.Linear``.
        patch_size: p.
        channels: C.

    Returns:
        (E, C, p, p), in the layout of ``nn.Conv2d``.

    Source: Dosovitskiy et al. (2021), section 3.1.
    """
    return weight.reshape(len(weight), channels, patch_size, patch_size)


def sinusoidal_encoding_2d(height: int, width: int, dim: int) -> np.ndarray:
    """Sinusoidal encodings for the cells of a grid, such as the patches of an image.

    The first half of the features encodes the row of the cell, the second half its
    column, each like a sinusoidal encoding with dim/2 features.

    Args:
        height: rows of the grid.
        width: columns of the grid.
        dim: features of a cell, divisible by 4.

    Returns:
        (height * width, dim) table, row by row: the cell in row r and column c is entry
        r * width + c.
    """
    doubled = np.arange(0, dim // 2, 2)  # (dim/4,)
    steps = np.arange(max(height, width))[:, None]
    angles = steps * 10000.0 ** (-doubled / (dim // 2))  # (longer side, dim/4)
    table = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
    table = table.reshape(len(steps), dim // 2)
    rows = np.repeat(table[:height], width, axis=0)  # (height * width, dim/2)
    columns = np.tile(table[:width], (height, 1))  # (height * width, dim/2)
    return np.concatenate([rows, columns], axis=-1)


def interpolate_positions(
    positions: Tensor, old_grid: tuple[int, int], new_grid: tuple[int, int]
) -> Tensor:
    """Resize learned positions to another grid of patches.

    Bicubic interpolation over the grid, ``align_corners=False``, no antialias. The
    class token's position stays as it is.

    Args:
        positions: (1, 1 + h*w, E), the class token's first, then row by row.
        old_grid: (h, w), rows and columns of patches.
        new_grid: (h', w').

    Returns:
        (1, 1 + h'*w', E).

    Source: Dosovitskiy et al. (2021), section 3.2.
    """
    (h, w), E = old_grid, positions.shape[-1]
    class_token, patches = positions[:, :1], positions[:, 1:]
    grid = patches.mT.reshape(1, E, h, w)
    grid = F.interpolate(grid, size=new_grid, mode="bicubic", align_corners=False)
    return torch.cat([class_token, grid.flatten(2).mT], dim=1)  # (1, 1 + h'*w', E)


def break_patchify() -> tuple[np.ndarray, int]:
    """Find images on which wrong versions of patchify fail.

    Returns:
        The arguments of one call of patchify: images (B, C, H, W) with values from
        -1000 to 1000, and a patch size that divides H and W.
    """
    return np.arange(32.0).reshape(1, 2, 4, 4), 2
