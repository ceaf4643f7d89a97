"""What the arguments of a function may be, and whether those that were sent are.

A ``BreakExercise`` is answered with arguments. They were written by a student, and are
passed on to a function of ours: so before anything runs, each has to have the type, the
shape and the range that the specification names, and a size that is computed at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

MAX_VALUES = 4096  # of all arguments together
MAX_BATCH_AXES = 2  # in the place of "..."
LARGEST = 1000.0  # beyond it, rounding could be taken for a mistake

_KINDS = {"f": "fiu", "i": "iu", "b": "b"}  # of NumPy's dtypes, what stands for which
_NAMES = {"f": "real numbers", "i": "integers", "b": "truth values"}
_DTYPES = {"f": np.float64, "i": np.int64, "b": np.bool_}


class NotAllowed(ValueError):
    """Arguments that the specification rules out, with the reason."""


@dataclass(frozen=True)
class Parameter:
    """What one argument may be.

    Attributes:
        name: as in the signature.
        shape: sizes separated by blanks; ``None`` for a single number. A letter is a
            size that is equal wherever it occurs, "..." any leading axes.
        kind: "f" for real numbers, "i" for integers, "b" for truth values.
        low: the smallest value.
        high: the largest value.
    """

    name: str
    shape: str | None
    kind: str
    low: float
    high: float

    def read(self, sent: Any, sizes: dict[str, Any]) -> Any:
        """The argument as an array, or as a number, if it is allowed.

        Args:
            sent: what came from the student: arrays, texts, ``None``, lists of these.
            sizes: those that earlier arguments have fixed, by letter; added to.

        Raises:
            NotAllowed: it is not, with the reason.
        """
        if not isinstance(sent, np.ndarray):
            wanted = "a number" if self.shape is None else "an array"
            raise NotAllowed(f"`{self.name}` has to be {wanted}")
        if sent.dtype.kind not in _KINDS[self.kind]:
            raise NotAllowed(f"`{self.name}` has to hold {_NAMES[self.kind]}")
        self._check_shape(sent.shape, sizes)
        if self.kind == "f":  # a bound may be more than a narrower type can hold
            sent = sent.astype(_DTYPES["f"])
        if not np.isfinite(sent).all():
            raise NotAllowed(f"`{self.name}` is not finite everywhere")
        if self.kind != "b" and not ((sent >= self.low) & (sent <= self.high)).all():
            raise NotAllowed(
                f"`{self.name}` has to lie between {self.low:g} and {self.high:g}"
            )
        value = sent.astype(_DTYPES[self.kind])  # in range, so nothing wraps around
        return value.item() if self.shape is None else value

    def _check_shape(self, shape: tuple[int, ...], sizes: dict[str, Any]) -> None:
        wanted = (self.shape or "").split()
        given: list[Any] = list(shape)
        if "..." in wanted:
            extra = len(shape) - len(wanted) + 1
            if 0 <= extra <= MAX_BATCH_AXES:
                given[:extra] = [shape[:extra]]
        if len(given) != len(wanted):
            raise NotAllowed(f"`{self.name}` has shape {shape}, {self._described()}")
        if 0 in shape:
            raise NotAllowed(f"`{self.name}` has shape {shape}, which holds nothing")
        for letter, size in zip(wanted, given, strict=True):
            fixed = sizes.setdefault(letter, size)
            if fixed != size:
                raise NotAllowed(
                    f"`{self.name}` has shape {shape}, {self._described()} with "
                    f"{letter} = {fixed}"
                )

    def _described(self) -> str:
        if self.shape is None:
            return "expected a number"
        comma = "," if len(self.shape.split()) == 1 else ""
        return f"expected ({', '.join(self.shape.split())}{comma})"


def reals(name: str, shape: str) -> Parameter:
    """An array of real numbers."""
    return Parameter(name, shape, "f", -LARGEST, LARGEST)


def integers(name: str, shape: str, low: int, high: int) -> Parameter:
    """An array of integers."""
    return Parameter(name, shape, "i", low, high)


def truths(name: str, shape: str) -> Parameter:
    """A boolean array."""
    return Parameter(name, shape, "b", 0, 1)


def real(name: str, low: float, high: float) -> Parameter:
    """A single real number."""
    return Parameter(name, None, "f", low, high)


def whole(name: str, low: int, high: int) -> Parameter:
    """A single integer."""
    return Parameter(name, None, "i", low, high)


def read_arguments(
    parameters: Sequence[Parameter], sent: Any, rule: Callable[..., str]
) -> list[Any]:
    """The arguments that were sent, as arrays and numbers, if they are allowed.

    Args:
        parameters: those of the function.
        sent: the decoded answer; nothing about it is trusted.
        rule: called with the arguments that passed all else; a reason to refuse them
            together, or an empty text.

    Raises:
        NotAllowed: the specification rules them out, with the reason.
    """
    names = ", ".join(parameter.name for parameter in parameters)
    if not isinstance(sent, list):
        tuple_of_all = f"({names},)" if len(parameters) == 1 else f"({names})"
        raise NotAllowed(f"return a tuple of the arguments, `{tuple_of_all}`")
    if len(sent) != len(parameters):
        raise NotAllowed(
            f"the tuple has {len(sent)} items, and the parameters are {names}"
        )
    values = number_of_values(sent)
    if values > MAX_VALUES:
        raise NotAllowed(f"they have {values} values, and {MAX_VALUES} are the most")
    sizes: dict[str, Any] = {}
    read = [p.read(one, sizes) for p, one in zip(parameters, sent, strict=True)]
    reason = rule(*read)
    if reason:
        raise NotAllowed(reason)
    return read


def number_of_values(arguments: Sequence[Any]) -> int:
    """The values of all arrays together; a number counts as one."""
    return sum(a.size if isinstance(a, np.ndarray) else 1 for a in arguments)
