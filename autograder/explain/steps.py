"""Edits of steps: the reference with one step of its source left out or changed.

An operator looks at one node of the syntax tree and gives other nodes for its place,
with words that apply to any code: names of parameters, attributes and library
functions, and no variable or line of the reference.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from types import CodeType, ModuleType
from typing import Any

from autograder.exercise import Implementation
from autograder.explain import Edit

Told = tuple[str, ast.AST]  # what is wrong, and the node that makes it so
Operator = Callable[[Any], Iterator[Told]]
Change = dict[ast.AST, ast.AST]  # the nodes that are replaced, and what replaces them

CHANGED = "<changed>"  # the file that changed code seems to be in
SAYS = "A right solution gives your result if one step is wrong: {}."
NAMES = {
    **{ast.Add: "a sum", ast.Sub: "a difference", ast.Mult: "a product"},
    **{ast.Div: "a division", ast.FloorDiv: "a whole division", ast.Mod: "a rest"},
    **{ast.Pow: "a power", ast.MatMult: "a matrix product"},
    **{ast.BitAnd: "`&`, and,", ast.BitOr: "`|`, or,"},
}
EXCHANGED = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mod, ast.Div),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.MatMult: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
}
LEFT_OUT = {
    ast.Add: "{} is not added",
    ast.Sub: "{} is not subtracted",
    ast.Mult: "{} is left out as a factor",
    ast.Div: "there is no division by {}",
    ast.Pow: "a power is left out",
    ast.MatMult: "a product with {} is left out",
    ast.BitAnd: "one of two conditions is not looked at",
    ast.BitOr: "one of two conditions is not looked at",
}
COMPARISONS = {
    "a limit is off by one: it is included where it should not be, or left out where "
    "it should be included": (
        {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
    ),
    "a comparison is the wrong way round": (
        {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}
    ),
    "a comparison is inverted": {
        **{ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt},
        **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is},
    },
}
FAMILIES = [
    *(("sum", "mean", "max"), ("max", "min"), ("amax", "amin"), ("sin", "cos")),
    *(("argmax", "argmin"), ("tril", "triu"), ("any", "all"), ("exp", "exp2")),
    *(("maximum", "minimum"), ("relu", "gelu", "tanh", "silu"), ("log", "log2")),
    *(("repeat", "tile"), ("softmax", "log_softmax", "sigmoid"), ("sqrt", "square")),
    *(("std", "var"), ("cumsum", "cumprod"), ("zeros", "ones"), ("cat", "stack")),
    *(("floor", "ceil"), ("concatenate", "stack"), ("zeros_like", "ones_like")),
    ("outer", "dot", "multiply"),
]
JOINED = ("concatenate", "cat", "stack", "split", "chunk")  # always along one axis
NO_MATTER = {"keepdim", "keepdims", "device", "dtype", "strict"}  # or raise an error
ARRAYS = ("Tensor", "ndarray")  # what annotations of arrays end in
LIBRARIES = ("np", "torch", "F", "nn", "math")
KNOWN = {  # what a call gives, in words
    **{"sqrt": "a square root", "mean": "a mean", "sum": "a sum", "len": "a length"},
    **{"exp": "an exponential", "max": "a maximum", "eye": "the identity"},
}


def step_edits(reference: Implementation) -> Iterator[Edit]:
    """The reference, and functions beside it that it calls, with one step changed.

    There are none of what is not a function or a class at the top level of a module
    whose source is at hand.
    """
    for definition in _definitions(reference):
        for says, change in _changes(definition):
            for node, other in change.items():
                ast.fix_missing_locations(ast.copy_location(other, node))
            make = partial(_changed, reference, definition, change)
            yield Edit(SAYS.format(says), make)


def _changes(definition: ast.AST) -> Iterator[tuple[str, Change]]:
    """All changes of one definition."""
    for function in _functions(definition):
        nodes = [node for statement in function.body for node in steps_of(statement)]
        for node in nodes:
            for operator in OPERATORS.get(type(node), ()):
                for says, other in operator(node):
                    yield says, {node: other}
        for several in (axes_changed, values_exchanged):
            yield from several(function, nodes)


@cache
def _definitions(reference: Implementation) -> list[ast.FunctionDef | ast.ClassDef]:
    """The definition of the reference, then those of functions that it calls."""
    module = inspect.getmodule(reference)
    top = _top_level(module) if isinstance(module, ModuleType) else {}
    if getattr(module, reference.__name__, None) is not reference:
        return []
    found: dict[str, ast.FunctionDef | ast.ClassDef] = {}
    waiting = [reference.__name__]
    for name in waiting:
        if name in found or name not in top:
            continue
        found[name] = top[name]
        mark_parameters(top[name])
        waiting += [n.id for n in ast.walk(top[name]) if isinstance(n, ast.Name)]
    return list(found.values())


def has_loops(reference: Implementation) -> bool:
    """Whether a change may make it go on for long."""
    nodes = [n for each in _definitions(reference) for n in ast.walk(each)]
    return any(isinstance(n, ast.For | ast.While | ast.comprehension) for n in nodes)


@cache
def _top_level(module: ModuleType) -> dict[str, ast.FunctionDef | ast.ClassDef]:
    try:
        body = ast.parse(inspect.getsource(module)).body
    except (OSError, TypeError, SyntaxError):
        return {}
    return {n.name: n for n in body if isinstance(n, ast.FunctionDef | ast.ClassDef)}


def mark_parameters(definition: ast.AST) -> None:
    """Note which names are those of parameters, and which of what is computed.

    The parameters of a function inside of another are its own affair.
    """
    for function in _functions(definition):
        arguments = function.args
        names = {a.arg for a in (*arguments.args, *arguments.kwonlyargs)}
        inner = [n for n in ast.walk(function) if isinstance(n, ast.Name)]
        local = {n.id for n in inner if isinstance(n.ctx, ast.Store)} | names
        for node in inner:
            node.is_parameter = node.id in names
            node.is_local = node.id in local


def _functions(definition: ast.AST) -> list[ast.FunctionDef]:
    """The function, or the methods of a class, ``__init__`` last."""
    if not isinstance(definition, ast.ClassDef):
        return [definition]
    methods = [n for n in definition.body if isinstance(n, ast.FunctionDef)]
    return sorted(methods, key=lambda method: method.name == "__init__")


def steps_of(node: ast.AST) -> Iterator[ast.AST]:
    """What is in a statement, but for errors that are raised."""
    body = node.body if isinstance(node, ast.If) else [node]
    if not all(isinstance(inner, ast.Raise) for inner in body):
        yield node
        for child in ast.iter_child_nodes(node):
            yield from steps_of(child)


def _changed(
    reference: Implementation, definition: ast.AST, change: Change
) -> Implementation:
    """The reference with some nodes of a definition replaced."""
    namespace = dict(vars(inspect.getmodule(reference)))
    for each in reversed(_definitions(reference)):
        if each is definition:
            try:
                code = _compiled(Replace(change).visit(each))
            finally:
                Replace({other: node for node, other in change.items()}).visit(each)
        else:
            code = _as_it_is(each)
        exec(code, namespace)
    return namespace[reference.__name__]


class Replace(ast.NodeTransformer):
    """Puts other nodes in the place of some."""

    def __init__(self, change: Change) -> None:
        self._change = change

    def visit(self, node: ast.AST) -> ast.AST:
        """What takes the place of a node."""
        return self._change.get(node) or self.generic_visit(node)


def _compiled(definition: ast.AST) -> CodeType:
    return compile(ast.Module([definition], []), CHANGED, "exec")


@cache
def _as_it_is(definition: ast.AST) -> CodeType:
    return _compiled(definition)


# Words


def _described(node: ast.expr) -> str:
    """What an operand is called, if it has a name that any code would have."""
    value = _constant(node)
    if value is not None:
        return str(value)
    if isinstance(node, ast.Name):
        return f"`{node.id}`" if getattr(node, "is_parameter", False) else ""
    if isinstance(node, ast.Attribute) and _is_self(node.value):
        return f"`{node.attr}`"
    if isinstance(node, ast.Subscript):
        return _described(node.value)
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and _is_self(node.func.value):
            return f"the output of `{node.func.attr}`"
        return KNOWN.get(_called(node), "")
    return ""


def _called(node: ast.Call) -> str:
    """The name of the function or method that is called."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else "a function"


def _constant(node: ast.AST | None) -> int | float | None:
    """The number that an expression writes out, with its sign."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _constant(node.operand)
        return None if value is None else -value
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value
    return None


def _is_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _is_library(node: ast.AST) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in LIBRARIES


def _without(operator: ast.operator, operand: ast.expr) -> str:
    return LEFT_OUT[type(operator)].format(_described(operand) or "a term or a factor")


# Operators


def operand_left_out(node: ast.BinOp) -> Iterator[Told]:
    """A term, a factor or a condition is left out."""
    if type(node.op) in LEFT_OUT:
        yield _without(node.op, node.right), node.left
        both = ast.Add | ast.Mult | ast.MatMult | ast.BitAnd | ast.BitOr
        if isinstance(node.op, both):
            yield _without(node.op, node.left), node.right
        if isinstance(node.op, ast.Sub):
            yield "what something is subtracted from is left out", node.right


def operator_exchanged(node: ast.BinOp) -> Iterator[Told]:
    """Another operator stands there, or the operands are swapped."""
    kind, left, right = type(node.op), node.left, node.right
    for other in EXCHANGED.get(kind, ()):
        says = f"{NAMES[other]} stands where {NAMES[kind]} belongs"
        yield says, ast.BinOp(left, other(), right)
    swaps = {
        **{ast.Sub: "the terms of a difference", ast.Div: "the parts of a quotient"},
        ast.MatMult: "the factors of a matrix product",
    }
    if kind in swaps:
        yield f"{swaps[kind]} are swapped", ast.BinOp(right, node.op, left)
    if kind is ast.MatMult:
        for name, one, other in (
            ("first", _transposed(left), right),
            ("second", left, _transposed(right)),
        ):
            says = f"the {name} factor of a matrix product is transposed"
            yield says, ast.BinOp(one, ast.MatMult(), other)


def _transposed(node: ast.expr) -> ast.expr:
    arguments = [ast.Constant(-1), ast.Constant(-2)]
    return ast.Call(ast.Attribute(node, "swapaxes", ast.Load()), arguments, [])


def sign_left_out(node: ast.UnaryOp) -> Iterator[Told]:
    """A minus sign or a negation is missing."""
    if isinstance(node.op, ast.USub) and _constant(node) is None:
        yield "a minus sign is missing", node.operand
    if isinstance(node.op, ast.Invert | ast.Not):
        yield "a condition or a mask is inverted", node.operand


def comparison_changed(node: ast.Compare) -> Iterator[Told]:
    """A limit is off by one, or a comparison is inverted."""
    kind = type(node.ops[0])
    for says, others in COMPARISONS.items():
        if len(node.ops) == 1 and kind in others:
            yield says, ast.Compare(node.left, [others[kind]()], node.comparators)


def constant_changed(node: ast.Constant) -> Iterator[Told]:
    """A number is another one."""
    value = node.value
    if type(value) is int:
        number = "a whole number, such as an axis, an index, a limit or a power,"
        yield f"{number} is off by one", ast.Constant(value + 1)
        yield f"{number} is off by one", ast.Constant(value - 1)
        if value:
            yield "a number has the wrong sign", ast.Constant(-value)
    elif type(value) is float:
        small = (1e-12, 1e-8, 1e-6, 1e-5, 1.0)
        others = small if value < 1 else (100.0, 1000.0, 10_000.0)
        for other in {2 * value, value / 2, 0.0, 1.0, -value, *others} - {value}:
            yield "a constant has the wrong value", ast.Constant(other)
    elif type(value) is bool:
        yield f"{not value} stands where {value} belongs", ast.Constant(not value)


def call_changed(node: ast.Call) -> Iterator[Told]:
    """A call is left out."""
    inner = _argument(node)
    if inner is not None and len(node.args) <= 3:
        yield f"`{_called(node)}` is left out", inner


def _argument(node: ast.Call) -> ast.expr | None:
    """What a function is applied to: its first argument, or what stands before it."""
    function = node.func
    if isinstance(function, ast.Attribute) and not (
        _is_library(function.value) or _is_self(function.value)
    ):
        return function.value
    return node.args[0] if node.args else None


def arguments_changed(node: ast.Call) -> Iterator[Told]:
    """An argument is dropped, another axis is taken, or two arguments are swapped."""
    name = _called(node)
    for keyword in node.keywords:
        less = _without_keyword(node, keyword)
        if keyword.arg in ("axis", "dim"):
            if name not in JOINED:
                yield f"`{name}` is taken over all axes at once", less
            for other in {-1, -2, -3, 0, 1, 2} - {_constant(keyword.value)}:
                along = ast.keyword(keyword.arg, ast.Constant(other))
                call = ast.Call(node.func, node.args, [*less.keywords, along])
                yield f"`{name}` is taken along another axis", call
        elif keyword.arg not in NO_MATTER:
            yield f"`{keyword.arg}` is not handed on to `{name}`", less
    for index in range(len(node.args) - 1):
        swapped = [*node.args]
        swapped[index : index + 2] = swapped[index : index + 2][::-1]
        call = ast.Call(node.func, swapped, node.keywords)
        yield f"two arguments of `{name}` are swapped", call


def value_changed(node: ast.Assign) -> Iterator[Told]:
    """What a variable is set to is doubled, halved or negated."""
    if not isinstance(node.value, ast.Call | ast.BinOp):
        return
    for says, factor in (
        *(("twice too large", 2), ("half of what it should be", 0.5)),
        ("of the wrong sign", -1),
    ):
        other = ast.BinOp(node.value, ast.Mult(), ast.Constant(factor))
        yield f"an intermediate value is {says}", ast.Assign(node.targets, other)


def axes_changed(
    function: ast.FunctionDef, nodes: Sequence[ast.AST]
) -> Iterator[tuple[str, Change]]:
    """Several steps are taken along another axis together."""
    keywords = [
        (node, keyword, _constant(keyword.value))
        for node in nodes
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg in ("axis", "dim")
    ]
    for axis in dict.fromkeys(value for *_, value in keywords):
        calls = [(n, k) for n, k, value in keywords if value == axis]
        if axis is None or len(calls) < 2:
            continue
        called = [*dict.fromkeys(f"`{_called(node)}`" for node, _ in calls)]
        names = " and ".join(called) if len(called) > 1 else f"all calls of {called[0]}"
        for other in {-1, -2, 0, 1} - {axis}:
            says = f"{names} are taken along another axis"
            yield says, {k.value: ast.Constant(other) for _, k in calls}
        if not any(_called(node) in JOINED for node, _ in calls):
            everywhere = {node: _without_keyword(node, own) for node, own in calls}
            yield f"{names} are taken over all axes at once", everywhere


def _without_keyword(node: ast.Call, keyword: ast.keyword) -> ast.Call:
    return ast.Call(
        node.func, node.args, [k for k in node.keywords if k is not keyword]
    )


def values_exchanged(
    function: ast.FunctionDef, nodes: Sequence[ast.AST]
) -> Iterator[tuple[str, Change]]:
    """In one place, an argument is used where another value belongs."""
    kinds = {
        argument.arg: ast.unparse(argument.annotation)
        for argument in (*function.args.args, *function.args.kwonlyargs)
        if argument.annotation is not None
    }
    for node in nodes:
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
            continue
        is_argument, is_local = node.id in kinds, getattr(node, "is_local", False)
        for name, kind in kinds.items() if is_local else ():
            if is_argument:
                fits, belongs = kind == kinds[node.id], f"`{node.id}`"
            else:
                fits, belongs = kind.endswith(ARRAYS), "another value"
            if fits and name != node.id:
                yield (
                    f"in one place, `{name}` is used where {belongs} belongs",
                    {node: ast.Name(name, ast.Load())},
                )


def function_exchanged(node: ast.Attribute) -> Iterator[Told]:
    """Another function of a family is taken, or a transposition is left out."""
    for family in FAMILIES:
        for other in family if node.attr in family else ():
            if other != node.attr:
                says = f"`{other}` is taken where `{node.attr}` belongs"
                yield says, ast.Attribute(node.value, other, ast.Load())
    if node.attr in ("T", "mT"):
        yield "something is not transposed", node.value


def index_changed(node: ast.Subscript) -> Iterator[Told]:
    """A slice begins or ends elsewhere or is left out, or another entry is taken."""
    if not isinstance(node.ctx, ast.Load):
        return
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    new_axis = any(isinstance(p, ast.Constant) and p.value is None for p in parts)
    if any(isinstance(part, ast.Slice) for part in parts) and not new_axis:
        yield "a part is not cut off", node.value
    for number, part in enumerate(parts):
        for says, other in _other_parts(part):
            changed = [*parts[:number], other, *parts[number + 1 :]]
            index = ast.Tuple(changed, ast.Load()) if len(parts) > 1 else other
            yield says, ast.Subscript(node.value, index, ast.Load())


def _other_parts(part: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    value = _constant(part)
    if type(value) is int:
        for other in {value - 1, value + 1, 0, -1} - {value}:
            yield "another entry is taken, by an index", ast.Constant(other)
    if isinstance(part, ast.Slice):
        for name in ("lower", "upper"):
            bound = getattr(part, name)
            if bound is not None:
                for step in (ast.Add(), ast.Sub()):
                    moved = ast.BinOp(bound, step, ast.Constant(1))
                    bounds = {"lower": part.lower, "upper": part.upper, name: moved}
                    yield "a slice is off by one", ast.Slice(**bounds, step=part.step)
        if part.upper is not None and part.lower is None and part.step is None:
            start = ast.UnaryOp(ast.USub(), part.upper)
            yield (
                "the last entries are taken where the first ones belong",
                ast.Slice(start),
            )


def order_changed(node: ast.Tuple | ast.List) -> Iterator[Told]:
    """Two neighbours are swapped."""
    if isinstance(node.ctx, ast.Load) and len(node.elts) <= 6:
        for index in range(len(node.elts) - 1):
            swapped = [*node.elts]
            swapped[index : index + 2] = swapped[index : index + 2][::-1]
            says = "two neighbours in a list, a shape or an order of axes are swapped"
            yield says, type(node)(swapped, ast.Load())


def condition_changed(node: ast.If | ast.IfExp) -> Iterator[Told]:
    """The same branch is always taken, or the other one."""
    name = _described(node.test)
    whatever = f"whatever {name} is" if name else "whatever a condition says"
    for value in (True, False):
        yield (
            f"the same branch is always taken, {whatever}",
            _with_test(node, ast.Constant(value)),
        )
    yield "a condition is negated", _with_test(node, ast.UnaryOp(ast.Not(), node.test))


def _with_test(node: ast.If | ast.IfExp, test: ast.expr) -> ast.AST:
    return type(node)(test, node.body, node.orelse)


OPERATORS: dict[type[ast.AST], Sequence[Operator]] = {
    ast.BinOp: (operand_left_out, operator_exchanged),
    ast.UnaryOp: (sign_left_out,),
    ast.Compare: (comparison_changed,),
    ast.Constant: (constant_changed,),
    ast.Call: (call_changed, arguments_changed),
    ast.Attribute: (function_exchanged,),
    ast.Subscript: (index_changed,),
    ast.Tuple: (order_changed,),
    ast.List: (order_changed,),
    ast.Assign: (value_changed,),
    ast.If: (condition_changed,),
    ast.IfExp: (condition_changed,),
}


# What a case does


class _TooLong(BaseException):
    """A changed version goes on for much longer than the right one."""


def run_within(seconds: float, run: Callable[[], Any]) -> None:
    """Run a case on a changed version, which is stopped where it takes too long.

    Its loops may never end, or a list outgrow the memory.
    """
    end = time.process_time() + seconds

    def trace(frame: Any, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != CHANGED:
            return None
        if time.process_time() > end:
            raise _TooLong
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with contextlib.suppress(_TooLong):
            run()
    finally:
        sys.settrace(before)
