"""What an implementation answers to a case, and how an answer travels.

The student's process calls ``answer`` and sends the result as JSON text: numbers,
short strings, sequences, and arrays as (dtype, shape, bytes). The examiner reads it
with ``decode``, which accepts nothing else. There is no pickle anywhere.
"""

from __future__ import annotations

import base64
import binascii
import builtins
import contextlib
import json
import math
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.exercise import Case, Implementation

DTYPES = frozenset(
    ["|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8"]
)  # booleans, integers and real numbers, little endian
MAX_BYTES = 8 * 2**20
MAX_DEPTH = 8
MAX_ITEMS = 10_000
MAX_COMMAS = 100_000  # in the text of an answer: what has many parts is not small
MAX_DIMENSIONS = 16
MAX_TEXT = 400


class Unreadable(ValueError):
    """A value that is no array, number or sequence, or a forged encoding of one."""


@dataclass(frozen=True)
class Answer:
    """The outcome of one case.

    Exactly one of ``value``, ``raised`` and ``unreadable`` speaks: a nested value of
    arrays; the name of the built-in exception type that was raised, with its
    ``detail``; or the reason why the value could not be read.
    """

    value: Any = None
    raised: str | None = None
    detail: str = ""
    unreadable: str | None = None


def answer(case: Case, implementation: Implementation, seed: int) -> str:
    """Run one case on one implementation and encode what comes out of it.

    Args:
        case: the case.
        implementation: the function or class under test.
        seed: seed of the case's random generator, and of torch's if it is loaded.

    Returns:
        The encoded answer, see ``decode``.
    """
    rng = np.random.default_rng(seed)
    try:
        with _seeded_torch(seed), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = case.run(implementation, rng)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also sys.exit(): only this case is lost
        return json.dumps({"raised": builtin_type(error), "detail": _brief(error)})
    try:
        return json.dumps({"value": encode(value)})
    except Unreadable as error:
        return json.dumps({"unreadable": _brief(error)})
    except Exception as error:  # a value may do anything while it is looked at
        why = f"reading the result raised {type(error).__name__}"
        return json.dumps({"unreadable": why})


@contextlib.contextmanager
def _seeded_torch(seed: int) -> Iterator[None]:
    """Seed torch, if it is loaded, and give back the caller's generator after.

    One thread is enough: the inputs are small, and waking others costs more.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    torch.set_num_threads(1)
    torch.default_generator.manual_seed(seed)
    try:
        yield
    finally:
        torch.set_rng_state(state)
        torch.set_num_threads(threads)


def builtin_type(error: BaseException) -> str:
    """Name of the most specific built-in type that ``error`` is an instance of."""
    for kind in type(error).__mro__:
        if getattr(builtins, kind.__name__, None) is kind:
            return kind.__name__
    return "Exception"


def encode(value: Any, depth: int = 0) -> Any:
    """Turn a value into JSON data.

    Raises:
        Unreadable: the value, or something in it, is no array, number, short string,
            ``None``, list, tuple or dictionary of these.
    """
    if depth > MAX_DEPTH:
        raise Unreadable(f"the result is nested more than {MAX_DEPTH} deep")
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        if len(value) > MAX_ITEMS:
            raise Unreadable(f"the result has more than {MAX_ITEMS} items")
        return [encode(item, depth + 1) for item in value]
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise Unreadable("the result is a dictionary whose keys are not strings")
        return {"items": {key: encode(value[key], depth + 1) for key in value}}
    return _encode_array(_as_array(value))


def _as_array(value: Any) -> np.ndarray:
    """A NumPy view of a number, an array or a tensor."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        if value.dtype == torch.bfloat16:
            value = value.float()
        return value.resolve_conj().resolve_neg().numpy()
    if isinstance(value, np.ndarray | np.generic | bool | int | float):
        return np.asarray(value)
    raise Unreadable(
        f"the result is of type {type(value).__name__}; expected arrays or numbers"
    )


def _encode_array(array: np.ndarray) -> dict[str, Any]:
    array = np.ascontiguousarray(array).reshape(array.shape)
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    array = array.astype(array.dtype.newbyteorder("<"))
    if array.dtype.str not in DTYPES:
        raise Unreadable(f"the result holds values of type {array.dtype}")
    if array.nbytes > MAX_BYTES:
        raise Unreadable(
            f"the result has {array.nbytes} bytes; {MAX_BYTES} may be sent"
        )
    return {
        "dtype": array.dtype.str,
        "shape": list(array.shape),
        "data": base64.b64encode(array.tobytes()).decode("ascii"),
    }


def decode(text: str) -> Answer:
    """Read an encoded answer, trusting nothing about it.

    A text that is no well-formed answer gives an ``Answer`` that is unreadable.
    """
    try:
        if not isinstance(text, str) or len(text) > 2 * MAX_BYTES:
            raise Unreadable(f"the answer is larger than {MAX_BYTES} bytes")
        if text.count(",") > MAX_COMMAS:
            raise Unreadable(f"the answer has more than {MAX_COMMAS} parts")
        data = json.loads(text, parse_constant=_no_constant)
        if not isinstance(data, dict):
            raise Unreadable("the answer is malformed")
        if isinstance(data.get("raised"), str):
            kind = data["raised"] if _is_exception(data["raised"]) else "Exception"
            return Answer(raised=kind, detail=_clean(data.get("detail", "")))
        if "unreadable" in data:
            return Answer(unreadable=_clean(data["unreadable"]))
        if "value" not in data:
            raise Unreadable("the answer is malformed")
        return Answer(value=_decode(data["value"]))
    except Unreadable as error:
        return Answer(unreadable=str(error))
    except (ValueError, RecursionError):
        return Answer(unreadable="the answer is malformed")


def _decode(data: Any, depth: int = 0) -> Any:
    if depth > MAX_DEPTH:
        raise Unreadable(f"the answer is nested more than {MAX_DEPTH} deep")
    if data is None:
        return None
    if isinstance(data, str):
        return data[:MAX_TEXT]
    if isinstance(data, list) and len(data) <= MAX_ITEMS:
        return [_decode(item, depth + 1) for item in data]
    if not isinstance(data, dict):
        raise Unreadable("the answer is malformed")
    items = data.get("items")
    if isinstance(items, dict) and len(data) == 1 and len(items) <= MAX_ITEMS:
        named = {_clean(name): item for name, item in items.items()}
        return {name: _decode(item, depth + 1) for name, item in named.items()}
    if set(data) == {"dtype", "shape", "data"}:
        return _decode_array(data["dtype"], data["shape"], data["data"])
    raise Unreadable("the answer is malformed")


def _decode_array(dtype: Any, shape: Any, data: Any) -> np.ndarray:
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise Unreadable("the answer holds values of an unknown type")
    if (
        not isinstance(shape, list)
        or len(shape) > MAX_DIMENSIONS
        or not all(type(size) is int and 0 <= size <= MAX_BYTES for size in shape)
        or not isinstance(data, str)
    ):
        raise Unreadable("the answer is malformed")
    try:
        raw = base64.b64decode(data, validate=True)
    except binascii.Error as error:
        raise Unreadable("the answer is malformed") from error
    if len(raw) > MAX_BYTES or len(raw) != math.prod(shape) * np.dtype(dtype).itemsize:
        raise Unreadable("the answer's shape does not fit its bytes")
    return np.frombuffer(raw, dtype).reshape(shape)


def _no_constant(name: str) -> None:
    raise Unreadable("the answer is malformed")


def _is_exception(name: str) -> bool:
    kind = getattr(builtins, name, None)
    return isinstance(kind, type) and issubclass(kind, BaseException)


def _brief(error: BaseException) -> str:
    try:
        return _clean(str(error))
    except Exception:  # a student's own exception may fail to print
        return ""


def _clean(text: Any) -> str:
    """One short printable line, whatever was sent."""
    line = " ".join(str(text).split())
    return "".join(c for c in line if c.isprintable())[:MAX_TEXT]
