"""Questions for a talk with each student, made by edits of the student's own answers.

An edit changes one line, as a slip would: "if line 3 said this, which cases would
fail?" What a student wrote, and what it becomes, only runs in the sandbox: the answer
on the examiner's page is what grading says of the notebook with that line. About an
answer that was wrong, the question is why, and the answer what the report says.
"""

from __future__ import annotations

import ast
import random
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

from autograder.errors import GraderFault
from autograder.exercise import load_topic
from autograder.extras.similar import Graded
from autograder.files import Unusable, write_atomically
from autograder.grading.examine import examine
from autograder.grading.seeds import draw_seeds, expected_answers
from autograder.magics import lines_in, parsed
from autograder.marks.reports import ClassReport
from autograder.notebooks import grade_id, read_notebook
from autograder.parsing import UNREADABLE
from autograder.release.course import master_text
from autograder.reporting.pages import templates
from autograder.sandbox.bubblewrap import require_bubblewrap
from autograder.sandbox.connection import ForkServers
from autograder.sandbox.limits import Limits

ASKED = 3  # questions for each student
MAX_CODE = 20_000  # characters of an answer that is asked about
SHOWN = 60  # lines of an answer
OTHER_NAMES = {"sum": "mean", "mean": "sum", "max": "min", "amax": "amin"}
OTHER_NAMES |= {"tril": "triu", "triu": "tril", "zeros": "ones", "exp": "exp2"}
OTHER_SIGNS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div}
OTHER_SIGNS |= {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}


@dataclass(frozen=True)
class Edit:
    """A line of an answer with one change.

    Attributes:
        line: its number, from one.
        after: what it says with the change.
        source: the whole answer with it.
    """

    line: int
    after: str
    source: str


@dataclass(frozen=True)
class Question:
    """What is asked about an exercise, with the student's code, and a good answer."""

    exercise: str
    code: str
    ask: str
    answer: str


@dataclass(frozen=True)
class Sheet:
    """The questions for a student; with a note where there are none."""

    student: str
    questions: list[Question]
    note: str = ""


def _swapped(node: ast.AST) -> ast.AST | None:
    """The factors of a matrix product, the other way round."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return ast.BinOp(node.right, node.op, node.left)
    return None


def _undivided(node: ast.AST) -> ast.AST | None:
    """A quotient without its division."""
    divided = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
    return node.left if divided else None


def _unshifted(node: ast.AST) -> ast.AST | None:
    """A difference without what is subtracted."""
    shifted = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)
    return node.left if shifted else None


def _other_sign(node: ast.AST) -> ast.AST | None:
    """Another operator of the same family, of arithmetic or of comparison."""
    if isinstance(node, ast.BinOp) and type(node.op) in OTHER_SIGNS:
        return ast.BinOp(node.left, OTHER_SIGNS[type(node.op)](), node.right)
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OTHER_SIGNS:
        ops = [OTHER_SIGNS[type(node.ops[0])](), *node.ops[1:]]
        return ast.Compare(node.left, ops, node.comparators)
    return None


def _other_axis(node: ast.AST) -> ast.AST | None:
    """The other of the last two axes, and no kept dimension where one was kept."""
    if isinstance(node, ast.keyword) and node.arg in ("axis", "dim"):
        other = ast.Constant(-2 if ast.unparse(node.value) == "-1" else -1)
        return ast.keyword(node.arg, other)
    if isinstance(node, ast.keyword) and node.arg in ("keepdims", "keepdim"):
        return ast.keyword(node.arg, ast.Constant(False))
    return None


def _other_name(node: ast.AST) -> ast.AST | None:
    """Another function of the same family."""
    if isinstance(node, ast.Attribute) and node.attr in OTHER_NAMES:
        return ast.Attribute(node.value, OTHER_NAMES[node.attr])
    return None


def _untransposed(node: ast.AST) -> ast.AST | None:
    """An array in place of its transpose, or a number in place of its root."""
    if isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
        return node.value
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    name = node.func.attr if called else ""
    if name in ("transpose", "swapaxes", "permute") and len(node.args) > 1:
        return node.func.value
    return node.args[0] if name == "sqrt" and node.args else None


OPERATORS: list[Callable[[ast.AST], ast.AST | None]] = [
    *(_swapped, _undivided, _unshifted, _other_sign),
    *(_other_axis, _other_name, _untransposed),
]


def edits(answer: str, name: str, chance: random.Random) -> Iterator[Edit]:
    """All edits of one line each of the definition of a name, in any order."""
    tree = parsed(answer) if len(answer) <= MAX_CODE else None
    lines = lines_in(answer)
    own = [d for d in getattr(tree, "body", []) if getattr(d, "name", None) == name]
    nodes = [node for definition in own for node in ast.walk(definition)]
    found = [(node, new) for node in nodes for make in OPERATORS if (new := make(node))]
    found = [(node, new) for node, new in found if node.lineno == node.end_lineno]
    for node, new in chance.sample(found, len(found)):
        line, text = node.lineno, lines[node.lineno - 1].encode()
        old = text[node.col_offset : node.end_col_offset].decode()
        put = ast.unparse(new)
        put = f"({put})" if isinstance(new, ast.BinOp | ast.Compare) else put
        after = text[: node.col_offset].decode() + put
        after += text[node.end_col_offset :].decode()
        source = "\n".join([*lines[: line - 1], after, *lines[line:]])
        if put != old and parsed(source) is not None:
            yield Edit(line, after.strip(), source)


def sheets(
    course: Path, report: ClassReport, progress: Callable[[Any, int], Any]
) -> list[Sheet]:
    """A sheet for everybody with a report on a chapter; asking takes a sandbox.

    Raises:
        CourseError: the course has no release of the chapter.
        SandboxUnavailable: there is none here.
    """
    require_bubblewrap()
    chapter, graded = report.chapter, Graded(course, report.chapter)
    topic, limits = load_topic(chapter), Limits()
    master = nbformat.reads(master_text(course, chapter), as_version=4)
    expected = expected_answers(topic, draw_seeds(topic, secrets.token_bytes()))
    with ForkServers() as servers:

        def told(data: dict[str, Any], name: str) -> dict[str, Any]:
            done = examine(master, data, topic, expected, limits, servers=servers)
            return next(e for e in done.report["exercises"] if e["name"] == name)

        return [
            _sheet(graded, one, random.Random(f"{chapter}/{one['student']}"), told)
            for one in progress(report.reports, len(report.reports))
        ]


def _sheet(
    graded: Graded,
    report: dict[str, Any],
    chance: random.Random,
    told: Callable[[dict[str, Any], str], dict[str, Any]],
) -> Sheet:
    """Questions about as many exercises as there are, those that were wrong first."""
    student, questions = report["student"], []
    answers = graded.answers_of(student)
    written = [e for e in report["exercises"] if e["name"] in answers]
    written = chance.sample(written, len(written))
    for exercise in sorted(written, key=lambda e: e["score"] == e["max_score"]):
        name, code = exercise["name"], _numbered(answers[exercise["name"]])
        if len(questions) == ASKED:
            break
        if failed := [c for c in exercise["cases"] if not c["passed"]]:
            ask = f"It fails “{failed[0]['title']}”. Which line is to blame, and why?"
            said = exercise["message"] or failed[0]["message"]
            questions.append(Question(name, code, ask, said))
            continue
        try:
            if edit := next(edits(answers[name], name, chance), None):
                data = read_notebook(graded.path(student))
                for cell in data["cells"]:
                    if grade_id(cell) == name:
                        cell["source"] = edit.source
                questions.append(_about(edit, name, code, told(data, name)))
        except (GraderFault, Unusable, *UNREADABLE) as error:
            return Sheet(student, questions, f"no more could be asked: {error}")
    note = "" if questions else "there is no code to ask about"
    return Sheet(student, questions, note)


def _about(edit: Edit, name: str, code: str, report: dict[str, Any]) -> Question:
    """What would become of an answer with an edit."""
    titles = "; ".join(f"“{case['title']}”" for case in report["cases"])
    ask = f"If line {edit.line} were `{edit.after}`: what would come out, and which of "
    ask += f"these cases would still pass? {titles}"
    failed = [c for c in report["cases"] if not c["passed"]]
    answer = "; ".join(f"“{c['title']}” fails: {c['message']}" for c in failed)
    return Question(name, code, ask, f"{answer or 'All pass.'} {report['message']}")


def _numbered(code: str) -> str:
    lines = code.split("\n")[:SHOWN]
    return "\n".join(f"{n:3}  {line}" for n, line in enumerate(lines, 1))


def write_pages(course: Path, chapter: str, found: list[Sheet]) -> dict[str, Path]:
    """Write the questions and, on a page of their own, the answers, to be printed."""
    template = templates(__package__).get_template("oral.html")
    ends = {"questions": "oral", "answers": "oral_answers"}
    paths = {k: course / "reports" / f"{chapter}_{end}.html" for k, end in ends.items()}
    for kind, path in paths.items():
        title = f"{chapter.replace('_', ' ').capitalize()}: {kind}"
        page = template.render(title=title, sheets=found, answers=kind == "answers")
        write_atomically(path, page)
    return paths
