"""The names of the limits, and which one is behind an error that Linux raises."""

from __future__ import annotations

import errno
import os
from dataclasses import fields

import numpy as np
import pytest
import torch

from autograder.sandbox.limits import LEAST, Limits
from tests.autograder.sandbox.test_kernels import run

LIMITS = Limits(disk=20 * 2**20, files=30, open_files=40, threads=50)


def said(error):
    """As a kernel sends it."""
    return f"{type(error).__name__}: {error}"


def test_each_limit_has_a_name_that_holds_its_number():
    numbers = {f.name: n for n, f in enumerate(fields(Limits), 3)}
    limits = Limits(
        **{
            name: n * 2**20
            if "bytes" in name or name in ("memory", "disk", "file_size")
            else n
            for name, n in numbers.items()
        }
    )
    names = {"files": "disk"}
    for name, number in numbers.items():
        words = limits.called(names.get(name, name)).split()
        assert str(number) in words, name
        assert "limit" in words


@pytest.mark.parametrize(
    "number, limit",
    [
        (errno.ENOMEM, "memory limit of 2048 MB"),
        (errno.EAGAIN, "limit of 50 threads"),
        (errno.EMFILE, "limit of 40 open files"),
        (errno.EFBIG, "limit of 128 MB in a file"),
        (errno.ENOSPC, "limit of 20 MB and 30 files in a folder"),
        (errno.ENOENT, None),
        (errno.EHOSTDOWN, None),  # 112, whose first digits are another error
    ],
)
def test_the_limit_behind_an_error_of_the_system(number, limit):
    assert LIMITS.behind(said(OSError(number, os.strerror(number)))) == limit


@pytest.mark.parametrize(
    "greedy",
    [
        lambda: bytearray(2**60),
        lambda: np.ones(2**55),
        lambda: torch.ones(2**55, dtype=torch.int8),
    ],
)
def test_memory_that_was_not_to_be_had(greedy):
    with pytest.raises((MemoryError, RuntimeError)) as caught:
        greedy()
    assert LIMITS.behind(said(caught.value)) == "memory limit of 2048 MB"


def test_with_the_least_that_may_be_set_a_kernel_starts(needs_sandbox):
    (text,), ended = run("print('runs')", **LEAST)
    assert (text, ended) == ("runs\n", None)
