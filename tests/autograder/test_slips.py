"""Slips that readers made, in a real kernel, are told as a good tutor would."""

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
CONTEXT = """def context_vector(state, encoder_states, source_mask=None):
    scores = (encoder_states * state[:, None]).sum(-1)
    mask = scores == scores if source_mask is None else source_mask
"""
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
    "wrong axis and no scale": (
        [
            "def attend(q, X):\n    s = X.T @ q\n    a = np.exp(s) / np.exp(s).sum()\n"
            "    return a @ X, a",
            "check(attend)",
        ],
        ["your line 2, `s = X.T @ q`", "`q` has shape", "needs the k twice"],
    ),
    "trailing comma": (
        [SOFTMAX.format("return e / e.sum(-1, keepdims=True),"), "check(softmax)"],
        ["a list or tuple of 1, expected an array", "A comma at the end"],
    ),
    "nested lists": (
        [
            SOFTMAX.format("return (e / e.sum(-1, keepdims=True)).tolist()"),
            "check(softmax)",
        ],
        ["a list or tuple of", "come as a list where one array is expected"],
    ),
    "print for return": (
        [
            SOFTMAX.format("print((e / e.sum(-1, keepdims=True)).size)"),
            "check(softmax)",
        ],
        ["nothing (None), expected an array", "unless it ends with a return"],
    ),
    "half precision inside": (
        [
            SOFTMAX.format(
                "e = e.astype('float16')\n    return e / e.sum(-1, keepdims=True)"
            ),
            "check(softmax)",
        ],
        ["Yours are float16, not float64", "half precision"],
    ),
    "input changed in place": (
        [
            "def softmax(scores):\n    scores -= scores.max(-1, keepdims=True)\n"
            "    return np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)",
            "check(softmax)",
        ],
        ["failed    1", "`scores` after the call: 35 of 35", "in place"],
    ),
    "forward without return": (
        [
            "class EncoderLayer(nn.Module):\n"
            "    def __init__(self, d_model, num_heads, d_ff, *options):\n"
            "        super().__init__()\n"
            "        self.scale = nn.Parameter(torch.randn(d_model))\n"
            "    def forward(self, x):\n        x + self.scale",
            "check(EncoderLayer)",
        ],
        ["nothing (None), expected an array"],
    ),
    "forward without self": (
        [
            "class EncoderLayer(nn.Module):\n"
            "    def __init__(self, d_model, num_heads, d_ff, *options):\n"
            "        super().__init__()\n"
            "        self.scale = nn.Parameter(torch.randn(d_model))\n"
            "    def forward(x):\n        return x + self.scale",
            "check(EncoderLayer)",
        ],
        ["The first parameter of the method forward is x.", "called self"],
    ),
    "list of tensors": (
        [
            "def padding_mask(lengths, max_length):\n"
            "    return [np.arange(max_length) < n for n in lengths]",
            "check(padding_mask)",
        ],
        ["a list or tuple of", "stack its parts"],
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
    "stub alone": (
        [STUB.format("attend(q, X)"), "check(attend)"],
        ["Not implemented yet. Replace the line that raises NotImplementedError.\n"],
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
    "cell that stops before its definition": (
        [
            SOFTMAX.format("return e / e.sum(-1, keepdims=True)"),
            "import nunpy\n" + SOFTMAX.format("return e / e.sum()"),
            "check(softmax)",
        ],
        ["stopped with an error before the definition"],
    ),
    "cell mended again": (
        [
            SOFTMAX.format("return e / e.sum(-1, keepdims=True)\n)"),
            "%%time\n" + SOFTMAX.format("return e / e.sum(axis=-1, keepdims=True)"),
            "check(softmax)",
        ],
        ["softmax: 7 of 7 points"],
    ),
    "endless loop, interrupted": (
        [
            "def softmax(scores):\n    while scores.size:\n"
            "        raise KeyboardInterrupt  # as the stop button does",
            "check(softmax)",
        ],
        ["interrupted in your line 3, `raise KeyboardInterrupt", "never becomes false"],
    ),
    "a mask as a condition": (
        [
            "def masked_softmax(scores, mask):\n    if mask:\n"
            "        scores = np.where(mask, scores, -np.inf)\n"
            "    return np.exp(scores)",
            "check(masked_softmax)",
        ],
        ["your line 2, `if mask:`", "`mask is not None`"],
    ),
    "numbers for a mask": (
        [
            CONTEXT + "    return scores.masked_fill(1 - mask, -torch.inf).softmax(-1)",
            "check(context_vector)",
        ],
        ["~mask is its opposite"],
    ),
    "max returns two things": (
        [
            CONTEXT + "    e = (scores - scores.max(-1, keepdim=True)).exp() * mask\n"
            "    return e / e.sum(-1, keepdim=True)",
            "check(context_vector)",
        ],
        ["two things, the values and their indices"],
    ),
    "an operator that has no such dtype": (
        [
            CONTEXT + "    return scores & mask[:, None]",
            "check(context_vector)",
        ],
        ["RuntimeError was raised in your line 4", "masks of True and False"],
    ),
    "view after a transpose": (
        [
            "class MultiHeadAttention(nn.Module):\n"
            "    def __init__(self, d_model, num_heads):\n"
            "        super().__init__()\n"
            "        self.h = num_heads\n"
            "        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (\n"
            "            nn.Linear(d_model, d_model) for _ in range(4))\n"
            "    def forward(self, query, key, value, mask=None):\n"
            "        B, N, E = query.shape\n"
            "        q = self.q_proj(query).view(B, N, self.h, -1).transpose(1, 2)\n"
            "        return self.out_proj(q.view(B, N, E)), q @ q.mT",
            "check(MultiHeadAttention)",
        ],
        ["reshape copies", "`B` = ", "`q` has shape"],
    ),
    "a float for a size": (
        [
            "def split_heads(x, num_heads):\n    B, N, E = x.shape\n"
            "    return x.reshape(B, N, num_heads, E / num_heads).swapaxes(1, 2)",
            "check(split_heads)",
        ],
        ["your line 3", "/ gives a float"],
    ),
    "math.exp of an array": (
        [
            "def softmax(scores):\n    e = math.exp(scores)\n    return e / e.sum()",
            "check(softmax)",
        ],
        ["single number is needed", "np.exp"],
    ),
    "a typo in a name": (
        ["def softmax(scores):\n    return np.exp(score)", "check(softmax)"],
        ["name 'score' is not defined", "a typo"],
    ),
    "missing super().__init__()": (
        [
            "class EncoderLayer(nn.Module):\n"
            "    def __init__(self, d_model, num_heads, d_ff, *options):\n"
            "        self.scale = nn.Parameter(torch.randn(d_model))\n"
            "    def forward(self, x):\n        return x + self.scale",
            "check(EncoderLayer)",
        ],
        ["in your line 3", "super().__init__()"],
    ),
    "a parameter more than the stub": (
        ["def softmax(scores, axis):\n    return scores", "check(softmax)"],
        ["missing 1 required positional argument", "parameters in the stub"],
    ),
    "forward misspelled": (
        [
            "class EncoderLayer(nn.Module):\n"
            "    def __init__(self, d_model, num_heads, d_ff, *options):\n"
            "        super().__init__()\n"
            "        self.scale = nn.Parameter(torch.randn(d_model))\n"
            "    def foward(self, x):\n        return x + self.scale",
            "check(EncoderLayer)",
        ],
        ["The class has no method forward: look at its spelling"],
    ),
    "__init__ with one underscore": (
        [
            "class EncoderLayer(nn.Module):\n"
            "    def _init_(self, d_model, num_heads, d_ff, *options):\n"
            "        self.scale = nn.Parameter(torch.randn(d_model))\n"
            "    def forward(self, x):\n        return x + self.scale",
            "check(EncoderLayer)",
        ],
        ["two underscores on either side"],
    ),
    "a mask that is not stretched": (
        [
            "def masked_softmax(scores, mask):\n"
            "    filled = scores.copy()\n    filled[~mask] = -np.inf\n"
            "    return np.exp(filled)",
            "check(masked_softmax)",
        ],
        [
            "your line 3, `filled[~mask] = -np.inf`",
            "IndexError: A mask in square brackets needs",
        ],
    ),
    "counts that are floats": (
        [
            "def patchify(images, patch_size):\n    B, C, H, W = images.shape\n"
            "    n = H / patch_size\n    return images.reshape(B, n * n, -1)",
            "check(patchify)",
        ],
        ["`images` has shape", "/ gives a float"],
    ),
    "a dictionary for two results": (
        [
            "def attend(q, X):\n    return {'output': q, 'weights': X[:, 0]}",
            "check(attend)",
        ],
        ["a dictionary, expected a list or tuple of 2"],
    ),
    "results in the other order": (
        [
            "def attend(q, X):\n    s = X @ q / np.sqrt(len(q))\n"
            "    a = np.exp(s - s.max())\n    a /= a.sum()\n    return a, a @ X",
            "check(attend)",
        ],
        [
            "the output: shape (4,), expected (9,)",
            "weights first and the output second",
        ],
    ),
    "a lambda": (
        ["softmax = lambda scores: scores", "check(softmax)"],
        ["keep the name that the stub has"],
    ),
    "the name in quotes": (["1", "check('softmax')"], ["not <class 'str'>"]),
    "a function that does nothing": (
        ["def greedy_decode(*args, **kwargs):\n    pass", "check(greedy_decode)"],
        ["Nothing was returned."],
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


@pytest.mark.parametrize("slip", SLIPS)
def test_nothing_of_ours_is_shown(said, slip):
    assert not re.search(r"autograder/|solutions/|result \d\.\d|Traceback", said[slip])


def test_equal_errors_are_told_once(said):
    assert said["keepdim for keepdims"].count("unexpected keyword") == 1
