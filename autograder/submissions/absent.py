"""Imports that only a student's own machine has, such as ``google.colab``.

Such a line would end its cell, and with it all answers that need the code below it. So
it is left out, together with the statements that use the imported names. Functions that
use them stay, and fail when they are called.
"""

from __future__ import annotations

import ast
import re
import sys
import sysconfig
from collections.abc import Iterable
from functools import lru_cache
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder
from pathlib import Path

from autograder.parsing import UNREADABLE
from autograder.submissions.magics import lines_in, parsed, rows_of, sharing_lines

# How a cell makes a module that other cells import.
_MAKES = re.compile(
    r"""%%(?:write)?file\s+(?:-a\s+)?["']?(?:\./)?(\w{1,60})\.py\b
    | (?:open|Path)\(\s*f?["'](?:\./)?(\w{1,60})\.py["']
    | (?:modules\[|ModuleType\()\s*["'](\w{1,60})["']""",
    re.VERBOSE | re.ASCII,
)
_COURSE = ("autograder", "toolkit", "__main__")  # importable in a submission


class Absent:
    """What is missing, over the cells of a notebook in their order.

    Args:
        made: modules that the notebook makes itself.

    Attributes:
        modules: what was imported and is not installed here.
    """

    def __init__(self, made: Iterable[str] = ()) -> None:
        self.modules: set[str] = set()
        self._made = frozenset(made)
        self._names: set[str] = set()

    def left_out_of(self, source: str) -> str:
        """A cell without what needs something that is missing, line for line."""
        if not self._names and "import" not in source:
            return source
        tree = parsed(source)
        if tree is None:
            return source
        dropped = {id(node) for node in tree.body if self._needs_it(node)}
        lines = lines_in(source)
        for group in sharing_lines(tree.body):
            kept = [node for node in group if id(node) not in dropped]
            if len(kept) == len(group):
                continue
            try:
                text = "; ".join(map(ast.unparse, kept))
            except UNREADABLE:  # it runs as it is, up to the import
                continue
            rows = rows_of(group)
            lines[rows] = [text, *[""] * (rows.stop - rows.start - 1)]
        return "\n".join(lines) if dropped else source

    def _needs_it(self, node: ast.stmt) -> bool:
        """Whether a statement cannot run; what it would have bound is missing too."""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self._names.discard(node.name)
            return False
        if isinstance(node, ast.Import | ast.ImportFrom):
            return self._cannot_import(node)
        names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
        bound = {n.id for n in names if isinstance(n.ctx, ast.Store)}
        lacks = isinstance(node, ast.Expr | ast.Assign | ast.AnnAssign) and any(
            n.id in self._names for n in names if isinstance(n.ctx, ast.Load)
        )
        if lacks:
            self._names |= bound
        else:
            self._names -= bound
        return lacks

    def _cannot_import(self, node: ast.Import | ast.ImportFrom) -> bool:
        paths = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            paths = [node.module] if node.module and not node.level else []
        bound = {a.asname or a.name.partition(".")[0] for a in node.names}
        missing = {
            path
            for path in paths
            if not is_here(path) and path.partition(".")[0] not in self._made
        }
        if not missing or len(missing) < len(paths):
            self._names -= bound
            return False
        self.modules |= missing
        self._names |= bound
        return True


def modules_made_in(sources: Iterable[str]) -> set[str]:
    """The modules that cells write into a file or make in memory, as far as seen."""
    return {
        name
        for source in sources
        for found in _MAKES.findall(source)
        for name in found
        if name
    }


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
