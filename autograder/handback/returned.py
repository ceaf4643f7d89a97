"""Feedback in the archives in which systems take it back for a whole class.

* Moodle, *Upload multiple feedback files in a zip*: the folders or the beginnings of
  names that its download had, with the page in them.
* Canvas, *Upload submissions*: files named as they were downloaded. Canvas shows them
  to students under the name that they had handed in, whatever is in them; so a notebook
  is returned as a notebook, with marks and comments at its head. Source: its
  ``generate_comments_from_files``.

Gradescope takes nothing back.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from autograder.files import write_atomically
from autograder.lms.names import CANVAS, MOODLE, readings
from autograder.lms.upload_ids import HandedIn, read_upload_ids
from autograder.marks.gradebook import marks_in
from autograder.marks.reports import kept_path
from autograder.marks.scores import Marks
from autograder.reporting.feedback_page import page_of


def write_archives(course: Path, chapter: str) -> dict[str, Path]:
    """Write an archive for each system that a chapter was collected from.

    Returns:
        The archives, by system.
    """
    course = course.resolve()
    uploads, marks = read_upload_ids(course, chapter), marks_in(course, chapter)
    written = {}
    for system, parts in (
        (MOODLE, _for_moodle(course, chapter, uploads)),
        (CANVAS, _for_canvas(course, chapter, uploads, marks)),
    ):
        path = course / "feedback" / f"{chapter}_{system}.zip"
        if files := dict(parts):
            write_atomically(path, _zipped(files))
            written[system] = path
        else:
            path.unlink(missing_ok=True)  # of pages that are gone
    return written


def _for_moodle(
    course: Path, chapter: str, uploads: Mapping[str, HandedIn]
) -> Iterator[tuple[str, bytes]]:
    for student, entry in uploads.items():
        page = page_of(course, student, chapter)
        if entry.system != MOODLE or not page.is_file():
            continue
        named = readings(entry.place, MOODLE)
        if named and named[0].file:  # its name began as others' folders
            head = entry.place.removesuffix(named[0].file)
            yield f"{head}{chapter}.html", page.read_bytes()
        else:
            yield f"{entry.place}/{chapter}.html", page.read_bytes()


def _for_canvas(
    course: Path,
    chapter: str,
    uploads: Mapping[str, HandedIn],
    marks: Mapping[str, Marks],
) -> Iterator[tuple[str, bytes]]:
    for student, entry in uploads.items():
        page = page_of(course, student, chapter)
        if entry.system != CANVAS or student not in marks or not page.is_file():
            continue
        kept = kept_path(course, chapter, student)
        notebook = with_marks(json.loads(kept.read_bytes()), chapter, marks[student])
        content = json.dumps(notebook, indent=1).encode()
        if entry.place.casefold().endswith(".zip"):
            files = {f"{chapter}.ipynb": content, page.name: page.read_bytes()}
            content = _zipped(files)
        yield entry.place, content


def with_marks(notebook: dict, chapter: str, marks: Marks) -> dict:
    """An examined notebook with a cell at its head that says what it was worth."""
    most = sum(marks.max_scores.values())
    lines = [f"# {chapter}: {marks.score:g} of {most:g} points", ""]
    lines += ["| exercise | points | of |", "|---|---|---|"]
    for name, of in marks.max_scores.items():
        lines.append(f"| {name} | {marks.scores.get(name, 0.0):g} | {of:g} |")
    if marks.late_penalty:
        lines += ["", f"{marks.late_penalty:g} points were lost because it was late."]
    for name, comment in marks.comments.items():
        lines += ["", f"**{name}**: {comment}"]
    head = {
        "cell_type": "markdown",
        "id": "marks",
        "metadata": {},
        "source": "\n".join(lines),
    }
    return {**notebook, "cells": [head, *notebook["cells"]]}


def _zipped(files: Mapping[str, bytes]) -> bytes:
    """An archive that is the same for the same files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
