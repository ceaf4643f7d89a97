"""Which modules are installed here; nothing is imported to find out."""

from __future__ import annotations

import sys
import sysconfig
from functools import lru_cache
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder
from pathlib import Path

_COURSE = ("autograder", "toolkit", "__main__")  # importable in a submission


@lru_cache(maxsize=1000)
def is_here(module: str) -> bool:
    """Whether the package of a module is installed; nothing is imported.

    What lies in the folder where the grader was started does not count: a submission
    does not see it.
    """
    root, _, rest = module.partition(".")
    if root in _COURSE:
        return True
    try:
        if BuiltinImporter.find_spec(root) or FrozenImporter.find_spec(root):
            return True
        spec = PathFinder.find_spec(root, _library_folders())
        if spec is None or spec.origin or not rest:
            return spec is not None
        # Several distributions may share a name such as ``google``.
        inside = [str(Path(folder, root)) for folder in _library_folders()]
        return PathFinder.find_spec(rest.partition(".")[0], inside) is not None
    except (ImportError, ValueError):
        return True  # a strange name, but not ours to judge


def _library_folders() -> list[str]:
    """The folders of the standard library and of what is installed."""
    standard = sysconfig.get_path("stdlib")
    installed = [
        path
        for path in sys.path
        if Path(path).name in ("site-packages", "dist-packages")
    ]
    return [standard, str(Path(standard, "lib-dynload")), *installed]
