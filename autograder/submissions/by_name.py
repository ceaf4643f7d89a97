"""Find answers by name that are not in the cell meant for them.

Copying into a new notebook, Colab, and some converters lose nbgrader's metadata of a
cell. The ``def`` or ``class`` of an answer is still there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property, lru_cache

from autograder.magics import keeps_names, lines_in, parsed, rows_of
from autograder.parsing import UNREADABLE
from autograder.statements import names_bound, only_stubs

_DEFINED = re.compile(r"^\f?(?:async[ \t]+def|def|class)[ \t]+(\w+)", re.MULTILINE)
_IMPORTS_ALL = re.compile(r"\bimport[ \t]+\*")
_WRITES = re.compile(r"\s*%%(?:write)?file[ \t]+(?:\./)?([\w/]+)\.py[ \t]*\n")


def defined_in(source: str) -> set[str]:
    """The names of functions and classes that a text defines, not inside others."""
    return set(_DEFINED.findall(source))


def defined_by(source: str) -> set[str]:
    """What of it a cell defines when it runs, as far as Python can read it.

    What was set aside in a string, or under ``%%script false``, is not defined.
    """
    names = defined_in(source) if keeps_names(source) else set()
    tree = parsed(source) if names else None
    return names if tree is None else names & set(map(_name, tree.body))


def assigns(source: str, name: str) -> bool:
    """Whether a cell gives a name to something, as ``softmax = _softmax`` does."""
    given = rf"^{re.escape(name)}[ \t]*=(?!=)"
    return re.search(given, source, re.MULTILINE) is not None


@lru_cache(maxsize=32)  # asked several times for each cell of a notebook
def is_stub(source: str, stub: str) -> bool:
    """Whether a source says what a stub does, or nothing, in whatever words.

    What Python cannot read is none, and neither is a line of IPython's, for which the
    tree has a ``pass``.
    """
    tree = parsed(source)
    if tree is None:
        return False
    says_nothing = only_stubs(tree.body) and (
        not tree.body or any(_name(node) is not None for node in tree.body)
    )
    return says_nothing or shape(tree) == _shape_of(stub)


class Cell:
    """A cell that may hold answers, parsed once for all exercises.

    Args:
        source: of a cell that the student wrote.
        modules: see ``names_in_modules``.
    """

    def __init__(
        self, source: str, modules: Mapping[str, Collection[str]] | None = None
    ) -> None:
        self.source, self._modules = source, modules or {}
        self.defined = defined_in(source) if keeps_names(source) else set()

    @cached_property
    def _tree(self) -> ast.Module | None:
        return parsed(self.source)

    @cached_property
    def _definitions(self) -> list[ast.stmt] | None:
        """What has a name of its own, in order; ``None`` if Python cannot read it."""
        tree = self._tree
        return tree and [node for node in tree.body if _name(node) is not None]

    @cached_property
    def _bound(self) -> set[str]:
        """The names that are bound in any way, but for those of stubs."""
        if self._tree is None or not keeps_names(self.source):
            return set()
        return set().union(
            *(names_bound(n) for n in self._tree.body if not only_stubs([n]))
        )

    @cached_property
    def _imported_whole(self) -> set[str]:
        """The modules of the student's of which it imports ``*``."""
        body = self._tree.body if "*" in self._bound else ()
        imports = [node for node in body if isinstance(node, ast.ImportFrom)]
        whole = {node.module for node in imports if "*" in names_bound(node)}
        return whole & self._modules.keys()

    def mentions_any(self, names: Collection[str]) -> bool:
        """Whether any of these names stands in the cell, or ``*`` may stand for it."""
        may_stand = self._modules and _IMPORTS_ALL.search(self.source)
        return bool(may_stand) or any(name in self.source for name in names)

    def binds(self, name: str) -> bool:
        """Whether a cell gives a name to something, be it by ``softmax = _softmax``."""
        if name in self.source and name in self._bound:
            return True
        return any(name in self._modules[module] for module in self._imported_whole)

    def answer(
        self, name: str, stub: str, asked: Collection[str], runs_before: bool
    ) -> str | None:
        """What of the cell answers an exercise; ``None`` if nothing does.

        Args:
            name: of the exercise.
            stub: the cell of the exercise as it was released.
            asked: names of all exercises.
            runs_before: whether the cell runs before that of the exercise. Then its
                definition is enough, which only has to be there once more; else all of
                the cell is needed, without the answers to other exercises.
        """
        if name not in self.defined:
            return None
        if self._definitions is None:  # Python shall say what is wrong with it
            return self.source
        own = [node for node in self._definitions if _name(node) == name]
        if only_stubs(own) or all(shape(node) in shapes_in(stub) for node in own):
            return None
        lines = lines_in(self.source)
        if runs_before:
            return "\n\n\n".join("\n".join(lines[rows_of([node])]) for node in own)
        others = set(asked) - {name}
        for node in reversed(self._definitions):
            if _name(node) in others:
                del lines[rows_of([node])]
        return "\n".join(lines)


def names_in_modules(sources: Iterable[str]) -> dict[str, set[str]]:
    """What ``import *`` brings from each module that a cell writes.

    The files beside a notebook are written by such cells, too.

    Args:
        sources: of the cells.
    """
    found: dict[str, set[str]] = {}
    for source in sources:
        if written := _WRITES.match(source):
            module = written[1].replace("/", ".").removesuffix(".__init__")
            found[module] = Cell(source[written.end() :])._bound
    return found


def _name(node: ast.stmt) -> str | None:
    return getattr(node, "name", None)


def shape(node: ast.AST) -> str | ast.AST:
    """What two pieces of code share that say the same, in whatever form."""
    try:
        return ast.dump(node)
    except UNREADABLE:  # no stub is nested so deeply, or has such numbers
        return node


@lru_cache(maxsize=100)
def shapes_in(stub: str) -> frozenset[str | ast.AST]:
    """Those of the statements of a stub, which every cell is compared with."""
    return frozenset(map(shape, getattr(parsed(stub), "body", [])))


@lru_cache(maxsize=100)
def _shape_of(stub: str) -> str | ast.AST | None:
    tree = parsed(stub)
    return tree and shape(tree)
