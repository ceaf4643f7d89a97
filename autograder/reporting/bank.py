"""Make the skeleton of a mistake from a wrong answer that nothing explains.

Student code is parsed here and never run. The skeleton is a file of the course, which
the instructor reads, shortens and moves into the bank of mistakes.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import importlib.util
import keyword
import re
from pathlib import Path
from typing import Any

import nbformat

from autograder.errors import AutograderError, SubmissionFault
from autograder.exercise import Topic, load_topic
from autograder.files import Unusable, printable, write_atomically
from autograder.marks.reports import report_on
from autograder.notebooks import parse_notebook
from autograder.parsing import UNREADABLE
from autograder.release.course import master_text
from autograder.reporting.skeleton import WrongAnswer, one_line, skeleton
from autograder.rows import NOT_YET
from autograder.shell import command
from autograder.submissions.cells import Role, as_handed_in
from autograder.submissions.reading_limit import reading_limit
from autograder.submissions.submitted import read
from autograder.submissions.written import written_in

MAX_CODE = 20_000  # characters of an answer with all that it uses
FOLDER = "bank"  # of the course, where skeletons are


class NoSkeleton(AutograderError):
    """No skeleton can be made of an answer; the message says why."""


def bank_command(course: Path, chapter: str, exercise: str, student: str) -> str:
    """The command that makes a skeleton from a student's answer, for a shell."""
    names = chapter, exercise, "--course", course, f"--student={student}"
    return command("bank", *names)


def write_skeleton(
    course: Path, chapter: str, exercise: str, student: str, name: str | None = None
) -> Path:
    """Write a skeleton of a mistake from a student's wrong answer.

    Args:
        course: folder of the course.
        chapter: its name.
        exercise: of the chapter.
        student: whose answer it is; the file does not say so.
        name: of the mistake; a provisional one if none is given.

    Returns:
        The new file, in the folder ``bank`` of the course.

    Raises:
        CourseError: the folder is no course, or has not released the chapter.
        NoSkeleton: there is no such answer, it is right or explained, or cannot be
            read; or the name cannot be used.
    """
    topic = load_topic(chapter)
    if exercise not in topic.exercises:
        near = difflib.get_close_matches(exercise, topic.exercises, n=1)
        meant = f"did you mean {near[0]}? It has" if near else "it has"
        known = ", ".join(topic.exercises)
        given = printable(exercise[:60])
        raise NoSkeleton(f"{given} is not an exercise of {chapter}; {meant} {known}")
    name = f"unexplained_{exercise}" if name is None else name
    taken = names_in_bank(chapter)
    _require_name(name, taken, chapter)
    path = course / FOLDER / f"{name}.py"
    if path.exists():
        raise NoSkeleton(
            f"{path} exists already: move it, or choose another name with --name"
        )
    wrong = _wrong_answer(course, topic, exercise, student)
    try:
        with reading_limit():
            text = skeleton(wrong, name, taken)
    except (SubmissionFault, *UNREADABLE) as error:
        raise NoSkeleton(
            f"the answer to {exercise} cannot be written out: {one_line(error)}"
        ) from None
    write_atomically(path, text)
    return path


def _require_name(name: str, taken: set[str], chapter: str) -> None:
    usable = re.fullmatch(r"[a-zA-Z]\w{0,60}", name, re.ASCII)
    if not usable or keyword.iskeyword(name) or hasattr(builtins, name):
        raise NoSkeleton(
            f"{printable(name[:60])!r} cannot be the name of a mistake: choose one "
            "that Python allows and does not use itself, such as rows_sum_to_two"
        )
    if name in taken:
        raise NoSkeleton(
            f"the bank of {chapter} has the name {name} already: choose another with "
            "--name"
        )


def _wrong_answer(
    course: Path, topic: Topic, exercise: str, student: str
) -> WrongAnswer:
    """What a student answered, if it is wrong and no known mistake explains it."""
    chapter = topic.name
    master = nbformat.reads(master_text(course, chapter), as_version=4)
    report = report_on(course, chapter, student)
    who = printable(student[:200])
    if report is None:
        raise NoSkeleton(
            f"there is no report on {who} for {chapter} in {course}: grade it first "
            f"with `{command('grade', chapter, '--course', course)}`"
        )
    if report["refused"]:
        raise NoSkeleton(f"{who} was not examined: {one_line(report['refused'])}")
    entry = _entry(report, exercise, who)
    try:
        submission = read(course / "submitted", student, chapter)
        if submission.unusable:
            raise Unusable(submission.unusable)
        if not submission.is_told_by(report):
            raise NoSkeleton(
                f"the report on {who} is not on what is in {course}/submitted now: "
                f"grade it with `{command('grade', chapter, '--course', course)}`"
            )
        with reading_limit():
            data = written_in(parse_notebook(submission.content), submission.modules)
            handed_in = as_handed_in(master, data, topic.exercises)
        own = [cell.source for cell in handed_in.cells if cell.role is Role.ADDED]
        source = "\n\n\n".join([*own, handed_in.answer(exercise)])
    except (Unusable, SubmissionFault) as error:
        raise NoSkeleton(
            f"the submission of {who} cannot be read: {one_line(error)}"
        ) from None
    if len(source) > MAX_CODE:
        raise NoSkeleton(
            f"the answer to {exercise} has {len(source):,} characters with all that it "
            f"uses; more than {MAX_CODE:,} are too long for a mistake"
        )
    given = "\n".join(handed_in.setup)
    return WrongAnswer(topic, exercise, source, given, entry)


def _entry(report: dict[str, Any], exercise: str, who: str) -> dict[str, Any]:
    """What a report says of an exercise that is answered wrongly, without a cause."""
    for entry in report["exercises"]:
        if entry["name"] == exercise and entry["message"] != NOT_YET:
            break
    else:
        raise NoSkeleton(f"{who} did not begin {exercise}")
    if all(case["passed"] for case in entry["cases"]):
        raise NoSkeleton(f"{who} passes all cases of {exercise}")
    if entry["mistake"]:
        raise NoSkeleton(
            "the bank explains this answer already: it is the mistake "
            f"{one_line(entry['mistake'])}"
        )
    return entry


def names_in_bank(chapter: str) -> set[str]:
    """The names that the file of a chapter's mistakes binds; it is not imported."""
    spec = importlib.util.find_spec(f"solutions.mistakes.{chapter}")
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    bound = {getattr(node, "name", "") for node in tree.body}
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            bound |= {alias.asname or alias.name for alias in node.names}
    return bound - {""}
