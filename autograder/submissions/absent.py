"""Imports that only a student's own machine has, such as ``google.colab``.

Such a line would end its cell, and with it all answers that need the code below it. So
it is left out, together with the statements that use the imported names. Functions that
use them stay, and fail when they are called; annotations and decorators that need
something missing are left out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from autograder.installed import is_here
from autograder.magics import lines_in, parsed, rows_of, sharing_lines
from autograder.parsing import UNREADABLE, parse
from autograder.statements import names_bound

# How a cell makes a module that other cells import.
_MAKES = re.compile(
    r"""%%(?:write)?file\s+(?:-a\s+)?["']?(?:\./)?(\w{1,60})\.py\b
    | (?:open|Path)\(\s*f?["'](?:\./)?(\w{1,60})\.py["']
    | (?:modules\[|ModuleType\()\s*["'](\w{1,60})["']""",
    re.VERBOSE | re.ASCII,
)
# How it may do so with a name that cannot be read there.
_MAY_MAKE = re.compile(r"\.py\b|\bsys\.path\b|ModuleType")
_SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Assert, ast.Delete)
# Of other statements, the parts that are evaluated in any case.
_PARTS = ("test", "iter", "subject", "items", "bases", "keywords")
_DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Absent:
    """What is missing, over the cells of a notebook in their order.

    Args:
        made: modules that the notebook makes itself.
        may_make: whether it may make others. Then imports are left to be tried.

    Attributes:
        modules: what was imported and is not installed here.
        imported: the names that it would have had, each with its module.
    """

    def __init__(self, made: Iterable[str] = (), may_make: bool = False) -> None:
        self.modules: set[str] = set()
        self.imported: dict[str, str] = {}
        self._made, self._may_make = frozenset(made), may_make
        self._names: set[str] = set()
        self._perhaps: set[str] = set()  # what may turn out to be missing
        self._failing: set[str] = set()  # what is defined with the help of these
        self._shortened: set[int] = set()  # imports of which a part is here

    def left_out_of(self, source: str) -> str:
        """A cell without what needs something that is missing, line for line."""
        if not (self._names or self._perhaps) and "import" not in source:
            return source
        tree = parsed(source)
        if tree is None:
            return source
        lines, dropped, changed = lines_in(source), set(), False
        self._shortened.clear()
        for node in tree.body:
            changed |= self._take_out_beside(node, lines)
            if self._needs_it(node):
                dropped.add(id(node))
        for group in sharing_lines(tree.body):
            kept = [node for node in group if id(node) not in dropped]
            if len(kept) == len(group) and self._shortened.isdisjoint(map(id, group)):
                continue
            try:
                text = "; ".join(map(ast.unparse, kept))
            except UNREADABLE:  # it runs as it is, up to the import
                continue
            rows = rows_of(group)
            lines[rows] = [text, *[""] * (rows.stop - rows.start - 1)]
        changed |= bool(dropped or self._shortened)
        return "\n".join(lines) if changed else source

    def _take_out_beside(self, node: ast.stmt, lines: list[str]) -> bool:
        """Take out what stands beside a statement's own work and cannot be evaluated.

        Annotations say nothing that is needed when it runs, and what a decorator of
        such a module does, as a rule, is to check or compile.

        Args:
            node: a statement, the annotations of which are taken out as well.
            lines: of its cell; they are changed.

        Returns:
            Whether there was anything.
        """
        if not (self._names or self._perhaps):
            return False
        annotations, decorators = [], []
        for inner in ast.walk(node):
            decorators += [
                rows for part, rows in _decorators(inner, lines) if self._uses(part)
            ]
            for field in ("annotation", "returns"):
                part = getattr(inner, field, None)
                missing = part and (self._uses(part) or self._uses(part, self._perhaps))
                if missing and _is_at(part, lines):
                    annotations.append(part)
                    setattr(inner, field, ast.Constant(None))
        for part in sorted(annotations, key=_start, reverse=True):
            _put(b"None", part, lines)
        for rows in decorators:
            lines[rows] = [""] * (rows.stop - rows.start)
        return bool(annotations or decorators)

    def _uses(self, node: ast.AST, names: Collection[str] | None = None) -> bool:
        names = self._names if names is None else names
        used = (*_names_in(node, ast.Load), *_names_in(node, ast.Del))
        return any(name.id in names for name in used)

    def _needs_it(self, node: ast.stmt) -> bool:
        """Whether a statement cannot run; what it would have bound is missing too."""
        if isinstance(node, ast.Import | ast.ImportFrom):
            return self._cannot_import(node)
        bound = {name.id for name in _names_in(node, ast.Store)}
        if isinstance(node, _DEFINES):
            bound = {node.name}
        lacks = any(map(self._uses, _evaluated(node)))  # not below ``if IN_COLAB``
        fails = isinstance(node, _DEFINES) and self._uses(node)
        calls = isinstance(node, ast.Expr) and self._fails_in(node)
        if lacks:
            self._names |= bound
        else:
            self._names -= bound
        if fails:  # what it is called for may be needed, unless that is for nothing
            self._failing |= bound
        else:
            self._failing -= bound
        return lacks or calls

    def _fails_in(self, node: ast.AST) -> bool:
        return any(name.id in self._failing for name in _names_in(node, ast.Load))

    def _cannot_import(self, node: ast.Import | ast.ImportFrom) -> bool:
        paths = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            paths = [node.module] if node.module and not node.level else []
        bound = names_bound(node)
        missing = {
            path
            for path in paths
            if not is_here(path) and path.partition(".")[0] not in self._made
        }
        if missing and self._may_make:
            self.imported |= dict.fromkeys(bound, min(missing))
            self._perhaps |= bound
            return False
        if not missing:
            self._names -= bound
            return False
        self.modules |= missing
        if isinstance(node, ast.ImportFrom) or len(missing) == len(paths):
            self._names |= bound
            self.imported |= dict.fromkeys(bound, min(missing))
            return True
        # Of ``import numpy, jax``, what is here stays.
        node.names = [alias for alias in node.names if alias.name not in missing]
        here = names_bound(node)
        self._names = (self._names - here) | (bound - here)
        self.imported |= dict.fromkeys(bound - here, min(missing))
        self._shortened.add(id(node))
        return False


def _names_in(node: ast.AST, context: type[ast.expr_context]) -> Iterator[ast.Name]:
    """The names in a piece of code that are read, or that are bound."""
    for name in ast.walk(node):
        if isinstance(name, ast.Name) and isinstance(name.ctx, context):
            yield name


def _evaluated(node: ast.stmt) -> Iterator[ast.AST]:
    """The parts of a statement that are evaluated whenever it is run."""
    if isinstance(node, _SIMPLE):
        yield node
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield ast.Name(node.target.id, ast.Load())  # it reads what it binds
    if isinstance(node, ast.ClassDef):
        yield from (part for part in node.body if isinstance(part, _SIMPLE))
    for name in _PARTS:
        found = getattr(node, name, [])
        yield from found if isinstance(found, list) else [found]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from node.args.defaults
        yield from filter(None, node.args.kw_defaults)


def _decorators(
    node: ast.AST, lines: Sequence[str]
) -> Iterator[tuple[ast.expr, slice]]:
    """The decorators of a definition, and the lines that each of them takes."""
    end = getattr(node, "lineno", 1) - 1
    for part in reversed(getattr(node, "decorator_list", ())):
        start = part.lineno - 1
        while start and not lines[start].lstrip().startswith("@"):
            start -= 1  # it may begin with a parenthesis
        yield part, slice(start, end)
        end = start


def _start(part: ast.expr) -> tuple[int, int]:
    return part.lineno, part.col_offset


def _around(part: ast.expr, lines: Sequence[str]) -> tuple[bytes, bytes]:
    """What stands before and after a part in the lines that it begins and ends in."""
    before = lines[part.lineno - 1].encode()[: part.col_offset]
    return before, lines[part.end_lineno - 1].encode()[part.end_col_offset :]


def _is_at(part: ast.expr, lines: Sequence[str]) -> bool:
    """Whether a part is where its tree says: indentation may have been taken off."""
    before, after = _around(part, lines)
    whole = "\n".join(lines[part.lineno - 1 : part.end_lineno]).encode()
    try:
        there = parse(whole[len(before) : len(whole) - len(after)].decode())
        return ast.dump(there.body[0].value) == ast.dump(part)
    except (*UNREADABLE, AttributeError, IndexError):
        return False


def _put(text: bytes, part: ast.expr, lines: list[str]) -> None:
    """Put a text in the place of a part; all lines below keep their numbers."""
    before, after = _around(part, lines)
    rows = slice(part.lineno - 1, part.end_lineno)
    others = [""] * (rows.stop - rows.start - 1)
    lines[rows] = [(before + text + after).decode(), *others]


def absent_in(sources: Collection[str]) -> Absent:
    """What starts with nothing missing, for the cells of a notebook."""
    made = {
        name
        for source in sources
        for found in _MAKES.findall(source)
        for name in found
        if name
    }
    return Absent(made, any(map(_MAY_MAKE.search, sources)))
