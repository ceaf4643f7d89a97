"""Questions for a talk with each student: about their own code, lines and mistakes.

Nothing that a student wrote is run. What a right function returns is worked out with
the reference, and what was wrong is what the report says. The questions for a student
stay as they are while the submission and the report do.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import nbformat

from autograder.errors import GraderFault, SubmissionFault
from autograder.exercise import load_topic
from autograder.files import Unusable, printable
from autograder.grading.deadline import deadline
from autograder.grading.magics import lines_in, parsed
from autograder.grading.oral_features import features_of
from autograder.grading.oral_results import result_question
from autograder.grading.rebuild import rebuild
from autograder.grading.reports import ClassReport
from autograder.grading.submissions import read
from autograder.grading.written import written_in
from autograder.notebooks import grade_id, parse_notebook
from autograder.release.course import master_text

ASKED = 3  # questions for each student
MAX_CODE = 20_000  # characters of an answer that is asked about
AROUND = 12  # lines that are shown before and after the one in question
SHOWN_LINE = 160  # characters


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
class _Answer:
    """What a student wrote for an exercise, with its report."""

    lines: list[str]
    definition: ast.stmt
    report: Mapping[str, Any]

    @property
    def failed(self) -> list[Mapping[str, Any]]:
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
    results = {
        name: result_question(chapter, name) for name in load_topic(chapter).exercises
    }
    return [_sheet(course, chapter, found, master, results) for found in report.reports]


def _sheet(
    course: Path,
    chapter: str,
    report: Mapping[str, Any],
    master: nbformat.NotebookNode,
    results: Mapping[str, tuple[str, str] | None],
) -> Sheet:
    student = report["student"]
    if report["refused"]:
        return Sheet(student, note=f"not examined: {report['refused']}")
    try:
        submission = read(course / "submitted", student, chapter)
        with deadline():
            data = written_in(parse_notebook(submission.content))
            answers = _answers(master, rebuild(master, data).answers, report)
            candidates = _candidates(answers, results)
    except (Unusable, SubmissionFault, GraderFault) as error:
        return Sheet(student, note=f"the submission cannot be read: {error}")
    except Exception as error:  # in code that nobody thought of; the class goes on
        why = printable(f"{type(error).__name__}: {error}"[:SHOWN_LINE])
        return Sheet(student, note=f"no questions could be found: {why}")
    chosen = _choose(candidates, random.Random(f"{chapter}/{student}"))
    few = len(chosen) < ASKED
    note = "there is little code to ask about" if few else ""
    return Sheet(student, chosen, note)


def _answers(
    master: nbformat.NotebookNode, written: Mapping[str, str], report: Mapping[str, Any]
) -> dict[str, _Answer]:
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
            found[name] = _Answer(lines_in(source), named[-1], entry)
    return found


def _candidates(
    answers: Mapping[str, _Answer], results: Mapping[str, tuple[str, str] | None]
) -> list[Question]:
    """All that could be asked."""
    found = []
    for name, answer in answers.items():
        shown = [line[:SHOWN_LINE] for line in answer.lines]
        for kind in features_of(answer.definition, shown):
            ask = f"Line {kind.line}. {kind.ask}"
            about = (kind.name, kind.line, kind.token, ask, kind.answer)
            found.append(replace(_question(answer, *about), telling=kind.telling))
        line, token, result = answer.definition.lineno, name, results.get(name)
        if answer.failed:
            found.append(_question(answer, "mistake", line, token, *_why(answer)))
        elif result is not None:
            found.append(_question(answer, "result", line, token, *result))
    return found


def _why(answer: _Answer) -> tuple[str, str]:
    """What to ask about a wrong answer, with what the report says about it."""
    case = answer.failed[0]
    ask = (
        f"The attempt that was graded did not pass “{case['title']}”. Which of your "
        "lines is to blame, and why was it wrong? How do you put it right?"
    )
    told = answer.report["message"] or case["message"]
    return ask, told or "The report names no cause; the feedback shows the values."


def _question(
    answer: _Answer, kind: str, line: int, token: str, ask: str, told: str
) -> Question:
    first = max(1, line - AROUND)
    around = answer.lines[first - 1 : line + AROUND]
    code = [(n, text[:SHOWN_LINE]) for n, text in enumerate(around, start=first)]
    worth = f"{answer.report['score']:g} of {answer.report['max_score']:g} points"
    return Question(answer.report["name"], kind, line, token, code, ask, told, worth)


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
