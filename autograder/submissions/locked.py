"""What a student wrote into a cell that is locked, and that answers may need.

JupyterLab keeps to nbgrader's locks, but VS Code, Colab and others do not. Such a cell
is used as it was released, so an import that was added to it, or a function, would be
lost.
"""

from __future__ import annotations

import ast

from autograder.magics import lines_in, parsed, rows_of, sharing_lines
from autograder.statements import names_bound, only_defines
from autograder.submissions.by_name import shape, shapes_in


def added_to(
    source: str, released: str, demonstrates: bool
) -> tuple[list[str], list[str]]:
    """The statements that a locked cell was not released with, but for its check.

    Much of what is changed in a demonstration is changed to try something, and may take
    long. So of these only imports, definitions and constants count, if the cell does
    not bind them anew, or take them back, in another statement.

    Args:
        source: of the cell, as it was handed in.
        released: the same cell, as it was released.
        demonstrates: whether it is a demonstration.

    Returns:
        Those above the first of the statements that it was released with, and others.
    """
    if source.strip() == released.strip():
        return [], []
    tree, lines = parsed(source), lines_in(source)
    groups = list(sharing_lines(tree.body if tree else []))
    known = shapes_in(released)
    new = [[node for node in group if shape(node) not in known] for group in groups]
    counts = only_defines if demonstrates else _checks_nothing
    wanted = [bool(group) and all(map(counts, group)) for group in new]
    other: set[str] = set()  # what is bound in another way, too
    for group, is_wanted in zip(groups, wanted, strict=True):
        other |= set() if is_wanted else _names(group)
    found: tuple[list[str], list[str]] = [], []
    below = False
    for group, is_wanted in zip(groups, wanted, strict=True):
        if is_wanted and other.isdisjoint(_names(group)):
            found[below].append("\n".join(lines[rows_of(group)]))
        below = below or any(shape(node) in known for node in group)
    return found


def _names(group: list[ast.stmt]) -> set[str]:
    return set().union(*map(names_bound, group))


def _checks_nothing(node: ast.stmt) -> bool:
    """Whether a statement does something, and calls no check of ours."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return False
    return not any(
        isinstance(part, ast.Name) and part.id == "check" for part in ast.walk(node)
    )
