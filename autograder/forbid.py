"""Refuse the library functions that an exercise rebuilds, while one of its cases runs.

No source is read: what counts is what is called. Meanwhile

* functions written in Python, and methods of classes, have code that refuses. Aliases,
  partial applications, subclasses and objects that were made before share it;
* torch's compiled functions and operators are seen by a ``TorchFunctionMode``;
* compiled functions of other libraries are replaced in their modules.

What this does not stop is said in the instructor's guide, under "What you can trust".
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import FunctionType, ModuleType
from typing import Any
from unittest import mock

from autograder.answers import answer, encode_refusal
from autograder.exercise import Case, Exercise, Implementation

# Where the names that exercises forbid are looked up, once these are imported.
_HOMES = (
    *("torch", "torch.nn", "torch.nn.functional", "torch.nn.attention.flex_attention"),
    *("numpy", "numpy.linalg", "scipy.special", "scipy.stats", "sklearn", "einops"),
)
_called: list[str] = []  # in the case that runs, in the order of the calls


class ForbiddenCall(RuntimeError):
    """A library function was called that the exercise asks students to build."""


def answer_by_hand(
    exercise: Exercise, case: Case, implementation: Implementation, seed: int
) -> bytes:
    """``answer``, in which the library functions that the exercise rebuilds refuse.

    Args:
        exercise: the exercise that the case belongs to.
        case: the case.
        implementation: the function or class under test.
        seed: seed of the case's random generator.

    Returns:
        The encoded answer, which is a refusal if such a function was called, whatever
        the implementation made of that.
    """
    if not exercise.forbidden:
        return answer(case, implementation, seed)
    with refusing(exercise.forbidden) as called:
        given = answer(case, implementation, seed)
    return encode_refusal(called[0]) if called else given


@contextmanager
def refusing(names: Collection[str]) -> Iterator[list[str]]:
    """A context in which the library functions of these names refuse.

    Yields:
        The names of what is called all the same.
    """
    _called.clear()
    with ExitStack() as taken_back:
        replaced = _Replaced(names, taken_back)
        replaced.look()
        bring = builtins.__import__

        def bring_and_look(*args: Any, **kwargs: Any) -> ModuleType:
            builtins.__import__ = bring  # one look, when all of a module is there
            try:
                return bring(*args, **kwargs)
            finally:
                builtins.__import__ = bring_and_look
                replaced.look()

        importing = mock.patch.object(builtins, "__import__", bring_and_look)
        taken_back.enter_context(importing)
        if "torch" in sys.modules:
            taken_back.enter_context(_torch_mode(names))
        yield _called


def refuse(name: str) -> None:
    """Note that a function was called, and stop the call.

    Raises:
        ForbiddenCall: always.
    """
    _called.append(name)
    raise ForbiddenCall(f"{name} is what this exercise asks you to build")


class _Replaced:
    """Functions that refuse, in place of those of these names.

    Args:
        names: what may not be called; see ``Exercise.forbidden``.
        taken_back: what undoes this.
    """

    def __init__(self, names: Collection[str], taken_back: ExitStack) -> None:
        self._names, self._taken_back = names, taken_back
        self._done: set[tuple[str, str]] = set()

    def look(self) -> None:
        """Replace what was imported since the last look."""
        for home in _HOMES:
            held = vars(sys.modules[home]) if home in sys.modules else {}
            for name in self._names:
                if name in held and (home, name) not in self._done:
                    self._done.add((home, name))
                    self._replace(home, name, held[name])

    def _replace(self, home: str, name: str, found: Any) -> None:
        for function in _written_in_python(found):
            code = function.__code__
            self._taken_back.callback(setattr, function, "__code__", code)
            function.__code__ = _refused.__code__.replace(
                co_consts=tuple(
                    name if constant == _NAME else constant
                    for constant in _refused.__code__.co_consts
                ),
                co_freevars=code.co_freevars,  # as many as its closure has
            )
        compiled = callable(found) and not isinstance(found, FunctionType | type)
        if compiled and not home.startswith("torch"):
            refusal = mock.patch.object(sys.modules[home], name, _refusal(name))
            self._taken_back.enter_context(refusal)


def _written_in_python(found: Any) -> Iterator[FunctionType]:
    """A function; the methods of a class; all that a module defines."""
    if isinstance(found, FunctionType):
        yield found
    elif isinstance(found, type):
        yield from (f for f in vars(found).values() if isinstance(f, FunctionType))
    elif isinstance(found, ModuleType):
        for part in vars(found).values():
            if getattr(part, "__module__", "").startswith(found.__name__):
                yield from _written_in_python(part)


_NAME = "the name"


def _refused(*_, **__):  # the code of what is replaced, and so without its names
    from autograder.forbid import refuse

    refuse("the name")


def _refusal(name: str) -> Callable[..., Any]:
    return lambda *_, **__: refuse(name)


def _torch_mode(names: Collection[str]) -> AbstractContextManager:
    """Has torch say which of its own functions is called, and refuses these."""
    import torch

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            name = getattr(func, "__name__", "").partition(".")[0]  # of an overload
            if name in names:
                refuse(name)
            return func(*args, **(kwargs or {}))

    return Mode()
