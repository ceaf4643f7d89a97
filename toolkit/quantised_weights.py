"""Weights in a quarter of the bytes, for pages.

Matrices, where nearly all numbers are, keep one byte for each: a whole number from
-127 to 127, times a scale of its row that makes the largest number of the row exact.
Vectors, biases and those of norms, stay float32. This is symmetric per-channel
quantisation of weights alone, as in Krishnamoorthi (2018), "Quantizing deep
convolutional networks for efficient inference", section 3; pages compute with float32.

The bytes of a matrix are its scales (float32), then its numbers (int8), row by row.
"""

from __future__ import annotations

import base64
import math
import zlib
from typing import Any

import numpy as np

from toolkit.playground import FORMAT as WHOLE

FORMAT = 2  # of what this module writes; what chapters give away has format 1
LARGEST = 127


def quantised(file: dict[str, Any]) -> dict[str, Any]:
    """The object that ``toolkit.playground`` describes, with smaller numbers.

    Raises:
        ValueError: the object has another format, or numbers for other shapes.
    """
    if file["format"] != WHOLE:
        raise ValueError(f"weights of format {file['format']}; expected {WHOLE}")
    numbers = np.frombuffer(base64.b64decode(file["numbers"]), dtype="<f4")
    sizes = [math.prod(shape) for _, shape in file["tensors"]]
    if sum(sizes) != numbers.size:
        raise ValueError(f"{numbers.size} numbers for shapes with {sum(sizes)}")
    parts = np.split(numbers, np.cumsum(sizes)[:-1])
    packed = b"".join(
        _bytes(part.reshape(shape))
        for part, (_, shape) in zip(parts, file["tensors"], strict=True)
    )
    return {
        **file,
        "format": FORMAT,
        "numbers": base64.b64encode(packed).decode("ascii"),
        "crc32": zlib.crc32(packed),
    }


def _bytes(tensor: np.ndarray) -> bytes:
    """A tensor as the module's docstring says; one of three axes counts as matrices."""
    if tensor.ndim < 2:
        return tensor.astype("<f4").tobytes()
    rows = tensor.reshape(-1, tensor.shape[-1])
    scales = (np.abs(rows).max(axis=1, keepdims=True) / LARGEST).astype("<f4")
    steps = np.divide(rows, scales, out=np.zeros_like(rows), where=scales > 0)
    return scales.tobytes() + np.rint(steps).astype(np.int8).tobytes()
