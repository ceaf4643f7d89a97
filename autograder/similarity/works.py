"""The work of each student of a class on a chapter, with its results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat

from autograder.diagnosis import STOPPED, says_why
from autograder.errors import AutograderError, GraderFault, SubmissionFault
from autograder.files import Unusable
from autograder.magics import lines_in
from autograder.marks.reports import NoReports, read_reports
from autograder.notebooks import (
    parse_notebook,
    points_in,
    read_notebook,
    source,
)
from autograder.release.course import master_text
from autograder.rows import NOT_YET
from autograder.submissions.cells import HandedIn, Role, as_handed_in, defined_in
from autograder.submissions.reading_limit import reading_limit
from autograder.submissions.submitted import read, students
from autograder.submissions.timestamps import time_of
from autograder.submissions.written import written_in

OWN_CELLS = "own cells"  # which no answer uses
MAX_TEXT = 120_000  # characters of one answer with the cells that it uses, compared
READING = 5.0  # seconds of the processor for one submission
_DIGITS = re.compile(r"\d[\d.e+-]*")
_WORD = re.compile(r"[^\W\d]\w*")
_COMMENT = re.compile(  # or a text, closed or not, which may hold such a sign
    r'"""[\s\S]*?(?:"""|\Z)|\'\'\'[\s\S]*?(?:\'\'\'|\Z)|'
    r'"(?:[^"\\\n]|\\.)*"?|\'(?:[^\'\\\n]|\\.)*\'?|(#.*)'
)
_BLANK = re.compile(r"\n[ \t\f]*(?=\n)")


class NothingToCompare(AutograderError):
    """There are fewer than two submissions to compare."""


@dataclass(frozen=True)
class Work:
    """What a student handed in for a chapter.

    Attributes:
        student: the id of the student.
        texts: code by exercise, without stubs; ``OWN_CELLS`` is what no answer uses.
        outcomes: by exercise, what was wrong with it; nothing for what was right.
        time: when it was handed in, in UTC, if that is known.
        cut: the exercises whose code is too long to be compared in full.
    """

    student: str
    texts: dict[str, str]
    outcomes: dict[str, str] = field(default_factory=dict)
    time: str | None = None
    cut: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ClassWork:
    """What a class handed in for a chapter.

    Attributes:
        chapter: its name.
        works: of each student whose notebook can be read.
        given: code that everybody was given: stubs, other released cells, references.
        left_out: students whose notebook cannot be read, with why.
        graded: whether there are reports.
    """

    chapter: str
    works: list[Work]
    given: list[str]
    left_out: dict[str, str] = field(default_factory=dict)
    graded: bool = True

    @property
    def names(self) -> list[str]:
        """The exercises that somebody has worked on, in order."""
        return list(dict.fromkeys(name for work in self.works for name in work.texts))


def read_class(
    course: Path,
    chapter: str,
    progress: Callable[[Iterable, int], Iterable] = lambda items, total: items,
) -> ClassWork:
    """Read what a class handed in for a chapter.

    Args:
        course: folder of the course.
        chapter: its name.
        progress: wraps the students; gets them and their number.

    Raises:
        CourseError: the folder is no course, or has no such chapter.
        NothingToCompare: fewer than two students handed in something readable.
    """
    course = course.resolve()
    master = nbformat.reads(master_text(course, chapter), as_version=4)
    submitted = course / "submitted"
    reports = _reports(course, chapter)
    names, _ = students(submitted)
    works, left_out = [], {}
    for name in progress(names, len(names)):
        if not (submitted / name / chapter).is_dir():
            continue
        try:
            found = read(submitted, name, chapter)
            if found.unusable:
                left_out[name] = found.unusable
                continue
            with reading_limit(READING):
                data = written_in(parse_notebook(found.content), found.modules)
                whole = texts_of(as_handed_in(master, data, points_in(master)), master)
                texts = {name: shortened(text) for name, text in whole.items()}
        except (Unusable, SubmissionFault, GraderFault) as error:
            left_out[name] = str(error)
            continue
        when = time_of(found.timestamp or "")
        time = f"{when:%Y-%m-%d %H:%M}" if when else None
        cut = frozenset(n for n, text in texts.items() if len(text) > MAX_TEXT)
        texts = {n: text[:MAX_TEXT] for n, text in texts.items()}
        report = (reports or {}).get(name)
        told = report is not None and found.is_told_by(report)
        outcomes = _outcomes(report) if told else {}
        works.append(Work(name, texts, outcomes, time, cut))
    if len(works) < 2:
        raise NothingToCompare(
            f"{chapter} has {len(works)} readable submissions in {submitted}; two are "
            "the least that can be compared"
        )
    given = [cell.source for cell in master.cells if cell.cell_type == "code"]
    given += _references(course, chapter)
    return ClassWork(chapter, works, given, left_out, reports is not None)


def texts_of(handed_in: HandedIn, master: nbformat.NotebookNode) -> dict[str, str]:
    """The code of a student by exercise: each answer with the cells that it uses.

    A cell of the student's own belongs to the first answer that uses what it defines,
    so that code does not get out of sight by moving to another cell.
    """
    own = [c.source for c in handed_in.cells if c.role is Role.ADDED]
    own = list(dict.fromkeys(own))
    defining: dict[str, list[str]] = {}
    for text in own:
        for defined in defined_in(text) | _assigned_in(text):
            defining.setdefault(defined, []).append(text)
    left, texts = dict.fromkeys(own), {}
    for name in points_in(master):
        answer = handed_in.answer(name)
        parts = [answer]
        for part in parts:  # which grows meanwhile
            for word in dict.fromkeys(_WORD.findall(part)):
                for text in defining.get(word, ()):
                    if text in left:
                        del left[text]
                        parts.append(text)
        texts[name] = _joined(parts)
    texts[OWN_CELLS] = _joined(list(left))
    return {name: text for name, text in texts.items() if text.strip()}


def _joined(parts: list[str]) -> str:
    return "\n\n".join("\n".join(lines_in(part)) for part in parts)


def shortened(text: str) -> str:
    """A text that is too long, without comments and blank lines; others as they are.

    What is beyond ``MAX_TEXT`` is not compared, and comments must not push code there.
    """
    if len(text) <= MAX_TEXT:
        return text
    text = _COMMENT.sub(lambda match: "" if match[1] else match[0], text)
    return _BLANK.sub("", text)


def _assigned_in(text: str) -> set[str]:
    return set(re.findall(r"^([^\W\d]\w*)[ \t]*=", text, re.MULTILINE))


def _references(course: Path, chapter: str) -> list[str]:
    """The answers in the instructor's notebook, if it is there."""
    path = course / "source" / chapter / f"{chapter}.ipynb"
    try:
        cells = read_notebook(path)["cells"]
        return [source(cell) for cell in cells if cell.get("cell_type") == "code"]
    except (Unusable, KeyError, TypeError, AttributeError):
        return []


def _reports(course: Path, chapter: str) -> dict[str, dict[str, Any]] | None:
    """The reports on what could be examined, by student; None if there are none."""
    try:
        reports = read_reports(course, chapter).examined
    except NoReports:
        return None
    return {report["student"]: report for report in reports}


def _outcomes(report: dict[str, Any]) -> dict[str, str]:
    """What was wrong, by exercise."""
    outcomes = {e["name"]: outcome_of(e) for e in report["exercises"]}
    return {name: said for name, said in outcomes.items() if said}


def outcome_of(exercise: dict[str, Any]) -> str:
    """How an answer was wrong, in words that are equal for equal ways to be wrong.

    That is the mistake or the relation to the right values if one was found, and which
    cases failed with which error or difference. Numbers are left out: each submission
    is asked with inputs of its own, so wrong values differ although their cause is one.

    Args:
        exercise: of a report.

    Returns:
        Nothing if the answer is right, or was never written.
    """
    cases = exercise["cases"]
    failed = [case for case in cases if not case["passed"]]
    if not failed or all(case["message"] == NOT_YET for case in failed):
        return ""
    message = str(exercise["message"])
    told = message.removesuffix(STOPPED).strip() if says_why(message) else ""
    cause = exercise["mistake"] or _DIGITS.sub("#", told) or "?"
    said = [
        f"{case['title']}: {_DIGITS.sub('#', str(case['message']))}" for case in failed
    ]
    return "\n".join([cause.replace("_", " "), *said])
