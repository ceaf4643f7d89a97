"""A pretended GPU does what a GPU does with tensors of the CPU."""

import subprocess
import sys

import pytest
import torch

from autograder.another_device import on_another_device

LENGTHS = torch.tensor([1, 3, 2])


def ask(answer):
    with on_another_device(LENGTHS) as lengths:
        result = answer(lengths)
        return str(result.device), result.tolist()


@pytest.mark.parametrize(
    "answer",
    [
        lambda x: x + 1,
        lambda x: torch.ones(3, dtype=torch.int64, device=x.device) + x,
        lambda x: torch.ones(3, dtype=torch.int64).to(x) + x,
        lambda x: torch.ones(3).type_as(x) + x,
        lambda x: torch.ones(3).to(x.device, torch.int64) + x,
        lambda x: torch.ones(3).to(device=x.device).to(torch.int64) + x,
        lambda x: torch.ones(3, dtype=torch.int64).cuda() + x,
        lambda x: x.new_ones(3) + x,
        lambda x: torch.ones_like(x) + x,
        lambda x: torch.tensor(1) + x,  # a single number
        lambda x: torch.stack([length + 1 for length in x]),
        lambda x: (torch.ones(3) + x.cpu()).long().to(x.device),
        lambda x: torch.tensor([n + 1 for n in x.tolist()], device=x.device),
        lambda x: torch.tensor([2, 3, 4], device=x.device)[x - 1],
        lambda x: x[torch.arange(3)] + 1,  # an index may be on the CPU
    ],
)
def test_what_works_on_a_gpu_works_there(answer):
    assert ask(answer) == ("cuda:0", [2, 4, 3])


def test_a_tensor_of_the_cpu_may_be_written_into_one_that_is_there():
    def answer(lengths):
        result = torch.zeros_like(lengths)
        result[:2] = torch.tensor([5, 6])
        result[2:].copy_(torch.tensor([7]))
        return result

    assert ask(answer) == ("cuda:0", [5, 6, 7])


def test_the_device_of_a_tensor_can_be_the_default():
    def answer(lengths):
        with lengths.device:
            return lengths + torch.ones(3, dtype=torch.int64)

    assert ask(answer) == ("cuda:0", [2, 4, 3])


@pytest.mark.parametrize(
    "answer",
    [
        lambda x: torch.ones(3) + x,
        lambda x: torch.cat([x, torch.ones(3)]),
        lambda x: torch.where(x > 1, torch.ones(3), torch.zeros(3)),
        lambda x: torch.arange(4)[x],
    ],
)
def test_what_fails_on_a_gpu_fails_there(answer):
    with pytest.raises(RuntimeError, match="at least two devices, cuda:0 and cpu"):
        ask(answer)


@pytest.mark.parametrize(
    "answer",
    [
        lambda x: x.cpu(),
        lambda x: x.to("cpu"),
        lambda x: torch.tensor(x.tolist()),
        lambda x: torch.from_numpy(x.cpu().numpy()),
    ],
)
def test_what_is_on_the_cpu_is_not_there(answer):
    assert ask(answer) == ("cpu", [1, 3, 2])


def test_afterwards_nothing_is_another_device():
    ask(lambda x: x)
    assert (torch.ones(3) + LENGTHS).device.type == "cpu"


def test_no_compiler_is_imported():
    lines = (
        "import sys, torch",
        "from autograder.another_device import on_another_device",
        "with on_another_device(torch.tensor([1, 3, 2])) as lengths:",
        "    print((torch.arange(4, device=lengths.device) < lengths[:, None]).device)",
        "print('torch._dynamo' in sys.modules)",
    )
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True
    )
    assert done.stdout == "cuda:0\nFalse\n", done.stderr
