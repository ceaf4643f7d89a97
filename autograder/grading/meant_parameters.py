"""Which parameter a function may mean by a name that it does not bind.

A parameter was renamed or misspelt. In the student's session the other name was there
all the same, made by a demonstration or by a test of the student's own, so that the
function ran, on a value that is not its argument.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from nbformat import NotebookNode

from autograder.grading.remarks import NAME
from autograder.magics import parsed
from autograder.statements import looked_up, parameters_of

_CLOSE = 0.8  # how alike names with a typo are, on the scale of difflib
_SHORTEST = 4  # letters of a name in which a typo can be told
_MOST = 2  # parameters that are named

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Meant:
    """A function that looks up a name, and what it may mean.

    Attributes:
        function: its name.
        parameters: which may be meant; none if nothing tells.
        not_used: all parameters that the function does not use.
        unused: whether all that speaks for those meant is that they are not used.
    """

    function: str
    parameters: tuple[str, ...] = ()
    not_used: tuple[str, ...] = ()
    unused: bool = False


def meant_by(
    name: str,
    trees: Iterable[ast.Module],
    stubs: Mapping[tuple[str, str], Sequence[str]],
) -> Meant | None:
    """Which parameter is meant, by the first code in which a function needs the name.

    Args:
        name: it may be there, at the top level, or be missing.
        trees: of code, the answer first.
        stubs: the parameters in the stubs, from ``parameters_in``.

    Returns:
        What the innermost function may mean, or else one around it; ``None`` if no
        function looks the name up.
    """
    for tree in trees:
        found = [
            _meant_in(function, name, stubs.get(place, ()))
            for place, function in _functions(tree)
            if name in looked_up(function)
        ]
        if found:
            inner_first = found[::-1]
            sure = [m for m in inner_first if m.parameters and not m.unused]
            unsure = [m for m in inner_first if m.parameters]
            return next(iter([*sure, *unsure, *inner_first]))
    return None


def parameters_in(trees: Iterable[ast.Module]) -> dict[tuple[str, str], list[str]]:
    """The parameters of each function, by the names of its class, if any, and its own.

    Of a function that is in no class, its own name takes the place of that.
    """
    return {
        place: parameters_of(function)
        for tree in trees
        for place, function in _functions(tree)
    }


def parameters_of_stubs(master: NotebookNode) -> dict[tuple[str, str], list[str]]:
    """Those of the functions that a chapter asks for, as it was released."""
    stubs = [c for c in master.cells if "exercise" in c.metadata.get("tags", [])]
    return parameters_in(filter(None, (parsed(cell.source) for cell in stubs)))


def _functions(tree: ast.Module) -> Iterator[tuple[tuple[str, str], _Function]]:
    """The functions in some code, outer ones first, each with its place there."""
    for statement in tree.body:
        for node in ast.walk(statement):
            if isinstance(node, _Function) and NAME.fullmatch(node.name):
                yield (getattr(statement, "name", ""), node.name), node


def _meant_in(function: _Function, name: str, stub: Sequence[str]) -> Meant:
    parameters = parameters_of(function)
    own = [p for p in parameters if NAME.fullmatch(p) and p not in ("self", "cls")]
    used = {
        n.id
        for n in ast.walk(function)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    }
    unused = [p for p in own if p not in used]
    if name in stub[: len(parameters)]:
        renamed = parameters[stub.index(name)]
        if renamed in own and renamed not in stub:
            return Meant(function.name, (renamed,), tuple(unused))
    alike = [p for p in unused if _alike(name, p) or _short_for(name, p)]
    alike = alike or [p for p in own if _alike(name, p)]
    if alike or len(unused) != 1:
        return Meant(function.name, tuple(alike[:_MOST]), tuple(unused))
    return Meant(function.name, tuple(unused), tuple(unused), unused=True)


def _alike(name: str, parameter: str) -> bool:
    """Whether a name is the parameter's in another form: X, keys, q for query."""
    one, other = _stem(name), _stem(parameter)
    typo = (
        min(len(one), len(other)) >= _SHORTEST
        and difflib.SequenceMatcher(None, one, other).ratio() >= _CLOSE
    )
    return one == other or typo or parameter.startswith(name)


def _short_for(name: str, parameter: str) -> bool:
    """Whether one name is short for the other, as ps for patch_size, or Q for query.

    A capital is the name of a size more often, so this is asked of parameters that are
    not used.
    """
    one, other = name.lower(), parameter.lower()
    initials = "".join(word[0] for word in other.split("_") if word)
    return other.startswith(one) or one.startswith(other) or one == initials


def _stem(name: str) -> str:
    """A name in small letters and in the singular."""
    name = name.lower()
    if name.endswith("ies"):
        return name.removesuffix("ies") + "y"
    return name.removesuffix("s") or name
