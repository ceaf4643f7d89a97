"""Slips that readers made, in a real kernel, are told as a good tutor would.

What the errors of libraries mean is tested in ``explain/test_errors.py``.
"""

from __future__ import annotations

import re

import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

SETUP = """import math
import numpy as np, torch
import torch.nn.functional as F
from torch import nn
from autograder.check import check
from autograder.hints import hint"""
SOFTMAX = """def softmax(scores):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    {}"""
STUB = "def {}:\n    raise NotImplementedError"

# The name of the slip, what is run, and what is said to the last cell.
SLIPS: dict[str, tuple[list[str], list[str]]] = {
    "keepdim for keepdims": (
        [SOFTMAX.format("return e / e.sum(axis=-1, keepdim=True)"), "check(softmax)"],
        [
            "in your line 3, `return e / e.sum(axis=-1, keepdim=True)`",
            "NumPy says axis and keepdims",
        ],
    ),
    "another name, stub still there": (
        [
            STUB.format("softmax(scores)"),
            SOFTMAX.format("return e / e.sum()").replace("softmax", "softmx"),
            "check(softmax)",
        ],
        [
            "Not implemented yet",
            "If softmx is your answer: it has to be called softmax",
        ],
    ),
    "cell that does not compile": (
        [
            SOFTMAX.format("return e / e.sum(-1, keepdims=True)"),
            SOFTMAX.format("return e / e.sum(-1, keepdims=True"),
            "check(softmax)",
        ],
        [
            "The last cell that defines softmax did not run: SyntaxError in its line 3",
            "nothing is judged",
        ],
    ),
    "cell mended again": (
        [
            SOFTMAX.format("return e / e.sum(-1, keepdims=True)\n)"),
            "%%time\n" + SOFTMAX.format("return e / e.sum(axis=-1, keepdims=True)"),
            "check(softmax)",
        ],
        ["softmax: 7 of 7 points"],
    ),
    "a magic that keeps the answer to itself": (
        [
            STUB.format("softmax(scores)"),
            "%%timeit -n 1 -r 1\n" + SOFTMAX.format("return e / e.sum()"),
            "check(softmax)",
        ],
        ["under %%timeit defines does not outlast it", "nothing is judged"],
    ),
    "endless loop, interrupted": (
        [
            "def softmax(scores):\n    while scores.size:\n"
            "        raise KeyboardInterrupt  # as the stop button does",
            "check(softmax)",
        ],
        ["interrupted in your line 3, `raise KeyboardInterrupt", "never becomes false"],
    ),
    "a lambda": (
        ["softmax = lambda scores: scores", "check(softmax)"],
        ["keep the name that the stub has"],
    ),
}


@pytest.fixture(scope="module")
def said():
    """What is displayed for the last cell of each slip, in one kernel for all."""
    sources = [SETUP] + [cell for cells, _ in SLIPS.values() for cell in cells]
    notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
    client = NotebookClient(notebook, kernel_name="python3", allow_errors=True)
    shown = [_text(cell.outputs) for cell in client.execute().cells]
    told, at = {}, 0
    for slip, (cells, _) in SLIPS.items():
        at += len(cells)
        told[slip] = shown[at]
    return told


def _text(outputs):
    parts = []
    for output in outputs:
        if output.output_type == "error":
            parts += output.traceback
        elif output.output_type == "stream":
            parts.append(output.text)
        elif "data" in output:
            parts.append(output.data["text/plain"])
    return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(parts))


@pytest.mark.parametrize("slip", SLIPS)
def test_slip_is_told_as_a_tutor_would(said, slip):
    for words in SLIPS[slip][1]:
        assert words in said[slip], said[slip]
    assert not re.search(r"autograder/|solutions/|result \d\.\d|Traceback", said[slip])
