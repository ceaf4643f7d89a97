"""Weights of one byte are those of four, to half a step of their row."""

import base64
import zlib

import numpy as np
import pytest
import torch
from torch import nn

from toolkit.playground import packed
from toolkit.quantised_weights import quantised


def read(file: dict) -> dict[str, np.ndarray]:
    """The tensors behind a file."""
    content, at, tensors = base64.b64decode(file["numbers"]), 0, {}
    for name, shape in file["tensors"]:
        rows, size = int(np.prod(shape[:-1])), int(np.prod(shape))
        if len(shape) == 1:
            values, at = np.frombuffer(content, "<f4", size, at), at + 4 * size
        else:
            scales, at = np.frombuffer(content, "<f4", rows, at), at + 4 * rows
            steps, at = np.frombuffer(content, "i1", size, at), at + size
            values = steps.reshape(rows, -1) * scales[:, None].astype(float)
        tensors[name] = values.reshape(shape)
    assert at == len(content)
    return tensors


def test_each_number_is_off_by_half_a_step_at_most():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 3), nn.LayerNorm(3))
    model.table = nn.Parameter(torch.randn(1, 4, 6) * 100)
    with torch.no_grad():
        model[0].weight[1] = 0
    small = quantised(packed(model, {"a": 1}))
    found = read(small)
    for name, parameter in model.named_parameters():
        values = parameter.detach().numpy()
        if values.ndim == 1:
            assert np.array_equal(found[name], values)
            continue
        step = np.abs(values).max(axis=-1, keepdims=True) / 127
        assert (np.abs(found[name] - values) <= 0.5001 * step).all()
        largest = np.abs(values).argmax(axis=-1)[..., None]
        np.testing.assert_allclose(
            np.take_along_axis(found[name], largest, -1),
            np.take_along_axis(values, largest, -1),
            rtol=1e-6,
        )
    assert (small["format"], small["facts"]) == (2, {"a": 1})
    assert small["crc32"] == zlib.crc32(base64.b64decode(small["numbers"]))


def test_another_format_is_refused():
    file = packed(nn.Linear(2, 2), {})
    with pytest.raises(ValueError, match="format 2; expected 1"):
        quantised(quantised(file))
    with pytest.raises(ValueError, match="numbers for shapes"):
        quantised({**file, "tensors": [["weight", [2, 5]]]})
