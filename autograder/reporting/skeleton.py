"""The skeleton of a mistake: a wrong answer in the form that the bank has.

The bank runs in the process that decides marks, so a skeleton is text for a reader.
Anything in it that a formula does not need is named in its first lines, and its hint is
empty: the bank refuses a mistake without one.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.errors import SubmissionFault
from autograder.exercise import Topic
from autograder.files import printable
from autograder.parsing import parse
from autograder.reporting.examples import bare
from autograder.reporting.unusual import run_at_import, unusual

MAX_LINE = 300  # characters of what a report says
MOST = 12  # cases that are listed, and things to look at
_WIDTH = 86  # of a comment, without its sign
_DEFINITIONS = (ast.FunctionDef, ast.ClassDef)
_IMPORTS = (ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class WrongAnswer:
    """A wrong answer with no known cause.

    Attributes:
        topic: the exercises of the chapter.
        exercise: which one it answers.
        source: all that the student wrote for it.
        given: the source of the cells that came with the notebook.
        report: what grading said of the exercise.
    """

    topic: Topic
    exercise: str
    source: str
    given: str
    report: Mapping[str, Any]


def skeleton(wrong: WrongAnswer, name: str, taken: set[str]) -> str:
    """The text of a file with a mistake that waits for its hint.

    Args:
        wrong: the answer.
        name: of the mistake.
        taken: names that the bank of the chapter has.

    Raises:
        SubmissionFault: the answer holds no definition, or it cannot be shown.
        SyntaxError: it is not Python.
    """
    body = parse(wrong.source).body
    own = [n for n in body if getattr(n, "name", None) == wrong.exercise]
    if not own or not isinstance(own[-1], _DEFINITIONS):
        raise SubmissionFault(f"it has no definition of {wrong.exercise}")
    others = [n for n in body if n not in own]
    *helpers, answer = map(
        bare, _with_helpers(own[-1], [*parse(wrong.given).body, *others])
    )
    imports = [node for node in helpers if isinstance(node, _IMPORTS)]
    helpers = [node for node in helpers if node not in imports]
    free = set().union(*map(_free_names, (answer, *helpers)))
    answers = sorted(free & wrong.topic.exercises.keys() - {wrong.exercise})
    renamed = {other: f"right.{other}" for other in answers}
    rename = _Renamed({**renamed, wrong.exercise: name})
    answer, *helpers = (rename.visit(node) for node in (answer, *helpers))
    used = {"mistake", name, *(["right"] if answers else [])}
    _require_free({*used, wrong.exercise}, [*imports, *helpers])
    _require_free(used, [answer])
    noted = list(unusual(imports, [*helpers, answer]))
    answer.name = name
    mark = ast.Call(ast.Name("mistake"), [ast.Name(wrong.exercise)], [])
    answer.decorator_list.insert(0, mark)
    answer.body.insert(0, ast.Expr(ast.Constant("")))
    nodes = [ast.fix_missing_locations(node) for node in (*helpers, answer)]
    chapter = wrong.topic.name
    lines = [
        *(ast.unparse(node) for node in imports),
        "from autograder.exercise import mistake",
        f"from autograder.exercises.{chapter} import {wrong.exercise}",
        *([f"from solutions import {chapter} as right"] if answers else []),
    ]
    clashes = {getattr(node, "name", "") for node in helpers} & taken
    comments = _comments(wrong, answers, sorted(clashes), noted)
    code = "\n\n\n".join(["\n".join(dict.fromkeys(lines)), *map(ast.unparse, nodes)])
    return "\n".join([*comments, "", _shown(code), ""])


def _with_helpers(answer: ast.stmt, others: Sequence[ast.stmt]) -> list[ast.stmt]:
    """What an answer uses of definitions, constants and imports, and then itself.

    What only runs, such as a call that tries the answer, is left out.
    """
    binding: dict[str, dict[str, ast.stmt]] = {}
    for node in others:
        if isinstance(node, _IMPORTS):
            names = [a.asname or a.name.partition(".")[0] for a in node.names]
        elif isinstance(node, _DEFINITIONS):
            names = [node.name]
        elif isinstance(node, ast.Assign):
            names = [t.id for t in node.targets if isinstance(t, ast.Name)]
        else:
            continue
        for bound in names:  # a cell may be there twice
            binding.setdefault(bound, {})[ast.dump(node)] = node
    found: dict[str, ast.stmt] = {}

    def add(node: ast.stmt) -> None:  # after what it uses
        for used in sorted(_free_names(node) & binding.keys()):
            for key, helper in binding.pop(used).items():
                if key not in found:
                    add(helper)
        found[ast.dump(node)] = node

    add(answer)
    return list(found.values())


def _free_names(node: ast.AST) -> set[str]:
    """The names that a statement reads and does not bind itself."""
    inner = list(ast.walk(node))
    names = [n for n in inner if isinstance(n, ast.Name)]
    bound = {n.id for n in names if not isinstance(n.ctx, ast.Load)}
    bound |= {n.arg for n in inner if isinstance(n, ast.arg)}
    return {n.id for n in names} - bound


def _require_free(names: set[str], nodes: Sequence[ast.stmt]) -> None:
    """Make sure that no statement binds a name that the file needs for itself.

    Such a ``mistake``, say, would be called as soon as the file is imported.

    Raises:
        SubmissionFault: one does.
    """
    bound: set[str] = set()
    for part in (part for node in nodes for part in run_at_import(node)):
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            bound.add(part.id)
        elif isinstance(part, ast.alias):
            bound.add(part.asname or part.name.partition(".")[0])
        else:
            bound.add(getattr(part, "name", None) or "")
    for inner in (inner for node in nodes for inner in ast.walk(node)):
        bound.update(inner.names if isinstance(inner, ast.Global) else ())
    if clashes := sorted(bound & names):
        raise SubmissionFault(f"it binds the name {clashes[0]}, which the file needs")


class _Renamed(ast.NodeTransformer):
    """Replaces names that are read, where nothing in a definition binds them."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._free: set[str] | None = None

    def visit(self, node: ast.AST) -> ast.AST:
        if self._free is not None:
            return super().visit(node)
        self._free = _free_names(node)
        try:
            return super().visit(node)
        finally:
            self._free = None

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self._names and node.id in (self._free or ()):
            return ast.parse(self._names[node.id], mode="eval").body
        return node


def _comments(
    wrong: WrongAnswer, answers: list[str], clashes: list[str], noted: list[str]
) -> list[str]:
    """What the instructor has to know and to do."""
    lines = [
        f"The skeleton of a mistake of {wrong.exercise}, from a wrong answer. The bank "
        "runs in the process that decides marks, so read every line before you move "
        f"this into solutions/mistakes/{wrong.topic.name}.py. Then",
        "* write the wrong part in your own words, as short as it can be: this code "
        "belongs to its author, whom a name in it may give away;",
        "* give the mistake a name that says what goes wrong;",
        "* write its hint as the docstring: what the code did, what it should have "
        "done, and why that matters, without giving the line away. The bank cannot be "
        "loaded while a hint is missing;",
        "* call `python -m pytest tests/autograder/test_exercises.py -k "
        f"{wrong.exercise}`.",
    ]
    if answers:
        lines.append(
            f"It uses {', '.join(answers)}, here the reference's: the student's own "
            "may be the part that is wrong."
        )
    if clashes:
        lines.append(f"The bank has these names already: {', '.join(clashes)}.")
    if noted:
        noted = [one_line(text) for text in dict.fromkeys(noted)]
        more = "; and more" if len(noted) > MOST else ""
        listed = "; ".join(noted[:MOST])
        lines.append(f"Unusual for a formula, look here first: {listed}{more}.")
    told = one_line(wrong.report["message"])
    lines.append(f"What was told: {told}" if told else "No cause was told.")
    failed = [case for case in wrong.report["cases"] if not case["passed"]]
    lines.append("The cases that fail:")
    for case in failed[:MOST]:
        said = one_line(case["message"])
        lines.append(f"* “{one_line(case['title'])}”{': ' if said else ''}{said}")
    if len(failed) > MOST:
        lines.append(f"* and {len(failed) - MOST} more")
    return [
        f"# {part}"
        for line in lines
        for part in textwrap.wrap(
            line, _WIDTH, subsequent_indent="  " if line.startswith("*") else ""
        )
    ]


def one_line(text: Any) -> str:
    """A text as one line of moderate length that does nothing to a terminal."""
    return printable(" ".join(str(text).split()))[:MAX_LINE]


def _shown(code: str) -> str:
    """Code in which every character can be seen, and which means what it meant.

    Raises:
        SubmissionFault: it cannot be written so.
    """
    shown = "\n".join(map(printable, code.split("\n")))
    try:
        same = ast.dump(ast.parse(shown)) == ast.dump(ast.parse(code))
    except SyntaxError:
        same = False
    if not same:
        raise SubmissionFault("it holds characters that cannot be shown")
    return shown
