"""While a case runs, functions of torch that an exercise names have code that refuses.

A profile function sees them begin, but only in threads in which it was set: one of an
earlier cell is not watched. Their own code goes wherever they are called.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from types import CodeType, FunctionType

from autograder.exercise import BUILD_IT_YOURSELF

_MODULES = ("torch.nn.functional", "torch.functional", "torch")


class NamedFunctions:
    """Gives these functions code that refuses, from ``close`` to ``open``.

    Args:
        names: what may not be called; see ``Exercise.forbidden``.
    """

    def __init__(self, names: Collection[str]) -> None:
        self._names = names
        self._before: list[tuple[FunctionType, CodeType]] = []

    def close(self) -> None:
        """Close them."""
        for module in filter(None, map(sys.modules.get, _MODULES)):
            for name in self._names:
                function = vars(module).get(name)
                if type(function) is FunctionType and not function.__closure__:
                    self._before.append((function, function.__code__))
                    function.__code__ = _refusing(function.__code__, name)

    def open(self) -> None:
        """Give them their own code again."""
        for function, code in reversed(self._before):
            function.__code__ = code
        self._before.clear()


def _refusing(code: CodeType, name: str) -> CodeType:
    """Code that refuses, and is called and found as the other one is."""
    texts = {"uses this": f"uses {name}, {BUILD_IT_YOURSELF}"}
    template = _refuse.__code__
    return template.replace(
        co_consts=tuple(texts.get(c, c) for c in template.co_consts),
        co_name=code.co_name,
        co_qualname=code.co_qualname,
        co_filename=code.co_filename,
        co_firstlineno=code.co_firstlineno,
    )


def _refuse(*_, **__):  # its only name is one of Python's: it runs in another module
    raise RuntimeError("uses this")
