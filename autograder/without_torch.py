"""In a page there is no PyTorch: its modules can be imported there, and not used.

So a chapter that mixes NumPy and PyTorch is one module each of references, cases and
mistakes everywhere. In a page, what is written in PyTorch exists and does not run.
"""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import Any

IN_A_PAGE = "PyTorch does not run in a page: solve this in the notebook of the chapter"


class NotHere(ImportError):
    """PyTorch is used where it cannot be."""


def loaded_torch() -> Any | None:
    """PyTorch, if something has imported it; it is slow to import for nothing."""
    torch = sys.modules.get("torch")
    return torch if hasattr(torch, "__file__") else None


class Standin:
    """Any object of PyTorch: has every attribute, can be a base class, is no type."""

    def __getattr__(self, name: str) -> Standin:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return ()

    def __instancecheck__(self, instance: object) -> bool:
        return False

    def __or__(self, other: object) -> Standin:
        return self  # Tensor | None

    __ror__ = __or__

    def __call__(self, *_: Any, **__: Any) -> Any:
        """What calls PyTorch stops here.

        Raises:
            NotHere: always.
        """
        raise NotHere(IN_A_PAGE)


class Standins(MetaPathFinder, Loader):
    """Finds ``torch`` and whatever is below it."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """The stand-in for a module of PyTorch; others look further for the rest."""
        if name.partition(".")[0] != "torch":
            return None
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> None:
        """An ordinary module will do."""

    def exec_module(self, module: Any) -> None:
        """Give it every attribute."""
        module.__getattr__ = Standin().__getattr__


def stand_in_for_torch() -> None:
    """Let modules that import PyTorch be imported, where it is not installed."""
    if not any(isinstance(finder, Standins) for finder in sys.meta_path):
        sys.meta_path.append(Standins())
