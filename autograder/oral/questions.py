"""Questions for a talk with each student: about their own code, lines and mistakes.

Nothing that a student wrote is run. What a right function returns is worked out with
the reference, and what was wrong is what the report says. The questions for a student
stay as they are while the submission and the report do.
"""

from __future__ import annotations

import ast
import inspect
import random
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import nbformat

from autograder.errors import GraderFault, SubmissionFault
from autograder.exercise import Topic, load_topic
from autograder.files import Unusable, printable
from autograder.magics import lines_in, parsed
from autograder.marks.reports import ClassReport
from autograder.notebooks import grade_id, parse_notebook
from autograder.oral.features import features_of
from autograder.oral.results import result_question
from autograder.release.course import master_text
from autograder.submissions.cells import as_handed_in
from autograder.submissions.reading_limit import reading_limit
from autograder.submissions.submitted import read
from autograder.submissions.written import written_in

ASKED = 3  # questions for each student
MAX_CODE = 20_000  # characters of an answer that is asked about
MOST_LINES = 25  # of a definition that is shown whole
AROUND = 8  # lines that are shown before and after the one in question, of longer ones
SHOWN_LINE = 160  # characters
REPLACED = "the report is not on what is handed in now; grade it first"


@dataclass(frozen=True)
class Question:
    """One question, with all that student and examiner have to see.

    Attributes:
        exercise: what it is about.
        kind: ``mistake``, ``result``, or the name of a feature.
        line: number of the line in the student's cell.
        token: what that line has.
        code: numbers and text of the lines around it.
        ask: the question.
        answer: for the examiner.
        worth: what the report says about the exercise.
        telling: whether much can be learned from it.
    """

    exercise: str
    kind: str
    line: int
    token: str
    code: list[tuple[int, str]]
    ask: str
    answer: str
    worth: str
    telling: bool = True


@dataclass(frozen=True)
class Sheet:
    """The questions for a student; why there are fewer, if there are."""

    student: str
    questions: list[Question] = field(default_factory=list)
    note: str = ""


@dataclass(frozen=True)
class Answer:
    """What a student wrote for an exercise, with its report."""

    lines: list[str]
    definition: ast.stmt
    report: Mapping[str, Any]

    @property
    def failed(self) -> list[Mapping[str, Any]]:
        """The cases that it did not pass, as the report has them."""
        return [case for case in self.report["cases"] if not case["passed"]]


def sheets(course: Path, report: ClassReport) -> list[Sheet]:
    """A sheet for everybody with a report on a chapter.

    Args:
        course: folder of the course.
        report: of the chapter.

    Raises:
        CourseError: the course has no release of the chapter.
    """
    chapter = report.chapter
    master = nbformat.reads(master_text(course, chapter), as_version=4)
    topic = load_topic(chapter)
    results = {name: result_question(chapter, name) for name in topic.exercises}
    references = {name: reference_code(topic, name) for name in topic.exercises}
    return [
        _sheet(course, chapter, found, master, results, references)
        for found in report.reports
    ]


def _sheet(
    course: Path,
    chapter: str,
    report: Mapping[str, Any],
    master: nbformat.NotebookNode,
    results: Mapping[str, tuple[str, str] | None],
    references: Mapping[str, str],
) -> Sheet:
    student = report["student"]
    try:
        submission = read(course / "submitted", student, chapter)
        told = submission.is_told_by(report)
        if told and report["refused"]:
            return Sheet(student, note=f"not examined: {report['refused']}")
        if submission.unusable:
            raise Unusable(submission.unusable)
        if not told:
            return Sheet(student, note=REPLACED)
        with reading_limit():
            data = written_in(parse_notebook(submission.content), submission.modules)
            names = [entry["name"] for entry in report["exercises"]]
            handed_in = as_handed_in(master, data, names)
            written = {name: handed_in.answer(name) for name in names}
            answers = _answers(master, written, report)
            candidates = possible_questions(answers, results, references)
    except (Unusable, SubmissionFault, GraderFault) as error:
        return Sheet(student, note=f"the submission cannot be read: {error}")
    except Exception as error:  # in unforeseen code; go on with the rest of the class
        why = printable(f"{type(error).__name__}: {error}"[:SHOWN_LINE])
        return Sheet(student, note=f"no questions could be found: {why}")
    chosen = _choose(candidates, random.Random(f"{chapter}/{student}"))
    few = len(chosen) < ASKED
    note = "there is little code to ask about" if few else ""
    return Sheet(student, chosen, note)


def _answers(
    master: nbformat.NotebookNode, written: Mapping[str, str], report: Mapping[str, Any]
) -> dict[str, Answer]:
    """The answers that are code, differ from the stub and can be read, by exercise."""
    stubs = {grade_id(cell): cell.source for cell in master.cells}
    found = {}
    for entry in report["exercises"]:
        name = entry["name"]
        source = written.get(name, "")
        if source.strip() in ("", stubs.get(name, "").strip()):
            continue
        tree = parsed(source) if len(source) <= MAX_CODE else None
        named = [n for n in getattr(tree, "body", []) if getattr(n, "name", "") == name]
        if named:
            found[name] = Answer(lines_in(source), named[-1], entry)
    return found


def possible_questions(
    answers: Mapping[str, Answer],
    results: Mapping[str, tuple[str, str] | None],
    references: Mapping[str, str],
) -> list[Question]:
    """All questions that could be asked about the answers of one student.

    Args:
        answers: by the names of exercises.
        results: calls and what they return, by the names of exercises.
        references: the code of the references, as ``reference_code`` has it.
    """
    found = []
    wrong = {name for name, answer in answers.items() if answer.failed}
    for name, answer in answers.items():
        shown = [line[:SHOWN_LINE] for line in answer.lines]
        for kind in features_of(answer.definition, shown):
            ask = f"Line {kind.line}. {kind.ask}"
            about = (kind.name, kind.line, kind.token, ask, kind.answer)
            found.append(replace(_question(answer, *about), telling=kind.telling))
        line, token, result = answer.definition.lineno, name, results.get(name)
        if answer.failed:
            if not _is_innocent(answer, references.get(name, ""), wrong - {name}):
                found.append(_question(answer, "mistake", line, token, *_why(answer)))
        elif result is not None:
            found.append(_question(answer, "result", line, token, *result))
    return found


def _is_innocent(answer: Answer, reference: str, wrong: set[str]) -> bool:
    """Whether the mistake may lie outside the lines of a wrong answer.

    It is the reference's own code, or it uses another exercise that is wrong.
    """
    if reference and _normalised(answer.definition) == reference:
        return True
    used = {n.id for n in ast.walk(answer.definition) if isinstance(n, ast.Name)}
    return bool(used & wrong)


def _normalised(definition: ast.stmt) -> str:
    """What a definition does, without its docstring, types and layout."""
    arguments = getattr(definition, "args", None)
    body = [n for n in definition.body if not _is_text(n)]
    given = [] if arguments is None else [*arguments.defaults, *arguments.kw_defaults]
    names = [] if arguments is None else ast.walk(arguments)
    said = [n.arg for n in names if isinstance(n, ast.arg)]
    for part in (n for n in [*given, *body] if n is not None):
        for node in ast.walk(part):  # no recursion: students may nest deeply
            plain = [
                _in_short(value)
                for _, value in ast.iter_fields(node)
                if not isinstance(value, ast.AST)
            ]
            said.append(f"{type(node).__name__} {plain!r}")
    return "\n".join(said)


def _in_short(value: Any) -> Any:
    """What a node holds besides nodes; long numbers have no decimal digits."""
    if isinstance(value, list):
        return len(value)
    return hex(value) if type(value) is int else value


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def reference_code(topic: Topic, name: str) -> str:
    """The reference as ``_normalised`` has it; empty if it has no source."""
    try:
        source = inspect.getsource(topic.reference(name))
    except (OSError, TypeError):
        return ""
    return _normalised(ast.parse(textwrap.dedent(source)).body[0])


def _why(answer: Answer) -> tuple[str, str]:
    """What to ask about a wrong answer, with what the report says about it."""
    case = answer.failed[0]
    ask = (
        f"The attempt that was graded did not pass “{case['title']}”. Which of your "
        "lines is to blame, and why was it wrong? How do you put it right?"
    )
    told = answer.report["message"] or case["message"]
    return ask, told or "The report names no cause; the feedback shows the values."


def _question(
    answer: Answer, kind: str, line: int, token: str, ask: str, told: str
) -> Question:
    code = [(n, answer.lines[n - 1][:SHOWN_LINE]) for n in excerpt(answer, line)]
    worth = f"{answer.report['score']:g} of {answer.report['max_score']:g} points"
    return Question(answer.report["name"], kind, line, token, code, ask, told, worth)


def excerpt(answer: Answer, line: int) -> list[int]:
    """The lines to show: signature, the one in question, and what is returned.

    A definition is shown without its docstrings; of a long one, only what is near the
    line, with the signature and the return statements of the function around it.
    """
    last = min(answer.definition.end_lineno or line, len(answer.lines))
    nodes = list(ast.walk(answer.definition))
    texts = {n for node in nodes for n in _lines_of_text(node, answer.lines)} - {line}
    shown = [n for n in range(answer.definition.lineno, last + 1) if n not in texts]
    if len(shown) <= MOST_LINES:
        return shown
    functions = [n for n in nodes if isinstance(n, ast.FunctionDef) and _has(n, line)]
    inner = max(functions, key=lambda n: n.lineno, default=answer.definition)
    signature = range(inner.lineno, inner.body[0].lineno)
    returns = [n for n in ast.walk(inner) if isinstance(n, ast.Return)]
    end = max(returns, key=lambda n: n.lineno, default=None)
    kept = {answer.definition.lineno, *signature[:AROUND]}
    kept |= set(range(line - AROUND, line + AROUND + 1))
    if end is not None:
        kept |= set(range(end.lineno, (end.end_lineno or end.lineno) + 1)[:AROUND])
    return [n for n in shown if n in kept]


def _has(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _lines_of_text(node: ast.AST, lines: list[str]) -> range:
    """The lines of a text that is a statement, and has them for itself."""
    if not _is_text(node):
        return range(0)
    first, last = node.lineno, node.end_lineno or node.lineno
    if last > len(lines):
        return range(0)
    before = lines[first - 1].encode()[: node.col_offset]
    after = lines[last - 1].encode()[node.end_col_offset :]
    return range(0) if before.strip() or after.strip() else range(first, last + 1)


def _choose(candidates: list[Question], chance: random.Random) -> list[Question]:
    """A mistake and a result if there are any, then features, of many exercises."""
    chance.shuffle(candidates)
    chosen: list[Question] = []
    for kinds in (("mistake",), ("result",)):
        chosen += [q for q in candidates if q.kind in kinds][:1]
    features = [q for q in candidates if q.kind not in ("mistake", "result")]
    while features and len(chosen) < ASKED:
        asked = [q.exercise for q in chosen]
        known = {q.kind for q in chosen}
        best = min(
            features,
            key=lambda q: (not q.telling, q.kind in known, asked.count(q.exercise)),
        )
        features.remove(best)
        chosen.append(best)
    return sorted(chosen, key=lambda q: (q.exercise, q.line, q.kind))
