"""Describe parts of a formula, with names that any code for it would have."""

from __future__ import annotations

import ast

_RESULTS = {
    "sqrt": "a square root",
    "mean": "a mean",
    "sum": "a sum",
    "exp": "an exponential",
    "max": "a maximum",
    "eye": "the identity",
    "len": "a length",
}

ONE_CONDITION = "one of two conditions is not looked at"
LEFT_OUT = {  # with the name of what is left out, and without
    ast.Add: ("{} is not added", "a term is not added"),
    ast.Sub: ("{} is not subtracted", "a term is not subtracted"),
    ast.Mult: ("{} is left out as a factor", "a factor is left out"),
    ast.Div: ("there is no division by {}", "a division is left out"),
    ast.Pow: ("a power is left out", "a power is left out"),
    ast.MatMult: ("a product with {} is left out", "a matrix product is left out"),
    ast.BitAnd: (ONE_CONDITION, ONE_CONDITION),
    ast.BitOr: (ONE_CONDITION, ONE_CONDITION),
}


def mark_parameters(function: ast.FunctionDef) -> None:
    """Note which names in a function are those of its parameters."""
    arguments = function.args
    names = {a.arg for a in (*arguments.args, *arguments.kwonlyargs)}
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            node.is_parameter = node.id in names


def described(node: ast.expr) -> str:
    """What an operand is called, if it has a name that any code would have.

    That is the name of a parameter or an attribute, a number, or a known function.
    """
    value = constant_of(node)
    if value is not None:
        return str(value)
    if isinstance(node, ast.Name):
        return f"`{node.id}`" if getattr(node, "is_parameter", False) else ""
    if isinstance(node, ast.Attribute) and _of_self(node):
        return f"`{node.attr}`"
    if isinstance(node, ast.Subscript):
        return described(node.value)
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and _of_self(node.func):
            return f"the output of `{node.func.attr}`"
        return _RESULTS.get(called(node), "")
    return ""


def left_out(kind: type[ast.operator], operand: ast.expr) -> str:
    """That an operator is not applied, with the operand if that has a name."""
    named, unnamed = LEFT_OUT[kind]
    name = described(operand)
    return named.format(name) if name else unnamed


def called(node: ast.Call) -> str:
    """The name of the function or method that is called."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else "a function"


def constant_of(node: ast.AST) -> int | float | None:
    """The number that an expression writes out, with its sign."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = constant_of(node.operand)
        return None if value is None else -value
    if isinstance(node, ast.Constant) and not isinstance(node.value, bool):
        return node.value if isinstance(node.value, int | float) else None
    return None


def is_axis(keyword: ast.keyword) -> bool:
    """Whether a keyword says along which axis something is done."""
    return keyword.arg in ("axis", "dim")


def parts_of(node: ast.AST) -> list[str]:
    """The attributes of ``self`` that an expression calls, each once."""
    calls = (n.func for n in ast.walk(node) if isinstance(n, ast.Call))
    found = [f.attr for f in calls if isinstance(f, ast.Attribute) and _of_self(f)]
    return list(dict.fromkeys(found))


def _of_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"
