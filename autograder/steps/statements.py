"""Whole statements that are left out, rounds of a loop, values from before a step."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence

from autograder.steps.words import LEFT_OUT, called, left_out, parts_of

Replaced = tuple[str, dict[int, ast.AST]]
STEP = "one step is left out"
OLD = "value_before"  # a variable that no definition has


def dropped(statement: ast.stmt) -> Iterator[Replaced]:
    """A statement that changes what is there already is left out."""
    if isinstance(statement, ast.AugAssign) or _renews(statement):
        yield _without(statement), {id(statement): ast.Pass()}
    if isinstance(statement, ast.Break):
        yield "a loop does not end early", {id(statement): ast.Pass()}
    if isinstance(statement, ast.If) and not statement.orelse:
        yield "the body of an `if` is never run", {id(statement): ast.Pass()}


def _without(statement: ast.stmt) -> str:
    """That a statement is left out, by the name of what it applies or calls."""
    value = statement.value
    if isinstance(statement, ast.AugAssign):
        kind = type(statement.op)
        union = kind is ast.BitOr  # of dictionaries, perhaps, and of no conditions
        return STEP if union or kind not in LEFT_OUT else left_out(kind, value)
    if isinstance(value, ast.BinOp) and type(value.op) in LEFT_OUT:
        (target,) = statement.targets
        if isinstance(value.left, ast.Name) and value.left.id == target.id:
            return left_out(type(value.op), value.right)
    for node in ast.walk(value):
        if isinstance(node, ast.Call):
            return f"the step with `{called(node)}` is left out"
    return STEP


def _renews(statement: ast.stmt) -> bool:
    """Whether a variable is set from its own value, or an object is changed."""
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Call)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    return isinstance(target, ast.Name) and target.id in _names(statement.value)


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def loops(statement: ast.stmt) -> Iterator[Replaced]:
    """Rounds of a loop are left out, or come in another order."""
    if not isinstance(statement, ast.For):
        return
    rounds = ast.Call(ast.Name("list", ast.Load()), [statement.iter], [])
    for says, piece in (
        ("a loop stops after its first round", ast.Slice(upper=ast.Constant(1))),
        ("the last round of a loop is left out", ast.Slice(upper=ast.Constant(-1))),
        ("the first round of a loop is left out", ast.Slice(lower=ast.Constant(1))),
        ("a loop runs in the opposite order", ast.Slice(step=ast.Constant(-1))),
    ):
        other = ast.Subscript(rounds, piece, ast.Load())
        yield says, {id(statement.iter): other}
    first = ast.Subscript(rounds, ast.Slice(upper=ast.Constant(1)), ast.Load())
    count = ast.Call(ast.Name("len", ast.Load()), [rounds], [])
    yield (
        "every round of a loop takes the first one",
        {id(statement.iter): ast.BinOp(first, ast.Mult(), count)},
    )
    # Nothing is done at all; a loop that makes what follows from it fails then.
    nothing = ast.List([], ast.Load())
    yield "a loop does nothing", {id(statement.iter): nothing}


def added_again(function: ast.FunctionDef) -> Iterator[Replaced]:
    """A variable that a call renews gets its old value added."""
    for statement in _settings(function):
        name = statement.targets[0].id
        if _renews(statement) and isinstance(statement.value, ast.Call):
            total = ast.BinOp(statement.value, ast.Add(), ast.Name(name, ast.Load()))
            yield (
                "the input of a step is added to its result once too often",
                {id(statement.value): total},
            )


def exchanged_parts(function: ast.FunctionDef) -> Iterator[Replaced]:
    """Parts that are told apart by a number alone: one for another, or exchanged."""
    uses = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Load)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    ]
    names = sorted({node.attr for node in uses})
    for one, other in itertools.combinations(names, 2):
        if one.rstrip("0123456789") != other.rstrip("0123456789"):
            continue
        for wrong, right in ((one, other), (other, one)):
            for node in uses:
                if node.attr == right:
                    yield (
                        f"`{wrong}` is used in one place where `{right}` belongs",
                        {id(node): _part(wrong)},
                    )
        swap = {one: other, other: one}
        yield (
            f"`{one}` and `{other}` are swapped",
            {id(n): _part(swap[n.attr]) for n in uses if n.attr in swap},
        )


def _part(name: str) -> ast.Attribute:
    return ast.Attribute(ast.Name("self", ast.Load()), name, ast.Load())


def used_again(function: ast.FunctionDef) -> Iterator[Replaced]:
    """A part that is applied to one thing is applied to another one as well."""
    parts = {
        call.func.attr: call.func
        for call in ast.walk(function)
        if isinstance(call, ast.Call)
        and len(call.args) == 1
        and parts_of(call)[:1]
        and isinstance(call.func, ast.Attribute)
    }
    for statement in _settings(function):
        for name, part in parts.items():
            if isinstance(statement.value, ast.Call | ast.BinOp):
                yield (
                    f"`{name}` is applied in one more place",
                    {id(statement.value): ast.Call(part, [statement.value], [])},
                )


def _settings(function: ast.FunctionDef) -> list[ast.Assign]:
    """All statements that set one variable."""
    return [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and isinstance(node.targets[0], ast.Name)
    ]


def earlier_values(function: ast.FunctionDef) -> Iterator[Replaced]:
    """After a variable got a new value, its old one is used in one place."""
    for body in _bodies(function):
        for number, statement in enumerate(body):
            if _renews(statement) and isinstance(statement, ast.Assign):
                yield from _with_old_value(statement, body[number + 1 :])


def _bodies(node: ast.AST) -> Iterator[Sequence[ast.stmt]]:
    for inner in ast.walk(node):
        for name in ("body", "orelse"):
            body = getattr(inner, name, None)
            if isinstance(body, list):
                yield body


def _with_old_value(
    statement: ast.Assign, following: Sequence[ast.stmt]
) -> Iterator[Replaced]:
    name = statement.targets[0].id
    keep = ast.Assign([ast.Name(OLD, ast.Store())], ast.Name(name, ast.Load()))
    both = ast.If(ast.Constant(True), [keep, statement], [])
    parts = " and ".join(f"`{part}`" for part in parts_of(statement.value))
    step = f"the step with {parts}" if parts else "a step"
    for later in following:
        for load in _loads(name, [later]):
            yield (
                f"in one place, the value from before {step} is used where its result "
                "belongs",
                {id(statement): both, id(load): ast.Name(OLD, ast.Load())},
            )
        if isinstance(later, ast.Assign) and name in _names(later.targets[0]):
            return


def inputs_of_steps(function: ast.FunctionDef) -> Iterator[Replaced]:
    """An argument is used in one place instead of a value computed from it."""
    arguments = {a.arg for a in function.args.args} - {"self"}
    settings = _settings(function)
    for body in _bodies(function):
        for number, statement in enumerate(body):
            if statement not in settings or statement.targets[0].id in arguments:
                continue
            name = statement.targets[0].id
            for source in sorted(_names(statement.value) & arguments):
                for load in _loads(name, body[number + 1 :]):
                    yield (
                        f"in one place, `{source}` itself is used instead of the value "
                        "computed from it",
                        {id(load): ast.Name(source, ast.Load())},
                    )


def _loads(name: str, statements: Sequence[ast.stmt]) -> list[ast.Name]:
    return [
        node
        for statement in statements
        for node in ast.walk(statement)
        if isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Load)
    ]
