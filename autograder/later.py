"""Notice the use of packages that a page can load but has not loaded yet."""

from __future__ import annotations

import importlib.abc
from typing import Any


class Needs(ImportError):
    """A package that comes with the page is used, and was not loaded yet."""

    def __init__(self, package: str) -> None:
        """``package`` is its name."""
        super().__init__(f"{package} is not loaded yet")
        self.package = package


class Later(importlib.abc.MetaPathFinder):
    """Says of some packages that the page could load them.

    Args:
        packages: those that are not loaded; one is taken out when it arrives.
    """

    def __init__(self, packages: set[str]) -> None:
        self.packages = packages

    def find_spec(self, name: str, path: Any, target: Any = None) -> None:
        """Raise ``Needs`` for a module of such a package; others look further."""
        if name.partition(".")[0] in self.packages:
            raise Needs(name.partition(".")[0])
