"""Run cases under the usual process-wide settings that right answers depend on.

A cell that tries something may leave gradients switched off, or make NumPy raise where
a number is too small. No task asks an answer to work under such settings, and the
reference would lose the same points. So cases run under the usual ones, and the cell's
own are restored afterwards.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np

from autograder.without_torch import loaded_torch

_ERRORS = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}


@contextlib.contextmanager
def usual_settings() -> Iterator[None]:
    """Run what follows as if no cell had changed a setting of NumPy or torch.

    Only what can cost a right answer its points is set. The default dtype is not: an
    answer may have been written for another one.
    """
    with np.errstate(**_ERRORS, call=None), _usual_torch():
        yield


@contextlib.contextmanager
def _usual_torch() -> Iterator[None]:
    """The same for torch, if it is loaded: gradients, and tensors on the processor."""
    torch = loaded_torch()
    if torch is None:
        yield
        return
    try:
        device = str(torch.get_default_device())
    except Exception:  # it asks a device that this machine lacks: nothing works there
        device = None
    if device != "cpu":
        torch.set_default_device("cpu")
    try:
        with (
            torch.inference_mode(False),
            torch.enable_grad(),
            torch.autograd.set_detect_anomaly(False),
        ):
            yield
    finally:
        if device not in ("cpu", None):
            torch.set_default_device(device)
