"""Reads GGUF, the file format of llama.cpp: settings by name, then tensors by name.

Source: the specification of GGUF, version 3, in the repository of ggml.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np

# Blocks of 32 weights: one scale, and a code for each.
Q8_0 = np.dtype([("scale", "<f2"), ("codes", "i1", (32,))])
Q4_1 = np.dtype([("scale", "<f2"), ("offset", "<f2"), ("codes", "u1", (16,))])
TENSORS = {0: np.dtype("<f4"), 3: Q4_1, 8: Q8_0}
NUMBERS = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}
TEXT, ARRAY = 8, 9


def read(file: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The settings and the tensors of a file.

    Returns:
        The settings, and the tensors as they are stored: float32, or structured arrays
        of ``Q8_0`` or ``Q4_1`` whose last axis counts blocks of 32 weights.

    Raises:
        ValueError: it is no GGUF file of version 3, or has tensors of another type.
    """
    return _Reader(file.read_bytes()).read()


class _Reader:
    """Reads one value after the other."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 8

    def read(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        if self.data[:8] != b"GGUF\3\0\0\0":
            raise ValueError("this is no GGUF file of version 3")
        tensors, settings = self.number("Q"), self.number("Q")
        found = {self.text(): self.value(self.number("I")) for _ in range(settings)}
        heads = [self.head() for _ in range(tensors)]
        grid = found.get("general.alignment", 32)
        start = -(-self.at // grid) * grid
        return found, {name: self.tensor(start, *head) for name, *head in heads}

    def number(self, code: str) -> Any:
        (value,) = struct.unpack_from(f"<{code}", self.data, self.at)
        self.at += struct.calcsize(code)
        return value

    def text(self) -> str:
        start = self.at + 8
        self.at = start + self.number("Q")
        return self.data[start : self.at].decode()

    def value(self, kind: int) -> Any:
        if kind == TEXT:
            return self.text()
        if kind == ARRAY:
            kind, count = self.number("I"), self.number("Q")
            return [self.value(kind) for _ in range(count)]
        return self.number(NUMBERS[kind])

    def head(self) -> tuple[str, list[int], np.dtype, int]:
        """Name, shape, type and place of a tensor; the file has the last axis first."""
        name, axes = self.text(), self.number("I")
        shape = [self.number("Q") for _ in range(axes)][::-1]
        if (kind := self.number("I")) not in TENSORS:
            raise ValueError(f"{name} is of type {kind}; those read are {[*TENSORS]}")
        if TENSORS[kind].names:
            shape[-1] //= 32
        return name, shape, TENSORS[kind], self.number("Q")

    def tensor(self, start: int, shape: list[int], dtype: np.dtype, offset: int) -> Any:
        count = int(np.prod(shape))
        return np.frombuffer(self.data, dtype, count, start + offset).reshape(shape)
