"""Find what to ask about a piece of code: features of its syntax tree.

``questions.toml`` has a question and an answer for each, which hold for any
code in which it is found. Nothing is run: an answer is general, or worked out from the
text, as the dimensions that an ``einsum`` sums over.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

TINY = 1e-3  # an addend of at most this is there for numerical reasons
SHOWN = 60  # characters of a student's text in a question
MAX_AXES = 64  # of an array of NumPy 2 and of a tensor of PyTorch
_EQUATION = re.compile(r"([A-Za-z,.]+)->([A-Za-z.]*)")  # of einsum, without blanks
OF_SIZES = ("ones", "zeros", "empty", "eye", "rand", "randn")  # given sizes alone
Words = dict[str, str]  # to be filled in; ``token`` is in the line


@dataclass(frozen=True)
class Feature:
    """A feature of a line.

    Attributes:
        name: of the feature, as in ``questions.toml``.
        line: number of the line, from one.
        token: what the line has that shows it.
        ask: the question.
        answer: what an examiner hopes to hear.
        telling: whether it says more about the code than that it is code.
    """

    name: str
    line: int
    token: str
    ask: str
    answer: str
    telling: bool


def features_of(definition: ast.stmt, lines: list[str]) -> list[Feature]:
    """The features of a definition, each once, in the order of the lines.

    Args:
        definition: of a function or a class.
        lines: all lines of the cell that it stands in.
    """
    seen: dict[str, Feature] = {}
    for node in _without_docstrings(definition):
        for name, find in _FINDERS.items():
            words = None if name in seen else find(node)
            line = _line_of(node, words["token"], lines) if words else 0
            if words and line:
                entry = _questions()[name]
                ask, answer = (
                    " ".join(entry[kind].split()).format(**words)
                    for kind in ("ask", "answer")
                )
                telling = entry.get("telling", True)
                seen[name] = Feature(name, line, words["token"], ask, answer, telling)
    return sorted(seen.values(), key=lambda feature: (feature.line, feature.name))


@cache
def _questions() -> dict[str, dict[str, Any]]:
    path = files(__package__) / "questions.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _without_docstrings(definition: ast.stmt) -> Iterator[ast.AST]:
    """All nodes below a definition but the texts that stand as statements."""
    waiting: list[ast.AST] = [definition]
    for node in waiting:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        yield node
        waiting += ast.iter_child_nodes(node)


def _line_of(node: ast.AST, token: str, lines: list[str]) -> int:
    """The first line of a node in which a token is; 0 if it is in none."""
    first = getattr(node, "lineno", 0)
    last = min(getattr(node, "end_lineno", 0), len(lines))
    for number in range(first, last + 1):
        if token in lines[number - 1].partition("#")[0]:
            return number
    return 0


def _called(*names: str) -> Callable[[ast.AST], Words | None]:
    """A finder of calls of some functions or methods."""

    def find(node: ast.AST) -> Words | None:
        name = _name_of_call(node)
        return {"token": name} if name in names else None

    return find


def _name_of_call(node: ast.AST) -> str:
    function = node.func if isinstance(node, ast.Call) else None
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _number(node: ast.AST) -> float | None:
    """The number that a node writes down, if it does."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _number(node.operand)
        return None if value is None else -value
    value = node.value if isinstance(node, ast.Constant) else None
    real = isinstance(value, int | float) and not isinstance(value, bool)
    return value if real else None


def _keepdims(node: ast.AST) -> Words | None:
    if not isinstance(node, ast.keyword) or node.arg not in ("keepdims", "keepdim"):
        return None
    kept = isinstance(node.value, ast.Constant) and node.value.value is True
    return {"token": node.arg} if kept else None


def _axis(node: ast.AST) -> Words | None:
    if not isinstance(node, ast.keyword) or node.arg not in ("axis", "dim"):
        return None
    value = _number(node.value)
    if not isinstance(value, int) or abs(value) >= MAX_AXES:
        return None
    other = "-2" if value == -1 else "-1"
    return {"token": node.arg, "value": str(value), "other": other}


def _maximum(node: ast.AST) -> Words | None:
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
        return None
    calls = (_name_of_call(inner) for inner in ast.walk(node.right))
    name = next((name for name in calls if name in ("max", "amax")), None)
    return {"token": name} if name else None


def _infinity(node: ast.AST) -> Words | None:
    filled = _replaced(node) and any(
        getattr(inner, kind, "") in ("inf", "-inf")
        for inner in ast.walk(node)
        for kind in ("attr", "id", "value")  # np.inf, inf, float("-inf")
    )
    return {"token": "inf"} if filled else None


def _where(node: ast.AST) -> Words | None:
    return None if _infinity(node) else _replaced(node)


_replaced = _called("where", "masked_fill", "masked_fill_")


def _transpose(node: ast.AST) -> Words | None:
    if isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
        return {"token": f".{node.attr}"}
    return _called("transpose", "swapaxes", "permute", "moveaxis", "movedim")(node)


def _root(node: ast.AST) -> Words | None:
    power = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)
    if power and _number(node.right) in (0.5, -0.5):
        return {"token": "**"}
    return _called("sqrt", "rsqrt")(node)


def _einsum(node: ast.AST) -> Words | None:
    if _name_of_call(node) != "einsum" or not node.args:
        return None
    text = getattr(node.args[0], "value", None)
    if not isinstance(text, str) or len(text) > SHOWN:
        return None
    equation = _EQUATION.fullmatch(text.replace(" ", ""))
    if equation is None:
        return None
    inputs, output = equation.groups()
    letters = [c for c in dict.fromkeys(inputs) if c.isalpha()]
    summed = [c for c in letters if c not in output]
    matched = [c for c in letters if c in output and inputs.count(c) > 1]
    return {
        "token": "einsum",
        "subscripts": text,
        "summed": ", ".join(summed) or "nothing",
        "matched": ", ".join(matched) or "nothing",
        "output": output or "none, it is a scalar",
    }


def _newaxis(node: ast.AST) -> Words | None:
    if not isinstance(node, ast.Subscript):
        return _called("unsqueeze", "expand_dims")(node)
    new = _new_axes(node)
    return {"token": new[0]} if len(new) == 1 else None


def _newaxes(node: ast.AST) -> Words | None:
    new = _new_axes(node) if isinstance(node, ast.Subscript) else []
    if len(new) < 2:
        return None
    index = ", ".join(map(_part_of_index, node.slice.elts))
    return {"token": new[0], "index": index} if len(index) <= SHOWN else None


def _part_of_index(part: ast.expr) -> str:
    """A part of an index in short."""
    if isinstance(part, ast.Slice):
        return ":" if part.lower is part.upper is part.step is None else "a:b"
    if isinstance(part, ast.Constant):
        named = {None: "None", Ellipsis: "..."}
        return next((word for v, word in named.items() if part.value is v), "i")
    return str(getattr(part, "attr", getattr(part, "id", "i")))


def _new_axes(node: ast.Subscript) -> list[str]:
    """How an index names each axis that it inserts."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    found = []
    for part in parts:
        if isinstance(part, ast.Constant) and part.value is None:
            found.append("None")
        elif getattr(part, "attr", "") == "newaxis":
            found.append("newaxis")
    return found


def _epsilon(node: ast.AST) -> Words | None:
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return None
    for side in (node.right, node.left):
        name = getattr(side, "attr", getattr(side, "id", ""))
        if name in ("eps", "epsilon"):
            return {"token": name, "value": name}
        if 0 < (_number(side) or 0) <= TINY:
            return {"token": "+", "value": ast.unparse(side)}
    return None


def _dtype(node: ast.AST) -> Words | None:
    if words := _called("astype", "type_as")(node):
        return words
    other = _sets_type(node) and _name_of_call(node) not in OF_SIZES
    return {"token": "dtype"} if other else None


def _default_dtype(node: ast.AST) -> Words | None:
    name = _name_of_call(node)
    if _sets_type(node) and name in OF_SIZES:
        return {"token": "dtype", "call": name}
    return None


def _sets_type(node: ast.AST) -> bool:
    keywords = node.keywords if isinstance(node, ast.Call) else []
    return any(keyword.arg == "dtype" for keyword in keywords)


def _product(node: ast.AST) -> Words | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return {"token": "@"}
    return _called("matmul", "bmm")(node)


def _statement(kind: type, token: str) -> Callable[[ast.AST], Words | None]:
    """A finder of statements."""
    return lambda node: {"token": token} if isinstance(node, kind) else None


_FINDERS: dict[str, Callable[[ast.AST], Words | None]] = {
    "keepdims": _keepdims,
    "axis": _axis,
    "maximum": _maximum,
    "infinity": _infinity,
    "where": _where,
    "transpose": _transpose,
    "root": _root,
    "einsum": _einsum,
    "reshape": _called("reshape", "view", "flatten", "unflatten"),
    "newaxis": _newaxis,
    "newaxes": _newaxes,
    "epsilon": _epsilon,
    "dtype": _dtype,
    "default_dtype": _default_dtype,
    "triangle": _called("tril", "triu"),
    "exponential": _called("exp"),
    "product": _product,
    "loop": _statement(ast.For, "for"),
    "error": _statement(ast.Raise, "raise"),
    "return": _statement(ast.Return, "return"),
}
