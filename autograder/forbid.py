"""Refuse the library functions that an exercise rebuilds, while one of its cases runs.

No source is read: what counts is what is called. Meanwhile a ``TorchFunctionMode`` sees
each function of torch by its name, and layers of these names can neither be made nor
called.

This does not stop an answer that computes in another thread or process, runs code that
an earlier cell scripted or compiled, copies an implementation, takes one from another
package or from torch's private modules, or takes the refusal away. All of these take
intent and show in the source.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any
from unittest import mock

from autograder.answers import answer, encode_refusal
from autograder.exercise import Case, Exercise, Implementation
from autograder.without_torch import loaded_torch


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
    """A context in which torch's functions and layers of these names refuse.

    Yields:
        The names of what is called all the same, in the order of the calls.
    """
    called: list[str] = []

    def refusal(name: str) -> Callable[..., Any]:
        def refuse(*_: Any, **__: Any) -> None:
            called.append(name)
            raise ForbiddenCall(f"{name} is what this exercise asks you to build")

        return refuse

    with ExitStack() as undone:
        if names and loaded_torch():
            for name in names:
                layer = getattr(sys.modules["torch.nn"], name, None)
                for method in ("__init__", "forward") if layer else ():
                    patch = mock.patch.object(layer, method, refusal(name))
                    undone.enter_context(patch)
            undone.enter_context(_mode({name: refusal(name) for name in names}))
        yield called


def _mode(refusals: dict[str, Callable[..., Any]]) -> AbstractContextManager:
    """Has torch ask before each of its functions, and refuses these."""
    import torch

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            name = getattr(func, "__name__", "").partition(".")[0]  # of an overload
            return refusals.get(name, func)(*args, **(kwargs or {}))

    return Mode()
