"""Feedback pages, made by nbgrader, and made again when marks have changed.

The command of nbgrader makes a page again only when a student handed in again; after a
regrade or a mark by hand it keeps the old one. Here, what a page is made of has a
fingerprint.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import nbconvert
import nbgrader

from autograder.errors import AutograderError, GraderFault
from autograder.files import write_atomically
from autograder.marks.gradebook import marks_in
from autograder.marks.reports import kept_path
from autograder.marks.scores import Marks
from autograder.processors import processors
from autograder.release.settings import require_no_pattern
from autograder.reporting.feedback_page import (
    TEMPLATE,
    TEMPLATES,
    PageMaker,
    page_of,
    start_worker,
)
from autograder.shell import command

PAGES_A_WORKER = 10  # fewer take less time than it takes to start a process for them


@dataclass
class Pages:
    """What was done about the pages of a chapter.

    Attributes:
        made: students whose page is new.
        kept: students whose page was up to date.
        failed: why there is no page, for each student who has none.
    """

    made: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


def make_feedback(
    chapter: str,
    course: Path,
    progress: Callable[[Iterable, int], Iterable] = lambda items, total: items,
    jobs: int | None = None,
) -> Pages:
    """Make the pages that are missing or out of date, into ``feedback/``.

    Args:
        chapter: name of the chapter.
        course: folder of the course.
        progress: wraps the stream of students; gets it and its length.
        jobs: how many pages are made at once; if None, one for each processor that
            this process may use.

    Raises:
        GraderFault: a process that made pages was ended from outside.
    """
    course = course.resolve()
    require_no_pattern(course)
    marks = marks_in(course, chapter)
    now = {
        student: _fingerprint(notebook, found)
        for student, found in sorted(marks.items())
        if (notebook := kept_path(course, chapter, student)).is_file()
    }
    if not now:
        raise AutograderError(
            f"nobody was graded in {chapter}: grade it first with "
            f"`{command('grade', chapter, '--course', course)}`"
        )
    state = course / "feedback" / f".{chapter}.json"
    before = _read_state(state)
    pages, stale = Pages(), []
    for student in sorted(set(marks) - set(now)):
        pages.failed[student] = "its examined notebook is gone: grade it again"
    for student in now:
        current = before.get(student) == now[student]
        if current and page_of(course, student, chapter).is_file():
            pages.kept.append(student)
        else:
            stale.append(student)
            before.pop(student, None)
    jobs = min(jobs or processors(), -(-len(stale) // PAGES_A_WORKER))
    maker = PageMaker(course, chapter)
    try:
        with _made(maker, stale, jobs) as results:
            for student, why in progress(results, len(stale)):
                if why is None:
                    before[student] = now[student]
                    pages.made.append(student)
                else:
                    pages.failed[student] = why
    finally:
        write_atomically(state, json.dumps(before, indent=1))
    return pages


@contextmanager
def _made(
    maker: PageMaker, students: Sequence[str], jobs: int
) -> Iterator[Iterator[tuple[str, str | None]]]:
    """The students, in their order, and why each has no page, where there is none.

    Args:
        maker: makes the pages.
        students: whose pages they are.
        jobs: how many processes make them; with one it is this process.

    Raises:
        GraderFault: one of several was ended from outside.
    """
    if jobs <= 1:
        yield ((student, maker.make(student)) for student in students)
        return
    context = multiprocessing.get_context("spawn")  # there is one on every system
    with ProcessPoolExecutor(jobs, context, start_worker) as executor:
        try:
            yield zip(students, executor.map(maker.make, students), strict=True)
        except BrokenProcessPool:
            raise GraderFault(
                "a process that makes pages was ended from outside: call the command "
                "again to make the others"
            ) from None
        finally:
            executor.shutdown(cancel_futures=True)


def _fingerprint(notebook: Path, marks: Marks) -> str:
    """Changes when anything changes of which a page is made."""
    versions = [nbgrader.__version__, nbconvert.__version__]
    template = (TEMPLATES / TEMPLATE / "index.html.j2").read_text(encoding="utf-8")
    shown = asdict(marks)
    del shown["to_look_at"]  # of which a page says nothing
    said = json.dumps([shown, versions, template], sort_keys=True)
    return hashlib.sha256(notebook.read_bytes() + said.encode()).hexdigest()


def _read_state(path: Path) -> dict[str, Any]:
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}
