"""Images that chapters share: two photographs, and handwritten digits.

Both come with scikit-learn, so nothing is downloaded.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

TEST_IMAGES = 450


class Digits(NamedTuple):
    """Handwritten digits, 8 x 8 pixels from 0 to 1, for training and for the test.

    Attributes:
        images: (1347, 1, 8, 8) for training.
        labels: (1347,) what each shows, 0 to 9.
        test_images: (450, 1, 8, 8) that no training may see.
        test_labels: (450,).
    """

    images: Tensor
    labels: Tensor
    test_images: Tensor
    test_labels: Tensor


def photograph(
    name: str = "china", size: int = 224, top: int = 0, left: int = 0
) -> Tensor:
    """A square cut from one of scikit-learn's photographs.

    Args:
        name: "china", a pavilion, or "flower"; both are 427 x 640 pixels.
        size: height and width of the square.
        top: first row of pixels.
        left: first column.

    Returns:
        (3, size, size) red, green and blue from 0 to 1.

    Raises:
        ValueError: the square leaves the photograph.
    """
    from sklearn.datasets import load_sample_image

    pixels = load_sample_image(f"{name}.jpg")  # (H, W, 3), 0 to 255
    cut = pixels[top : top + size, left : left + size]
    if min(top, left) < 0 or cut.shape[:2] != (size, size):
        raise ValueError(
            f"a square of {size} at row {top}, column {left} leaves the photograph, "
            f"which is {pixels.shape[0]} x {pixels.shape[1]}"
        )
    return torch.from_numpy(cut.copy()).permute(2, 0, 1).float() / 255


def digits() -> Digits:
    """The 1797 digits of scikit-learn, divided at random but always in the same way.

    Every digit has the same share in both parts. The people who wrote the test images
    also wrote training images.
    """
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    bunch = load_digits()
    train, test = train_test_split(
        np.arange(len(bunch.target)),
        test_size=TEST_IMAGES,
        stratify=bunch.target,
        random_state=0,
    )
    images = torch.from_numpy(bunch.images / 16).float()[:, None]  # (1797, 1, 8, 8)
    labels = torch.from_numpy(bunch.target)
    return Digits(images[train], labels[train], images[test], labels[test])
