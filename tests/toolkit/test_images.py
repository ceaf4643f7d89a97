"""Photographs and digits arrive as tensors, whole and always the same."""

import pytest
import torch
from sklearn.datasets import load_digits

from toolkit import images


@pytest.mark.parametrize("corner", [(300, 0), (0, 500), (-1, 0)])
def test_a_square_outside_the_photograph_is_refused(corner):
    top, left = corner
    with pytest.raises(ValueError, match="427 x 640"):
        images.photograph(size=224, top=top, left=left)


def test_every_digit_is_in_one_part_only_and_the_parts_never_change():
    data = images.digits()
    assert len(data.images) == len(data.labels) == 1347
    assert len(data.test_images) == len(data.test_labels) == images.TEST_IMAGES
    both = torch.cat([data.images, data.test_images])[:, 0].double().numpy() * 16
    theirs = load_digits().images
    assert sorted(map(bytes, both)) == sorted(map(bytes, theirs))
    assert torch.equal(images.digits().test_images, data.test_images)
