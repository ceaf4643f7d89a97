"""While a case runs, block torch's compiled code, which needs no Python frame.

What a compiled function holds cannot be seen, and it need not ask torch's dispatcher
for the operators in it: a static module has kernels of its own, and so has what oneDNN
has fused. So the classes of such functions refuse to be called. A submission could keep
bound methods of those that need no operators from before: ``seal`` takes them out of a
kernel before it runs any code.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any

COMPILED = "compiled code (torch.jit, torch.compile, torch.fx)"
_CLASSES = ("ScriptFunction", "ScriptMethod", "StaticModule")  # of torch._C
_ENTRIES = ("__call__", "runAsync", "benchmark", "benchmark_individual_ops")
_RUNS = "_jit_interpret_graph"
_NO_OPERATORS = {  # of torch._C, by class: what leads past the operators
    "StaticModule": _ENTRIES,
    "": ("_fuse_to_static_module",),
    "Node": ("g_",),  # puts a static module into a graph
    "_SafeKernelFunction": ("call_boxed",),  # a kernel out of the dispatcher
}


def seal() -> None:
    """Take away for good what runs kernels of torch that no override stands before.

    Nothing else holds these functions, so nobody can have kept one. No notebook needs
    them: they are no public part of torch.
    """
    library = sys.modules["torch"]._C
    for name, entries in _NO_OPERATORS.items():
        owner = getattr(library, name, None) if name else library
        for entry in entries:
            if owner is not None and entry in vars(owner):
                delattr(owner, entry)


def runs_compiled(called: object) -> bool:
    """Whether a function that is written in C runs compiled code that it is given."""
    return type(called) is BuiltinFunctionType and called.__name__ == _RUNS


class Compiled:
    """Closes compiled functions from ``close`` to ``open``, if torch is loaded.

    Args:
        refuse: called in their place; what it raises is raised there.
    """

    def __init__(self, refuse: Callable[..., Any]) -> None:
        self._refuse = refuse
        self._before: list[tuple[type, str, Any]] = []

    def close(self) -> None:
        """Close them."""
        torch = sys.modules.get("torch")
        for name in _CLASSES if torch is not None else ():
            kind = getattr(torch._C, name, None)
            for entry in _ENTRIES:
                if kind is not None and entry in vars(kind):
                    self._before.append((kind, entry, vars(kind)[entry]))
                    setattr(kind, entry, self._refuse)

    def open(self) -> bool:
        """Open them again; whether all of them were still closed."""
        closed = True
        for kind, entry, before in self._before:
            closed = closed and vars(kind)[entry] is self._refuse
            setattr(kind, entry, before)
        self._before.clear()
        return closed
