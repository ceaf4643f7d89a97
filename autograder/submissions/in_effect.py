"""What the name of an answer stands for when other answers are examined.

Cells run from top to bottom, so a student who tries something out below a check, under
the name of the answer, has later answers call that one.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from autograder.magics import keeps_names, parsed
from autograder.statements import names_bound
from autograder.submissions.by_name import shape
from autograder.submissions.rebuild import STUDENT, Rebuilt


@dataclass(eq=False)
class Definition:
    """A statement of a student's that binds the name of an answer.

    Attributes:
        node: its syntax tree.
        exercise: in whose cell it stands; none if the student added the cell.
    """

    node: ast.stmt
    exercise: str | None

    @cached_property
    def _shape(self) -> str | ast.AST:
        return shape(self.node)

    def equals(self, other: Definition) -> bool:
        """Whether both are one piece of code, but for comments and white space."""
        return self is other or self._shape == other._shape


def definitions_in_effect(
    rebuilt: Rebuilt, names: Collection[str]
) -> dict[str, Mapping[str, Definition | None]]:
    """What the answers examined so far stand for at each check.

    Args:
        rebuilt: the notebook that was examined.
        names: of its exercises.

    Returns:
        By exercise, in the order of their checks, the definitions of this answer and
        of those with a check above; ``None`` for one that no statement shows, as after
        ``from answers import *``.
    """
    found: dict[str, Mapping[str, Definition | None]] = {}
    now: dict[str, Definition] = {}
    for cell in rebuilt.notebook.cells:
        role, exercise = cell.metadata.role, cell.metadata.get("exercise")
        if role == "check" and exercise in names:
            found[exercise] = {name: now.get(name) for name in (*found, exercise)}
        if role not in (STUDENT, "exercise") or not keeps_names(cell.source):
            continue
        tree = parsed(cell.source)
        for node in tree.body if tree else ():
            if not isinstance(node, ast.Delete):
                known = now.get(_other_name(node)) or Definition(node, exercise)
                now |= dict.fromkeys(names_bound(node), known)
    return found


def _other_name(node: ast.stmt) -> str | None:
    """The name of which an assignment makes another, as ``old = softmax`` does."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Name):
        return None
    names_alone = all(isinstance(target, ast.Name) for target in node.targets)
    return node.value.id if names_alone else None
