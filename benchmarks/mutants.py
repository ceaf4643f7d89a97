"""What is said of every small change to the references: the measure of explanations.

Each reference is changed in one place, as a slip would change it: an operator, a
constant, an axis, an argument, a condition, a statement, a function of the same family.
What answers all cases as the reference does is a survivor: it is equivalent, or it
needs a case. The rest must lose points, and should be told why. Types and the texts of
errors are left as they are.

    python -m benchmarks.mutants [CHAPTER ...] [--verbose] [--every N] [--jobs N]
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import inspect
import linecache
import multiprocessing
import resource
import signal
import time
import types
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from autograder.answers import Answer, answer, decode
from autograder.break_exercise import BreakExercise
from autograder.exercise import Exercise, load_topic, topic_names
from autograder.expected import expect, public_seeds
from autograder.judge import judge
from autograder.processors import processors
from benchmarks.environment import environment

SECONDS = 3  # of the processor for all cases of a mutant; what takes more never ends
MEMORY = 6 << 30
KINDS = ("survivor", "mistake", "edit", "error", "nothing")

OPERATORS = {
    ast.Add: [ast.Sub],
    ast.Sub: [ast.Add],
    ast.Mult: [ast.Div],
    ast.Div: [ast.Mult],
    ast.FloorDiv: [ast.Mod],
    ast.Mod: [ast.FloorDiv],
    ast.Pow: [ast.Mult],
    ast.MatMult: [ast.Mult],
    ast.BitAnd: [ast.BitOr],
    ast.BitOr: [ast.BitAnd],
    ast.Lt: [ast.LtE, ast.Gt],
    ast.LtE: [ast.Lt, ast.GtE],
    ast.Gt: [ast.GtE, ast.Lt],
    ast.GtE: [ast.Gt, ast.LtE],
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
    ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is],
    ast.And: [ast.Or],
    ast.Or: [ast.And],
}
SIBLINGS = [
    ("sum", "mean", "prod"),
    ("max", "min", "mean"),
    ("amax", "amin"),
    ("argmax", "argmin"),
    ("zeros", "ones"),
    ("zeros_like", "ones_like"),
    ("tril", "triu"),
    ("sin", "cos"),
    ("exp", "exp2"),
    ("log", "log2"),
    ("sqrt", "square"),
    ("any", "all"),
    ("maximum", "minimum"),
    ("concatenate", "stack"),
    ("cat", "stack"),
    ("cumsum", "cumprod"),
    ("relu", "gelu", "tanh"),
    ("std", "var"),
    ("repeat", "tile"),
    ("softmax", "log_softmax"),
    ("reshape", "transpose"),
    ("masked_fill", "mul"),
]


@dataclass(frozen=True)
class Mutant:
    """A changed module: where and how, and its tree."""

    line: int
    change: str
    tree: ast.Module


def mutants(source: str, name: str) -> Iterator[Mutant]:
    """All changes to one definition of a module."""
    tree = ast.parse(source)
    (definition,) = [n for n in tree.body if getattr(n, "name", None) == name]
    left_alone = {
        inner
        for node in ast.walk(definition)
        for part in _without_effect(node)
        for inner in ast.walk(part)
    }
    for number, node in enumerate(ast.walk(definition)):
        if node in left_alone:
            continue
        for change in range(len(list(_changes(node)))):
            changed = copy.deepcopy(tree)
            (place,) = [n for n in changed.body if getattr(n, "name", None) == name]
            target = next(n for i, n in enumerate(ast.walk(place)) if i == number)
            before = ast.unparse(target)
            list(_changes(target))[change]()
            after = ast.unparse(ast.fix_missing_locations(target))
            if before != after:
                told = f"{_brief(before, after)} -> {_brief(after, before)}"
                yield Mutant(getattr(node, "lineno", 0), told, changed)


def _without_effect(node: ast.AST) -> list[ast.AST]:
    """What says something to a reader alone: types, and the text of an error."""
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        return list(node.exc.args)
    types = (getattr(node, name, None) for name in ("annotation", "returns"))
    return [part for part in types if part is not None]


def _brief(text: str, other: str) -> str:
    """The lines of a text that the other has not, shortened."""
    theirs = other.splitlines()
    lines = [line.strip() for line in text.splitlines() if line not in theirs]
    return " / ".join(lines)[:90]


def _changes(node: ast.AST) -> Iterator[Any]:
    """Functions each of which makes one change to a node, in place."""
    if isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign):
        for other in OPERATORS.get(type(node.op), ()):
            yield lambda other=other: setattr(node, "op", other())
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult | ast.Sub):
        yield lambda: node.__dict__.update(left=node.right, right=node.left)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in OPERATORS.get(type(node.ops[0]), ()):
            yield lambda other=other: setattr(node, "ops", [other()])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Invert):
        yield lambda: setattr(node, "op", ast.UAdd())
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        yield lambda: setattr(node, "test", ast.UnaryOp(ast.Not(), node.test))
    if isinstance(node, ast.Constant):
        yield from _other_constants(node)
    if isinstance(node, ast.Call):
        yield from _other_calls(node)
    if isinstance(node, ast.Attribute):
        for family in SIBLINGS:
            for other in family:
                if node.attr in family and other != node.attr:
                    yield lambda other=other: setattr(node, "attr", other)
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
        yield lambda: node.value.elts.reverse()
    for field in ("body", "orelse"):
        block = getattr(node, field, None)
        if isinstance(block, list):
            for index, statement in enumerate(block):
                if _can_be_dropped(statement):
                    yield lambda block=block, i=index: block.__setitem__(i, ast.Pass())


def _can_be_dropped(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        return not isinstance(statement.value, ast.Constant)  # a docstring
    return not isinstance(
        statement, ast.Pass | ast.FunctionDef | ast.ClassDef | ast.Return
    )


def _other_constants(node: ast.Constant) -> Iterator[Any]:
    value = node.value
    if isinstance(value, bool):
        yield lambda: setattr(node, "value", not value)
    elif isinstance(value, int):
        for other in {value + 1, value - 1, 0} - {value}:
            yield lambda other=other: setattr(node, "value", other)
    elif isinstance(value, float):
        for other in {value * 2, 0.0, -value, 1.0} - {value}:
            yield lambda other=other: setattr(node, "value", other)


def _other_calls(node: ast.Call) -> Iterator[Any]:
    for index in range(len(node.args) - 1):
        pair = slice(index, index + 2)
        yield lambda p=pair: node.args.__setitem__(p, node.args[p][::-1])
    for index in range(len(node.keywords)):
        yield lambda i=index: node.keywords.pop(i)


class _TooLong(BaseException):
    """A mutant that does not come to an end."""


def _answers(exercise: Exercise, module: types.ModuleType, seeds: list[int]) -> list:
    implementation = getattr(module, exercise.name)
    return [
        decode(answer(case, implementation, seed))
        for case, seed in zip(exercise.cases, seeds, strict=True)
    ]


def _run(exercise: Exercise, origin: types.ModuleType, mutant: Mutant) -> list[Answer]:
    """What a mutant answers; that it does not end is an error in every case."""

    def stop(*_: object) -> None:
        raise _TooLong

    # The file has a name of its own: what stands in ours is not shown as a student's.
    source = ast.unparse(mutant.tree)
    lines = source.splitlines(keepends=True)
    linecache.cache["/mutant.py"] = len(source), None, lines, "/mutant.py"
    module = types.ModuleType("mutant")
    module.__file__ = origin.__file__
    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS, 0.05)
    try:
        exec(compile(source, "/mutant.py", "exec"), module.__dict__)
        return _answers(exercise, module, public_seeds(exercise))
    except BaseException as error:  # of the module itself, or out of time
        failed = Answer(raised="RuntimeError", detail=type(error).__name__)
        return [failed] * len(exercise.cases)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def examine(
    chapter: str, name: str, every: int
) -> list[tuple[str, Mutant, str, float]]:
    """Kind, mutant, what is said of it and the seconds that took, for an exercise.

    The seconds are those of the processor.
    """
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    topic = load_topic(chapter)
    exercise = topic.exercises[name]
    expected = expect(topic, exercise, public_seeds(exercise))
    origin = importlib.import_module(f"solutions.{chapter}")
    found = []
    source = inspect.getsource(origin)
    lines = ["", *source.splitlines()]
    for number, mutant in enumerate(mutants(source, name)):
        if number % every:
            continue
        given = _run(exercise, origin, mutant)
        if any(one.detail == "_TooLong" for one in given):
            continue  # the grader stops it: what is said then is another matter
        start = time.process_time()  # others may use the machine as well
        report = judge(exercise, given, expected)
        seconds = time.process_time() - start
        kind = "nothing"
        if report.score == report.max_score:
            kind = "survivor"
        elif report.reason.is_told:
            kind = str(report.reason)
            kind = kind if kind in KINDS else "error"
        told = f"{report.mistake or ''}: {report.message or lines[mutant.line]}"
        if kind == "nothing":
            told = "; ".join(case.message for case in report.cases if not case.passed)
        found.append((kind, Mutant(mutant.line, mutant.change, None), told, seconds))
    return found


def main() -> None:
    """Print a line for each chapter, and one for all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapters", nargs="*", default=topic_names())
    parser.add_argument("--verbose", action="store_true", help="print every mutant")
    parser.add_argument("--every", type=int, default=1, help="take one mutant in N")
    parser.add_argument(
        "--jobs", type=int, default=processors(), help="exercises at once"
    )
    arguments = parser.parse_args()
    print(environment(), end="\n\n")
    print(f"{'chapter':22}{'mutants':>8}{'survive':>8}", end="")
    print(
        f"{'mistake':>9}{'edit':>9}{'error':>9}{'nothing':>9}{'median':>10}{'longest':>10}"
    )
    total: Counter[str] = Counter()
    times: list[float] = []
    for chapter in arguments.chapters:
        kinds: Counter[str] = Counter()
        seconds = []
        names = [
            name
            for name, exercise in load_topic(chapter).exercises.items()
            if not isinstance(exercise, BreakExercise)  # many tests are as good
        ]
        # A process for each exercise: what a mutant leaves behind ends with it.
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["torch", "autograder.judge"])
        with context.Pool(arguments.jobs, maxtasksperchild=1) as pool:
            tasks = [(chapter, name, arguments.every) for name in names]
            answers = pool.starmap(examine, tasks, chunksize=1)
        for name, found in zip(names, answers, strict=True):
            for kind, mutant, told, spent in found:
                kinds[kind] += 1
                if kind != "survivor":
                    seconds.append(spent)
                if arguments.verbose:
                    print(f"{kind:8} {name}:{mutant.line}: {mutant.change}  | {told}")
        total += kinds
        times += seconds
        _line(chapter, kinds, seconds)
    _line("all", total, times)


def _line(name: str, kinds: Counter[str], seconds: list[float]) -> None:
    killed = kinds.total() - kinds["survivor"]
    if not killed:
        return
    shares = "".join(f"{kinds[kind] / killed:9.1%}" for kind in KINDS[1:])
    times = sorted(seconds)
    print(
        f"{name:22}{kinds.total():8}{kinds['survivor']:8}{shares}"
        f"{times[len(times) // 2]:8.3f} s{times[-1]:8.3f} s",
        flush=True,
    )


if __name__ == "__main__":
    main()
