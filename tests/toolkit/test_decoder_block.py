"""The block that the chapter on language models gives."""

import inspect

import numpy as np
import pytest
import torch

from autograder.book import chapters_folder
from toolkit.decoder_block import Block


@pytest.fixture
def block():
    torch.manual_seed(0)
    return Block(16, 2, 24).double()


def test_the_chapter_shows_the_block_as_it_is():
    chapter = (chapters_folder() / "language_model.md").read_text(encoding="utf-8")
    assert inspect.getsource(Block).rstrip() in chapter


def test_it_rotates_pairs_of_neighbours_as_complex_numbers_turn(block):
    x = torch.randn(2, 3, 7, 8, dtype=torch.float64)
    pairs = x.numpy()[..., ::2] + 1j * x.numpy()[..., 1::2]
    angles = np.outer(np.arange(7), 10000.0 ** (-np.arange(4) / 4))
    turned = pairs * np.exp(1j * angles)
    found = block.rotate(x).numpy()
    np.testing.assert_allclose(found[..., ::2], turned.real, rtol=0, atol=1e-5)
    np.testing.assert_allclose(found[..., 1::2], turned.imag, rtol=0, atol=1e-5)
