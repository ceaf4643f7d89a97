"""Alterations of a definition, one at a time, and their descriptions.

An alteration replaces nodes of a syntax tree. It is described in terms that apply to
any code: names of parameters, attributes and library functions, but no variable names.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from autograder.steps.statements import (
    added_again,
    dropped,
    earlier_values,
    exchanged_parts,
    inputs_of_steps,
    loops,
    used_again,
)
from autograder.steps.words import (
    LEFT_OUT,
    called,
    constant_of,
    described,
    is_axis,
    left_out,
    mark_parameters,
)

EXCHANGED = {
    ast.Add: (ast.Sub, "a difference stands where a sum belongs"),
    ast.Sub: (ast.Add, "a sum stands where a difference belongs"),
    ast.Mult: (ast.Div, "a division stands where a product belongs"),
    ast.Div: (ast.Mult, "a product stands where a division belongs"),
    ast.BitAnd: (ast.BitOr, "one of two conditions is enough where both must hold"),
    ast.BitOr: (ast.BitAnd, "two conditions must hold where one is enough"),
}
LIMITS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
OPPOSITE = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
RELATED = [
    ("sum", "mean", "max"),
    ("sin", "cos"),
    ("tril", "triu"),
    ("argmax", "argmin"),
    ("amax", "amin"),
    ("max", "min"),
    ("any", "all"),
    ("maximum", "minimum"),
    ("exp", "exp2"),
    ("relu", "gelu", "tanh", "silu"),
    ("repeat", "tile"),
    ("softmax", "log_softmax", "sigmoid"),
    ("sqrt", "square"),
]
UNITS = {"sqrt", "square", "exp", "log", "abs", "tanh", "softmax", "normalize"} | {
    *("cumsum", "masked_fill", "clamp", "clip", "swapaxes", "transpose", "flip"),
    *("tril", "triu", "flatten", "sigmoid", "relu", "gelu", "silu", "outer"),
}
TRANSPOSED = {"T", "mT"}
NO_MATTER = {"keepdim", "keepdims", "device", "dtype", "strict"}  # or raise an error
NUMBERS = (1e-12, 1e-8, 1e-6, 1e-5, 1.0)  # that are taken for a small one
BASES = (100.0, 1000.0, 10_000.0)


Nodes = dict[int, ast.AST]  # what takes the place of a node, by the id of that
Told = tuple[str, Nodes]


@dataclass(frozen=True)
class Change:
    """What is altered, in words, and the nodes that take the place of others."""

    says: str
    function: ast.FunctionDef  # the one that it is in
    nodes: Nodes

    @property
    def ends_early(self) -> bool:
        """Whether what follows is never reached, whatever is wrong with that."""
        return any(isinstance(node, ast.Return) for node in self.nodes.values())


def changes(definition: ast.FunctionDef | ast.ClassDef) -> Iterator[Change]:
    """All alterations of a definition, method by method and ``__init__`` last.

    Args:
        definition: it stays as it is, and has to be kept as long as the changes.
    """
    functions = [definition]
    if isinstance(definition, ast.ClassDef):
        functions = [n for n in definition.body if isinstance(n, ast.FunctionDef)]
        functions.sort(key=lambda function: function.name == "__init__")  # last
    for function in functions:
        mark_parameters(function)
        found = list(_of_parameters(function))
        for statement in function.body:
            found += _of_statements(statement)
        found += _returned_early(function)
        found += exchanged_parts(function)
        found += added_again(function)
        found += used_again(function)
        found += earlier_values(function)
        found += inputs_of_steps(function)
        for says, nodes in found:
            yield Change(says, function, nodes)
    for function in functions:
        for says, nodes in (*_of_two_keywords(function), *_from_the_end(function)):
            yield Change(says, function, nodes)


def _returned_early(function: ast.FunctionDef) -> Iterator[Told]:
    """An intermediate result is returned: from a call on, all steps are left out.

    Several results in the place of one would be another slip.
    """
    last = function.body[-1]
    if not isinstance(last, ast.Return) or isinstance(last.value, ast.Tuple):
        return
    for statement in function.body[:-1]:
        value = getattr(statement, "value", None)
        if not isinstance(statement, ast.Assign) or not isinstance(value, ast.Call):
            continue
        before, name = _argument_of(value), called(value)
        if before is not None and name in UNITS:
            yield (
                f"`{name}` and all that follows are left out",
                {id(statement): ast.Return(before)},
            )


def _of_parameters(function: ast.FunctionDef) -> Iterator[Told]:
    """Other defaults, and parameters that have no effect."""
    arguments = function.args
    named = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    count = len(arguments.defaults)
    for name, default in zip(
        named[len(named) - count :], arguments.defaults, strict=True
    ):
        yield (
            f"`{name}` has no effect, as if its default were always given",
            _set_first(function, name, default),
        )
        for other in _other_values(default):
            yield f"`{name}` has another default", {id(default): other}
        for word, other in _related(default):
            yield f"`{name}` has another default", {id(default): other}
            yield (
                f"`{word}` is taken, whatever `{name}` is",
                _set_first(function, name, other),
            )


def _set_first(function: ast.FunctionDef, name: str, value: ast.expr) -> Nodes:
    first = function.body[0]
    setting = ast.Assign([ast.Name(name, ast.Store())], value)
    return {id(first): ast.If(ast.Constant(True), [setting, first], [])}


def _of_statements(statement: ast.stmt) -> Iterator[Told]:
    """Alterations of a statement, and of all that is in it, errors left alone."""
    if isinstance(statement, ast.Raise) or _only_raises(statement):
        return
    yield from dropped(statement)
    yield from loops(statement)
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.stmt):
            yield from _of_statements(child)
        elif isinstance(child, ast.expr) and not _is_annotation(child, statement):
            yield from _of_expressions(child)
    if isinstance(statement, ast.If):
        yield from _of_condition(statement.test)


def _only_raises(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and all(
        isinstance(inner, ast.Raise) for inner in statement.body
    )


def _is_annotation(node: ast.expr, statement: ast.stmt) -> bool:
    return isinstance(statement, ast.AnnAssign) and node is statement.annotation


def _of_expressions(expression: ast.expr) -> Iterator[Told]:
    for node in ast.walk(expression):
        for says, other in _of_expression(node):
            yield (says, {id(node): other})
        if isinstance(node, ast.Call):
            yield from _of_arguments(node)
        if isinstance(node, ast.IfExp):
            yield from _of_condition(node.test)


def _of_condition(test: ast.expr) -> Iterator[Told]:
    name = described(test)
    whatever = f"whatever {name} is" if name else "whatever a condition says"
    for value in (True, False):
        yield (
            f"the same branch is always taken, {whatever}",
            {id(test): ast.Constant(value)},
        )
    yield (
        "a condition is negated",
        {id(test): ast.UnaryOp(ast.Not(), test)},
    )


def _of_expression(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.BinOp):
        yield from _of_operator(node)
    elif isinstance(node, ast.UnaryOp):
        if isinstance(node.op, ast.USub):
            yield "a minus sign is missing", node.operand
        elif isinstance(node.op, ast.Invert | ast.Not):
            yield "a condition or a mask is inverted", node.operand
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield from _of_comparison(node)
    elif isinstance(node, ast.Call):
        yield from _of_call(node)
    elif isinstance(node, ast.Attribute) and node.attr in TRANSPOSED:
        yield "something is not transposed", node.value
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        yield from _of_index(node)
    elif isinstance(node, ast.List | ast.Tuple) and isinstance(node.ctx, ast.Load):
        yield from _of_order(node)
    elif isinstance(node, ast.Constant):
        for other in _other_values(node):
            yield _compared(other.value, node.value), other


def _compared(number: float, right: float) -> str:
    if isinstance(right, float):
        return "a constant has the wrong value"
    if number == -right:
        return "a constant has the wrong sign"
    which = "large" if number > right else "small"
    return (
        "a whole number, such as an axis, an index, a limit or a power, is too "
        f"{which} by one"
    )


def _of_operator(node: ast.BinOp) -> Iterator[tuple[str, ast.expr]]:
    kind, left, right = type(node.op), node.left, node.right
    if kind in LEFT_OUT:
        yield left_out(kind, right), left
        if kind in (ast.Add, ast.Mult, ast.MatMult, ast.BitAnd, ast.BitOr):
            yield left_out(kind, left), right
    if kind in EXCHANGED:
        other, says = EXCHANGED[kind]
        yield says, ast.BinOp(left, other(), right)
    if kind is ast.Sub:
        yield (
            "the terms of a difference are swapped",
            ast.BinOp(right, ast.Sub(), left),
        )
    if kind is ast.MatMult:
        yield (
            "the factors of a matrix product are swapped",
            ast.BinOp(right, ast.MatMult(), left),
        )


def _of_comparison(node: ast.Compare) -> Iterator[tuple[str, ast.expr]]:
    (kind,) = (type(op) for op in node.ops)
    if kind in LIMITS:
        yield (
            "a limit is off by one: it is included where it should not be, or left "
            "out where it should be included",
            ast.Compare(node.left, [LIMITS[kind]()], node.comparators),
        )
    if kind in OPPOSITE:
        yield (
            "a comparison is inverted",
            ast.Compare(node.left, [OPPOSITE[kind]()], node.comparators),
        )


def _swapped(one: ast.expr, other: ast.expr) -> str:
    """What is said of two entries of a list that are swapped: what they call, if so."""
    names = [
        part.func.attr if isinstance(part.func, ast.Attribute) else part.func.id
        for part in (other, one)
        if isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute | ast.Name)
    ]
    if len(set(names)) < 2:
        return "two neighbouring entries of a list are swapped"
    return f"what `{names[0]}` gives and what `{names[1]}` gives are swapped"


def _of_order(node: ast.List | ast.Tuple) -> Iterator[tuple[str, ast.expr]]:
    for index in range(min(len(node.elts), 4) - 1):
        swapped = list(node.elts)
        swapped[index : index + 2] = swapped[index : index + 2][::-1]
        yield _swapped(*swapped[index : index + 2]), type(node)(swapped, ast.Load())
        for step in (0, 1):  # names in a list, one of which stands there twice
            twice = list(node.elts)
            twice[index + step] = node.elts[index + 1 - step]
            if all(isinstance(part, ast.Constant) for part in twice):
                yield (
                    "one of several is taken twice, and another one not at all",
                    type(node)(twice, ast.Load()),
                )


def _of_call(node: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    name = called(node)
    inner = _argument_of(node)
    own = isinstance(node.func, ast.Attribute) and _is_self(node.func.value)
    if inner is not None and (name in UNITS or own):
        yield f"`{name}` is left out", inner
    if own and len(node.args) == 1:
        yield f"`{name}` is applied twice", ast.Call(node.func, [node], [])
    if name == "range" and len(node.args) == 1:
        for operator, says in ((ast.Add(), "many"), (ast.Sub(), "few")):
            count = ast.BinOp(node.args[0], operator, ast.Constant(1))
            yield f"there is one round too {says}", ast.Call(node.func, [count], [])
    for other, function in _related(node.func):
        yield (
            f"`{other}` is taken where `{name}` belongs",
            ast.Call(function, node.args, node.keywords),
        )


def _argument_of(node: ast.Call) -> ast.expr | None:
    """What a function is applied to: its first argument, or what stands before it."""
    method = isinstance(node.func, ast.Attribute)
    if method and not _is_library(node.func.value) and not _is_self(node.func.value):
        return node.func.value
    return node.args[0] if node.args else None


def _is_library(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("np", "torch", "F", "nn", "math")


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _related(function: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    for family in RELATED:
        if isinstance(function, ast.Attribute) and function.attr in family:
            for other in family:
                if other != function.attr:
                    changed = ast.Attribute(function.value, other, ast.Load())
                    yield other, changed
        elif isinstance(function, ast.Name) and function.id in family[:2]:
            for other in family:
                if other != function.id and other in ("max", "min", "any", "all"):
                    yield other, ast.Name(other, ast.Load())


def _of_arguments(node: ast.Call) -> Iterator[Told]:
    name = called(node)
    for index, keyword in enumerate(node.keywords):
        rest = node.keywords[:index] + node.keywords[index + 1 :]
        less = ast.Call(node.func, node.args, rest)
        if is_axis(keyword):
            yield (f"`{name}` is taken over all axes at once", {id(node): less})
            yield from _other_axes(name, keyword.value)
        elif keyword.arg not in NO_MATTER:
            yield (f"`{keyword.arg}` is not handed on to `{name}`", {id(node): less})
            yield from _other_truth(keyword)
    for index in range(len(node.args) - 1):
        swapped = list(node.args)
        swapped[index : index + 2] = swapped[index : index + 2][::-1]
        yield (
            f"two arguments of `{name}` are swapped",
            {id(node): ast.Call(node.func, swapped, node.keywords)},
        )


def _other_truth(keyword: ast.keyword) -> Iterator[Told]:
    """The other one of True and False."""
    value = keyword.value
    if isinstance(value, ast.Constant) and isinstance(value.value, bool):
        other = ast.Constant(not value.value)
        yield (
            f"`{keyword.arg}` is {other.value}, where {value.value} belongs",
            {id(value): other},
        )


def _of_two_keywords(function: ast.FunctionDef) -> Iterator[Told]:
    """Two keywords of one call are left out, so that both have their defaults."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Call):
            continue
        matter = [k for k in node.keywords if not is_axis(k) and k.arg not in NO_MATTER]
        for one, other in itertools.combinations(matter, 2):
            rest = [k for k in node.keywords if k not in (one, other)]
            yield (
                f"`{one.arg}` and `{other.arg}` are not handed on to `{called(node)}`",
                {id(node): ast.Call(node.func, node.args, rest)},
            )


def _from_the_end(function: ast.FunctionDef) -> Iterator[Told]:
    """The last entries are taken where the first ones belong."""
    for node in ast.walk(function):
        if isinstance(node, ast.Slice) and node.upper is not None and not node.lower:
            start = ast.UnaryOp(ast.USub(), node.upper)
            yield (
                "the last entries are taken where the first ones belong",
                {id(node): ast.Slice(start, None, node.step)},
            )


def _other_axes(name: str, axis: ast.expr) -> Iterator[Told]:
    value = constant_of(axis)
    if not isinstance(value, int):
        return
    for other in (-1, -2, -3, 0, 1, 2):
        if other != value:
            yield (
                f"`{name}` is taken along another axis",
                {id(axis): ast.Constant(other)},
            )


def _of_index(node: ast.Subscript) -> Iterator[tuple[str, ast.expr]]:
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    news = (isinstance(p, ast.Constant) and p.value is None for p in parts)
    if not any(news) and any(isinstance(part, ast.Slice) for part in parts):
        yield "a part is not cut off", node.value
    for number, part in enumerate(parts):
        value = constant_of(part)
        if isinstance(value, int) and not isinstance(value, bool):
            for other in {value - 1, value + 1, -1, 0} - {value}:
                changed = [*parts[:number], ast.Constant(other), *parts[number + 1 :]]
                yield (
                    "another entry is taken, by an index",
                    ast.Subscript(
                        node.value,
                        ast.Tuple(changed, ast.Load())
                        if len(parts) > 1
                        else changed[0],
                        ast.Load(),
                    ),
                )


def _other_values(node: ast.expr) -> Iterator[ast.expr]:
    """Other numbers that are taken for a number."""
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    if isinstance(value, int):
        others = {value + 1, value - 1, -value}
    else:
        others = {2 * value, value / 2, *(NUMBERS if value < 1 else BASES)}
    for other in sorted(others - {value}):
        yield ast.Constant(other)
