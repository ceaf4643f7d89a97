"""The cells of a page, and what their code shows before it runs."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from autograder.parsing import UNREADABLE, parse
from autograder.statements import bound_by


@dataclass(frozen=True)
class Cell:
    """A cell of the page: what an exercise asks for, or what comes before it.

    Attributes:
        name: the exercise; of other cells, a name of their own.
        kind: "exercise"; "setup", which runs before anything else; or "demo", which
            runs when the reader says so.
        source: as it is now.
    """

    name: str
    kind: str
    source: str

    @property
    def file(self) -> str:
        """The name of the cell in tracebacks."""
        return f"<cell {self.name}>"


def names_in(source: str) -> set[str]:
    """All names that some code mentions, whatever it does with them."""
    return {node.id for node in _nodes(source) if isinstance(node, ast.Name)}


def names_made(source: str) -> set[str]:
    """Names that some code gives a meaning to, by whatever statement."""
    return {name for node in _nodes(source) for name in bound_by(node)}


def modules_in(source: str) -> set[str]:
    """Modules that some code imports, inside functions as well.

    Of ``from package import name``, ``package.name`` is given too: it may be a module.
    """
    found = set()
    for node in _nodes(source):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{a.name}" for a in node.names)}
    return found


def _nodes(source: str) -> list[ast.AST]:
    """The parts of some code; none if it cannot be read."""
    try:
        return list(ast.walk(parse(source)))
    except UNREADABLE:
        return []
