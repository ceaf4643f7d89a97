"""Questions for a talk with each student, made by edits of the student's own answers.

An edit changes one line, as a slip would: "if line 3 said this, which cases would
fail?" What a student wrote, and what it becomes, only runs in the sandbox: the answer
on the examiner's page is what grading says of the notebook with that line. About an
answer that was wrong, the question is why, and the answer what the report says.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

from autograder.errors import GraderFault
from autograder.exercise import load_topic
from autograder.expected import expect_all
from autograder.explain.lines import LineEdit, line_edits
from autograder.extras.similar import Graded
from autograder.files import Unusable, write_atomically
from autograder.grading.examine import examine
from autograder.magics import without_magics
from autograder.marks.reports import ClassReport
from autograder.notebooks import grade_id, read_notebook
from autograder.parsing import UNREADABLE, parse
from autograder.release.course import master_text
from autograder.reporting.pages import templates
from autograder.sandbox.bubblewrap import require_bubblewrap
from autograder.sandbox.connection import ForkServers
from autograder.sandbox.limits import Limits
from autograder.submissions.cells import as_handed_in

ASKED = 3  # questions for each student
MAX_CODE = 5_000  # characters of an answer that is asked about
SHOWN = 60  # lines of an answer


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


def edits(answer: str, name: str, chance: random.Random) -> list[LineEdit]:
    """Edits of one line each of the definition of a name, in any order."""
    if len(answer) > MAX_CODE:
        return []
    source = without_magics(answer)
    try:
        body = parse(source).body
    except UNREADABLE:
        return []
    lines = {
        line
        for node in body
        if getattr(node, "name", None) == name
        for line in range(node.lineno - 1, node.end_lineno)
    }
    found = [edit for edit in line_edits(source) if edit.line in lines]
    return chance.sample(found, len(found))


def sheets(
    course: Path, report: ClassReport, progress: Callable[[Any, int], Any]
) -> list[Sheet]:
    """A sheet for everybody with a report on a chapter; asking takes a sandbox."""
    require_bubblewrap()
    chapter, graded = report.chapter, Graded(course, report.chapter)
    topic, limits = load_topic(chapter), Limits()
    master = nbformat.reads(master_text(course, chapter), as_version=4)
    expected = expect_all(topic)
    with ForkServers() as servers:

        def told(data: dict[str, Any], name: str) -> dict[str, Any]:
            handed_in = as_handed_in(master, data, topic.exercises)
            done = examine(handed_in, topic, expected, limits, servers=servers)
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
            for edit in edits(answers[name], name, chance)[:1]:
                data = read_notebook(graded.path(student))
                for cell in data["cells"]:
                    if grade_id(cell) == name:
                        cell["source"] = edit.source
                questions.append(_about(edit, name, code, told(data, name)))
        except (GraderFault, Unusable, *UNREADABLE) as error:
            return Sheet(student, questions, f"no more could be asked: {error}")
    note = "" if questions else "there is no code to ask about, or too much"
    return Sheet(student, questions, note)


def _about(edit: LineEdit, name: str, code: str, report: dict[str, Any]) -> Question:
    """What would become of an answer with an edit."""
    titles = "; ".join(f"“{case['title']}”" for case in report["cases"])
    ask = f"If line {edit.line + 1} were `{edit.after.strip()}`: what would come out, "
    ask += f"and which of these cases would still pass? {titles}"
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
