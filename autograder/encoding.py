"""The flat format in which a value travels: numbers, arrays and short texts, no code.

A value is one letter and what belongs to it; every length stands before what it
counts, so a reader needs one pass and nothing but the bytes that are there:

    value = "0"                                           None
          | "s" text
          | "l" count value*                              a list or a tuple
          | "d" count (text value)*                       a dictionary
          | "a" dtype dimensions size* numbers            a number or an array
    text  = length UTF-8

``count`` and ``length`` have four bytes, ``dtype`` (its place in ``DTYPES``) and
``dimensions`` one, each ``size`` eight; all are unsigned, little endian. ``encode``
runs in the process of the student; ``decode`` trusts nothing.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from autograder.without_torch import loaded_torch

DTYPES = (
    *("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8"),
    *("<f2", "<f4", "<f8"),
)  # booleans, integers and real numbers
MAX_BYTES = 8 * 2**20  # of a value
MAX_DEPTH = 8
MAX_PARTS = 20_000  # of all lists and dictionaries of a value together
MAX_DIMENSIONS = 16
MAX_TEXT = 400  # characters

_COUNT = struct.Struct("<I")
_ARRAY = struct.Struct("<BB")


class Unreadable(ValueError):
    """A value that is no array, number or sequence, or a forged encoding of one."""


def encode(value: Any) -> bytes:
    """Turn a value into bytes; texts are cut to ``MAX_TEXT`` characters.

    Raises:
        Unreadable: the value, or something in it, is no array, number, text, ``None``,
            list, tuple or dictionary of these, or is too large.
    """
    pieces, size = [], 0
    for piece in _pieces(value):  # which may go on without an end
        size += len(piece)
        if size > MAX_BYTES:
            raise Unreadable(f"the result has more than {MAX_BYTES} bytes")
        pieces.append(piece)
    return b"".join(pieces)


def decode(data: bytes) -> Any:
    """Read a value, in linear time and without trusting anything about it.

    Raises:
        Unreadable: the bytes are not exactly one well-formed value.
    """
    if len(data) > MAX_BYTES:
        raise Unreadable(f"the answer is larger than {MAX_BYTES} bytes")
    reader = _Reader(data)
    value = reader.value()
    if reader.left:
        raise Unreadable("the answer is malformed")
    return value


def clean(text: str) -> str:
    """One short printable line, whatever was sent."""
    line = " ".join(text.split())
    return "".join(c for c in line if c.isprintable())[:MAX_TEXT]


def _pieces(value: Any, depth: int = 0) -> Iterator[bytes]:
    """The bytes of a value, part by part."""
    if depth > MAX_DEPTH:
        raise Unreadable(f"the result is nested more than {MAX_DEPTH} deep")
    if value is None:
        yield b"0"
    elif isinstance(value, str):
        yield b"s" + _text(value)
    elif isinstance(value, list | tuple):
        yield b"l" + _COUNT.pack(len(value))
        for item in value:
            yield from _pieces(item, depth + 1)
    elif isinstance(value, dict):
        if not all(isinstance(name, str) for name in value):
            raise Unreadable("the result is a dictionary whose keys are not strings")
        yield b"d" + _COUNT.pack(len(value))
        for name, item in value.items():
            yield _text(name)
            yield from _pieces(item, depth + 1)
    else:
        yield _array(_as_array(value))


def _text(text: str) -> bytes:
    raw = text[:MAX_TEXT].encode("utf-8", "replace")
    return _COUNT.pack(len(raw)) + raw


def _array(array: np.ndarray) -> bytes:
    array = np.ascontiguousarray(array).reshape(array.shape)
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if array.dtype.str not in DTYPES:
        raise Unreadable(f"the result holds values of type {array.dtype}")
    if array.nbytes > MAX_BYTES:
        raise Unreadable(f"the result has more than {MAX_BYTES} bytes")
    kind = _ARRAY.pack(DTYPES.index(array.dtype.str), array.ndim)
    sizes = struct.pack(f"<{array.ndim}Q", *array.shape)
    return b"".join((b"a", kind, sizes, array.tobytes()))


def _as_array(value: Any) -> np.ndarray:
    """A NumPy view of a number, an array or a tensor."""
    torch = loaded_torch()
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        if value.dtype == torch.bfloat16:
            value = value.float()
        return value.resolve_conj().resolve_neg().numpy()
    if isinstance(value, np.ndarray | np.generic | bool | int | float):
        return np.asarray(value)
    raise Unreadable(
        f"the result is of type {type(value).__name__}; "
        "arrays, numbers and texts can be read"
    )


class _Reader:
    """Goes once through the bytes of one value; no length is believed."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = self._parts = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def value(self, depth: int = 0) -> Any:
        if depth > MAX_DEPTH:
            raise Unreadable(f"the answer is nested more than {MAX_DEPTH} deep")
        letter = self._take(1)
        if letter == b"0":
            return None
        if letter == b"s":
            return self._text()
        if letter == b"a":
            return self._array()
        if letter == b"l":
            return [self.value(depth + 1) for _ in range(self._count())]
        if letter == b"d":
            count = self._count()
            return {clean(self._text()): self.value(depth + 1) for _ in range(count)}
        raise Unreadable("the answer is malformed")

    def _take(self, size: int) -> bytes:
        if size > self.left:
            raise Unreadable("the answer is malformed")
        self._at += size
        return self._data[self._at - size : self._at]

    def _count(self) -> int:
        (count,) = _COUNT.unpack(self._take(_COUNT.size))
        self._parts += count
        if self._parts > MAX_PARTS:
            raise Unreadable(f"the answer has more than {MAX_PARTS} parts")
        return count

    def _text(self) -> str:
        (length,) = _COUNT.unpack(self._take(_COUNT.size))
        return self._take(length).decode("utf-8", "replace")[:MAX_TEXT]

    def _array(self) -> np.ndarray:
        code, dimensions = _ARRAY.unpack(self._take(_ARRAY.size))
        if code >= len(DTYPES):
            raise Unreadable("the answer holds values of an unknown type")
        if dimensions > MAX_DIMENSIONS:
            raise Unreadable(f"the answer has more than {MAX_DIMENSIONS} dimensions")
        shape = struct.unpack(f"<{dimensions}Q", self._take(8 * dimensions))
        dtype = np.dtype(DTYPES[code])
        # As if none were zero: beside a zero, any other size would seem to fit.
        most = math.prod(max(size, 1) for size in shape)
        size = math.prod(shape) * dtype.itemsize
        if most > MAX_BYTES or size > self.left:
            raise Unreadable("the answer's shape does not fit its bytes")
        raw = self._take(size)
        if dtype.kind == "b" and raw.strip(b"\0\1"):
            raise Unreadable(
                "the answer holds booleans that are neither true nor false"
            )
        return np.frombuffer(raw, dtype).reshape(shape)
