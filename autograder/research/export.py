"""Copy a class's submissions and results without names.

Only what is named here is copied: code, texts, and outputs that are text, the
reports, and how long after the first submission each was handed in. Pictures,
metadata, cell ids and file names stay behind.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import nbformat

from autograder.errors import AutograderError, GraderFault, SubmissionFault
from autograder.files import Unusable, write_atomically
from autograder.marks.reports import NoReports, read_reports
from autograder.notebooks import METADATA_KEY, parse_notebook
from autograder.release.course import master_text
from autograder.research.people import known_names, salt_of, salted_id
from autograder.research.scrub import Scrubber
from autograder.submissions.reading_limit import reading_limit
from autograder.submissions.submitted import read, students
from autograder.submissions.timestamps import time_of
from autograder.tables import write_csv

READING = 20.0  # seconds of the processor for one notebook
MAX_OUTPUT = 20_000  # characters of one output
_COUNTS = ("score", "max_score", "seconds", "refused", "notes", "exercises")
README = """\
What a class handed in, and what the grader found, without names.

notebooks/CHAPTER/ID.ipynb   code, texts, and outputs that are text
reports/CHAPTER/ID.json      what the grader found
results.csv                  one line for each submission
A submission that was replaced after it was graded has neither report nor score.

Ids are salted: whoever has the file research_salt of the course, and nobody else, can
work out whose they are. The law calls such data pseudonymous, not anonymous, as long
as that file exists. Times are whole hours since the first submission of a chapter.

Replaced: names, ids, numbers and e-mail addresses that the gradebook, the class lists
and the names of folders hold (PERSON), other e-mail addresses (ADDRESS), links that
were not in the released notebook (LINK), dates (TIME), and home folders (/FOLDER).
Left out: pictures, HTML, attachments, metadata, cell ids, file names; of a cell, what
is beyond 100,000 characters, and of an output, what is beyond 20,000.

What cannot be found, so look for it before you give this away: nicknames and
misspelled names, people who are not in the class list, numbers of fewer than five
digits, names that are words of the course (such as Max) where they are written small
or in code, names that are hidden in code, and what a text tells about its author.
Style and rare mistakes are like a fingerprint to somebody who has the originals, and
marks tell who somebody is to all who know them.
"""


class InTheWay(AutograderError):
    """What is to be written is there already."""


def write_anonymised(
    course: Path,
    chapters: list[str],
    folder: Path,
    progress: Callable[[Iterable, int], Iterable] = lambda items, total: items,
) -> tuple[int, dict[str, str]]:
    """Write the submissions to some chapters, and the reports on them, without names.

    Args:
        course: folder of the course.
        chapters: their names.
        folder: where to write; new or empty.
        progress: wraps the submissions; gets them and their number.

    Returns:
        How many submissions were written, and by id those that cannot be read.

    Raises:
        InTheWay: the folder exists and is not empty.
        CourseError: the folder is no course, or has not released a chapter.
        GradebookError: the gradebook cannot be read.
        BadTable: a class list cannot be read.
        BadSalt: the salt of the course was changed.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InTheWay(f"{folder} exists; name a folder that is new or empty")
    course = course.resolve()
    masters = {
        chapter: nbformat.reads(master_text(course, chapter), as_version=4)
        for chapter in chapters
    }
    people = known_names(course, chapters)
    given = [cell.source for master in masters.values() for cell in master.cells]
    scrubber = Scrubber(people, given)
    salt = salt_of(course)
    names = students(course / "submitted")[0]
    ids = {name: salted_id(salt, name) for name in {*names, *people}}
    order = sorted(names, key=ids.__getitem__)  # by name it would tell too much
    work = [(chapter, name) for chapter in chapters for name in order]
    rows, left_out, times = [], {}, Times(course, chapters, names)
    reports = {chapter: _reports(course, chapter) for chapter in chapters}
    with _filled_at_the_end(folder) as unfinished:
        for chapter, name in progress(work, len(work)):
            if not (course / "submitted" / name / chapter).is_dir():
                continue
            try:
                found = read(course / "submitted", name, chapter)
                if found.unusable:
                    raise Unusable("there is no notebook that can be read")
                with reading_limit(READING):
                    data = parse_notebook(found.content)
                    notebook = notebook_without_names(
                        data, masters[chapter], scrubber, name
                    )
            except (Unusable, SubmissionFault, GraderFault):
                # The reason may name a file, and so a person.
                left_out[f"{ids[name]} ({chapter})"] = "its notebook cannot be read"
                continue
            _write_json(
                unfinished / "notebooks" / chapter / f"{ids[name]}.ipynb", notebook
            )
            report = reports[chapter].get(name)
            if report is not None and not found.is_told_by(report):
                report = None  # but on what was handed in before
            if report is not None:
                said = {"id": ids[name], "chapter": chapter}
                said |= report_without_names(report, scrubber, name)
                _write_json(
                    unfinished / "reports" / chapter / f"{ids[name]}.json", said
                )
            points = [report["score"], report["max_score"]] if report else ["", ""]
            rows.append([ids[name], chapter, times.hours(chapter, name), *points])
        head = ["id", "chapter", "hours_after_the_first", "score", "max_score"]
        write_csv(unfinished / "results.csv", head, rows)
        write_atomically(unfinished / "README.txt", README)
    return len(rows), left_out


class Times:
    """When everybody handed in, after the first who did."""

    def __init__(self, course: Path, chapters: list[str], names: list[str]) -> None:
        self._times: dict[tuple[str, str], datetime] = {}
        self._first: dict[str, datetime] = {}  # of each chapter
        for chapter in chapters:
            for name in names:
                try:
                    found = read(course / "submitted", name, chapter)
                except GraderFault:
                    continue
                when = time_of(found.timestamp or "")
                if when is not None:
                    self._times[chapter, name] = when
                    first = self._first.setdefault(chapter, when)
                    self._first[chapter] = min(first, when)

    def hours(self, chapter: str, name: str) -> int | str:
        """Whole hours after the first submission of the chapter; empty if unknown."""
        when = self._times.get((chapter, name))
        if when is None:
            return ""
        return round((when - self._first[chapter]).total_seconds() / 3600)


def _reports(course: Path, chapter: str) -> dict[str, dict[str, Any]]:
    try:
        found = read_reports(course, chapter).reports
    except NoReports:
        return {}
    return {report["student"]: report for report in found}


@contextlib.contextmanager
def _filled_at_the_end(folder: Path) -> Iterator[Path]:
    """A folder in an empty one, whose entries move up when all of them are there.

    So a full disk leaves nothing behind, and what a killed command leaves is hidden.
    """
    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    unfinished = folder / ".unfinished"
    unfinished.mkdir()
    try:
        yield unfinished
        for entry in sorted(unfinished.iterdir(), reverse=True):  # README.txt is last
            entry.rename(folder / entry.name)
        unfinished.rmdir()
    except BaseException:
        for entry in folder.iterdir():  # all of them are ours: it was empty
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        if new:
            folder.rmdir()
        raise


def _write_json(path: Path, data: Mapping[str, Any]) -> None:
    write_atomically(path, json.dumps(data, indent=1))


def report_without_names(
    report: Mapping[str, Any], scrubber: Scrubber, student: str
) -> dict[str, Any]:
    """What a report says about the work, with texts in which nobody is named.

    Digests stay behind: they would tell whose notebook it was.
    """

    def scrubbed(value: Any) -> Any:
        if isinstance(value, str):
            return scrubber.prose(value, student)
        if isinstance(value, list):
            return [scrubbed(item) for item in value]
        if isinstance(value, dict):
            return {key: scrubbed(item) for key, item in value.items()}
        return value

    kept = {key: report[key] for key in _COUNTS if key in report}
    # Names of exercises, cases and mistakes are ours, and compared with other tables.
    exercises = [
        {
            **scrubbed(exercise),
            "name": exercise["name"],
            "mistake": exercise["mistake"],
            "cases": [
                {**scrubbed(case), "title": case["title"]} for case in exercise["cases"]
            ],
        }
        for exercise in report["exercises"]
    ]
    return {**scrubbed(kept), "exercises": exercises}


def notebook_without_names(
    data: Mapping[str, Any],
    master: nbformat.NotebookNode,
    scrubber: Scrubber,
    student: str,
) -> dict[str, Any]:
    """A notebook of which only code, texts and outputs that are text are left.

    Args:
        data: the submission, from ``notebooks.parse_notebook``.
        master: the notebook as it was released, whose grade ids are kept.
        scrubber: takes out names.
        student: whose it is.
    """
    released = {
        cell.metadata.get("nbgrader", {}).get("grade_id") for cell in master.cells
    } - {None}
    cells = []
    for number, cell in enumerate(data["cells"]):
        source = _text(cell.get("source")) if isinstance(cell, dict) else None
        if source is None:
            continue
        source = source[:100_000]  # grading runs no longer ones
        is_code = cell.get("cell_type") == "code"
        name = _part(_part(cell, "metadata"), "nbgrader").get("grade_id")
        known = isinstance(name, str) and name in released
        kept: dict[str, Any] = {
            "cell_type": "code" if is_code else "markdown",
            "id": f"cell-{number}",
            "metadata": {"nbgrader": {"grade_id": name}} if known else {},
            "source": (scrubber.code if is_code else scrubber.prose)(source, student),
        }
        if is_code:
            kept["execution_count"] = None
            kept["outputs"] = list(_outputs(cell.get("outputs"), scrubber, student))
        cells.append(kept)
    ours = master.metadata.get(METADATA_KEY, {}).get("chapter")
    return {
        "cells": cells,
        "metadata": {
            "kernelspec": {
                "display_name": "Python 3",
                "language": "python",
                "name": "python3",
            },
            METADATA_KEY: {"chapter": ours},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _outputs(
    outputs: Any, scrubber: Scrubber, student: str
) -> Iterable[dict[str, Any]]:
    """The outputs of a cell that are text."""
    for output in outputs if isinstance(outputs, list) else ():
        if not isinstance(output, dict):
            continue
        if output.get("output_type") == "error":
            trace = output.get("traceback")
            parts = [output.get("ename"), output.get("evalue")]
            parts += trace if isinstance(trace, list) else []
        else:
            parts = [output.get("text"), _part(output, "data").get("text/plain")]
        text = "\n".join(part for part in map(_text, parts) if part)[:MAX_OUTPUT]
        if text:
            name = "stderr" if output.get("output_type") == "error" else "stdout"
            shown = scrubber.prose(text, student)
            yield {"output_type": "stream", "name": name, "text": shown}


def _text(value: Any) -> str | None:
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "".join(value)
    return value if isinstance(value, str) else None


def _part(value: Any, key: str) -> Mapping[str, Any]:
    inner = value.get(key) if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else {}
