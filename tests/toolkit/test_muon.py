"""Single precision changes how exactly Muon computes, and nothing else."""

import pytest
import torch

from toolkit.muon import Muon


@pytest.mark.parametrize("shape", [(24, 24), (48, 16), (16, 48)])
def test_steps_as_torch_does(shape):
    torch.manual_seed(0)
    ours = torch.nn.Parameter(torch.randn(shape))
    theirs = torch.nn.Parameter(ours.detach().clone())
    settings = {"lr": 0.1, "weight_decay": 0.5}
    optimisers = [Muon([ours], **settings), torch.optim.Muon([theirs], **settings)]
    start = ours.detach().clone()
    for _ in range(3):
        ours.grad = torch.randn(shape)
        theirs.grad = ours.grad.clone()
        for optimiser in optimisers:
            optimiser.step()
    moved = (theirs - start).norm()
    # bfloat16 has eight bits.
    assert (ours - theirs).norm() < 0.03 * moved
