"""What only the demonstrations of the book make, which are not run in grading.

They may take minutes, and no answer needs them. But a student may have looked at what
they make, as in ``print(X.shape)`` above an answer, or rely on what they import, and
that must not cost the answer.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache

import nbformat
from nbformat import NotebookNode

from autograder.comparisons import looked_up, names_bound
from autograder.magics import parsed
from autograder.submissions.rebuild import STUDENT, Rebuilt

_IMPORTS = ast.Import | ast.ImportFrom
_WORD = re.compile(r"\w+")
_NOT_DEFINED = re.compile(r"NameError: name '(\w+)' is not defined")


def made_by_demonstrations(rebuilt: Rebuilt, number: int) -> frozenset[str]:
    """The names that a demonstration binds, and no cell that was run by then.

    Args:
        rebuilt: the notebook.
        number: of the cell that is run.
    """
    made: set[str] = set()
    known: set[str] = set()
    for n, cell in enumerate(rebuilt.notebook.cells):
        if cell.cell_type == "code" and cell.metadata.role == "demo":
            made |= _names_in(cell.source)
        elif cell.cell_type == "code" and n < number:
            known |= _names_in(cell.source)
    return frozenset(made - known)


def import_as_demonstrations_do(rebuilt: Rebuilt) -> None:
    """Add a cell for each import of a demonstration that a student's cell needs."""
    offered: set[str] = set()
    own: list[str] = []
    for cell in rebuilt.notebook.cells:
        if cell.cell_type == "code" and cell.metadata.role == "demo":
            offered.update(*(names for names, _ in _imports_in(cell.source)))
        elif cell.metadata.role in (STUDENT, "exercise"):
            own.append(cell.source)
    used: set[str] = set()
    for source in own:
        if not offered.isdisjoint(_WORD.findall(source)):  # else nothing is read
            tree = parsed(source)
            used |= looked_up(tree) if tree else set()
    if offered.isdisjoint(used):
        return
    known: set[str] = set()
    cells: list[NotebookNode] = []
    for cell in rebuilt.notebook.cells:
        cells.append(cell)
        if cell.cell_type == "code" and cell.metadata.role == "demo":
            for names, text in _imports_in(cell.source):
                if names & used - known:
                    known |= names
                    cells.append(nbformat.v4.new_code_cell(text))
                    cells[-1].metadata["role"] = STUDENT
        elif cell.cell_type == "code":
            known |= _names_in(cell.source)
    rebuilt.notebook.cells = cells


@lru_cache(maxsize=200)  # the cells of a chapter
def _imports_in(source: str) -> list[tuple[set[str], str]]:
    """The imports of a demonstration, each with the names that it binds."""
    tree = parsed(source)
    imports = [n for n in (tree.body if tree else ()) if isinstance(n, _IMPORTS)]
    return [(names_bound(node), ast.unparse(node)) for node in imports]


def looks_at_one(error: str | None, made: frozenset[str]) -> bool:
    """Whether a cell stopped because such a name is not there."""
    found = _NOT_DEFINED.match(error or "")
    return found is not None and found[1] in made


@lru_cache(maxsize=200)  # the cells of a chapter
def _names_in(source: str) -> frozenset[str]:
    tree = parsed(source)
    bound = map(names_bound, tree.body if tree else ())
    return frozenset().union(*bound)
