"""Random tensors for the tests of torch references."""

import pytest
import torch


@pytest.fixture(params=range(5))
def generator(request):
    return torch.Generator().manual_seed(request.param)


@pytest.fixture
def normal(generator):
    def draw(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    return draw
