"""The names of the limits, and which one is behind an error that Linux raises."""

from __future__ import annotations

import errno
import os

import numpy as np
import pytest
import torch

from autograder.sandbox.limits import LEAST, Limits
from tests.autograder.sandbox.test_kernels import run

LIMITS = Limits(disk=20 * 2**20, files=30, open_files=40, threads=50)


def refused(number):
    raise OSError(number, os.strerror(number))


@pytest.mark.parametrize(
    ("fails", "limit"),
    [
        (lambda: bytearray(2**60), "memory limit of 2048 MB"),
        (lambda: np.ones(2**55), "memory limit of 2048 MB"),
        (lambda: torch.ones(2**55, dtype=torch.int8), "memory limit of 2048 MB"),
        (lambda: refused(errno.EMFILE), "limit of 40 open files"),
        (lambda: refused(errno.ENOENT), None),
        # 112, whose first digits are another error
        (lambda: refused(errno.EHOSTDOWN), None),
    ],
)
def test_the_limit_behind_an_error(fails, limit):
    with pytest.raises((MemoryError, RuntimeError, OSError)) as caught:
        fails()
    said = f"{caught.type.__name__}: {caught.value}"  # as a kernel sends it
    assert LIMITS.behind(said) == limit


def test_with_the_least_that_may_be_set_a_kernel_starts(needs_sandbox):
    (text,), ended = run("print('runs')", **LEAST)
    assert (text, ended) == ("runs\n", None)
