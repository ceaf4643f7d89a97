"""Combine two known mistakes into one version, if their code allows it.

A mistake that calls the reference, on other arguments or for another result, can call
another mistake in its place. Two mistakes that are classes, each of which replaces a
step of what both are made from, can be the bases of one class.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from autograder.exercise import Implementation


def joined(
    one: Implementation, other: Implementation, reference: Implementation
) -> Implementation | None:
    """A version with the mistakes of both: the first one's around the other's.

    Returns:
        ``None`` if they cannot be joined in this order.
    """
    if isinstance(one, type) and isinstance(other, type):
        return _of_both_bases(one, other)
    if isinstance(one, FunctionType) and callable(other):
        return _around(one, other, reference)
    return None


def order_matters(one: Implementation, other: Implementation) -> bool:
    """Whether it makes a difference which of two mistakes is around the other.

    Of two classes it does where both replace the same step.
    """
    if not (isinstance(one, type) and isinstance(other, type)):
        return True
    return bool(_steps(one, other).keys() & _steps(other, one).keys())


def _steps(one: type, other: type) -> dict[str, Any]:
    """The steps that a class replaces, or adds, in what it shares with another one."""
    own = [base for base in one.__mro__ if base not in other.__mro__]
    return {
        name: step
        for base in reversed(own)
        for name, step in vars(base).items()
        if name in ("__init__", "__new__") or not name.startswith("__")
    }


def _goes_on(step: Any) -> bool:
    """Whether a step calls the one of the next base."""
    code = getattr(getattr(step, "__func__", step), "__code__", None)
    return code is not None and "__class__" in code.co_freevars


def _of_both_bases(one: type, other: type) -> type | None:
    """A class whose steps are those of the first, then of the other.

    ``None`` if the first one replaces all that the other does, which would not show.
    """
    if issubclass(one, other) or issubclass(other, one):
        return None
    replaced = {name for name, step in _steps(one, other).items() if not _goes_on(step)}
    if _steps(other, one).keys() <= replaced:
        return None
    try:
        return type(one.__name__, (one, other), {})
    except TypeError:  # no order of the bases suits both
        return None


def _around(
    one: FunctionType, other: Implementation, reference: Implementation
) -> FunctionType | None:
    """The first function, with the other one wherever it uses the reference."""
    used, replaced = set(_names(one.__code__)), {}
    for name in used & set(one.__globals__):
        value = one.__globals__[name]
        if value is reference:
            replaced[name] = other
        elif _is_module_of(value, reference) and reference.__name__ in used:
            replaced[name] = _Module(value, reference.__name__, other)
    if not replaced:
        return None
    made = FunctionType(
        one.__code__,
        {**one.__globals__, **replaced},
        one.__name__,
        one.__defaults__,
        one.__closure__,
    )
    made.__kwdefaults__ = one.__kwdefaults__
    return made


def _is_module_of(value: Any, reference: Implementation) -> bool:
    return isinstance(value, ModuleType) and value is inspect.getmodule(reference)


def _names(code: CodeType) -> Iterator[str]:
    """The names that a function looks up, and functions inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


class _Module:
    """A module in which one name means something else."""

    def __init__(self, module: ModuleType, name: str, value: Any) -> None:
        self._module = module
        setattr(self, name, value)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)
