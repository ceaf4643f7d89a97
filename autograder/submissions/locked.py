"""What a student wrote into a cell that is locked, and that answers may need.

JupyterLab keeps to nbgrader's locks, but VS Code, Colab and others do not. Such a cell
is used as it was released, so an import that was added to it, or a function, would be
lost.
"""

from __future__ import annotations

import ast

from autograder.submissions.by_name import shape, shapes_in
from autograder.submissions.magics import lines_in, parsed, rows_of, sharing_lines

_DEFINES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_DEFINES |= ast.Import | ast.ImportFrom


def added_to(source: str, released: str) -> str:
    """The imports, definitions and constants that a locked cell was not released with.

    Nothing else, since much of what is changed in such a cell is changed to try
    something, and may take long.

    Args:
        source: of the cell, as it was handed in.
        released: the same cell, as it was released.
    """
    if source.strip() == released.strip():
        return ""
    tree, lines = parsed(source), lines_in(source)
    kept = [
        "\n".join(lines[rows_of(group)])
        for group in sharing_lines(tree.body if tree else [])
        if all(map(_defines, group))
        and not all(shape(node) in shapes_in(released) for node in group)
    ]
    return "\n".join(kept)


def _defines(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assign | ast.AnnAssign):
        value = ast.walk(node.value) if node.value else ()
        return not any(isinstance(n, ast.Name | ast.Call | ast.Await) for n in value)
    return isinstance(node, _DEFINES)
