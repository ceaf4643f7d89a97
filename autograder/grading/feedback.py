"""Pages for students, made by nbgrader, and made anew when their marks are others.

The command of nbgrader makes a page again only when a student handed in again; after a
regrade or a mark by hand it keeps the old one. Here, what a page is made of has a
fingerprint.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import nbconvert
import nbgrader
from nbgrader.apps.api import NbGraderAPI
from nbgrader.converters import GenerateFeedback
from nbgrader.converters.base import NbGraderException
from nbgrader.utils import temp_attrs
from traitlets.config import Config

from autograder.errors import AutograderError
from autograder.files import write_atomically
from autograder.grading.gradebook import ChapterMarks
from autograder.grading.marks import Marks
from autograder.grading.reports import report_on
from autograder.grading.request_form import request_form
from autograder.release.settings import configuration, settings_of

TEMPLATES = Path(__file__).parent / "templates"
TEMPLATE = "attention_feedback"
# How nbgrader's template names the parts of a page.
_ENTRY = re.compile(r'(<a href="#(?:check-)?([^"]+)">)Test cell</a>')
_GRADED = re.compile(r"Grade cell: <code>(?:check-)?([^<]+)</code>")
_ANSWER = re.compile(
    r'(<a name="comment-([^"]+)"></a>(?:(?!</?div).)*<div class="panel-heading">\s*'
    r"<span class=\"nbgrader-label\">)Student's answer",
    re.DOTALL,
)
_COMMENT = re.compile(r'(<a href="#comment-([^"]+)">)Comment</a>')


class NoFeedback(AutograderError):
    """There is nothing to make pages of."""


@dataclass
class Pages:
    """What was done about the pages of a chapter.

    Attributes:
        made: students whose page is new.
        kept: students whose page was up to date.
        failed: students of whom nbgrader could not make a page.
    """

    made: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def make_feedback(
    chapter: str,
    course: Path,
    progress: Callable[[Iterable, int], Iterable] = lambda items, total: items,
) -> Pages:
    """Make the pages that are missing or out of date, into ``feedback/``.

    Args:
        chapter: name of the chapter.
        course: folder of the course.
        progress: wraps the stream of students; gets it and its length.

    Raises:
        CourseError: the folder is no course.
        GradebookError: the gradebook cannot be used.
        NoFeedback: nobody was graded.
    """
    course = course.resolve()
    settings = settings_of(course)
    with ChapterMarks(settings.gradebook, settings.course_id, chapter) as book:
        marks = book.read()
    forms = {
        student: request_form(report_on(course, chapter, student), settings.requests_to)
        for student in (marks if settings.requests_to else ())
    }
    now = {
        student: _fingerprint(notebook, found, forms.get(student, ""))
        for student, found in sorted(marks.items())
        if (notebook := _kept(course, student, chapter)).is_file()
    }
    if not now:
        raise NoFeedback(
            f"nobody was graded in {chapter}: grade it first with "
            f"`python -m autograder grade {chapter} --course {course}`"
        )
    state = course / "feedback" / f".{chapter}.json"
    before = _read_state(state)
    pages, api = Pages(), _nbgrader(course, settings.gradebook)
    stale = []
    for student in now:
        current = before.get(student) == now[student]
        if current and page_of(course, student, chapter).is_file():
            pages.kept.append(student)
        else:
            stale.append(student)
    for student in progress(stale, len(stale)):
        before.pop(student, None)
        if _make(api, course, student, chapter, forms.get(student, "")):
            before[student] = now[student]
            pages.made.append(student)
        else:
            pages.failed.append(student)
        write_atomically(state, json.dumps(before, indent=1))
    return pages


def page_of(course: Path, student: str, chapter: str) -> Path:
    """Where the page of a student is."""
    return course / "feedback" / student / chapter / f"{chapter}.html"


def _kept(course: Path, student: str, chapter: str) -> Path:
    return course / "autograded" / student / chapter / f"{chapter}.ipynb"


class _Converter(GenerateFeedback):
    """nbgrader's converter, told by us which page is out of date."""

    def init_destination(self, assignment_id: str, student_id: str) -> bool:
        shutil.rmtree(self._format_dest(assignment_id, student_id), ignore_errors=True)
        return True


def _make(
    api: NbGraderAPI, course: Path, student: str, chapter: str, form: str
) -> bool:
    """Have nbgrader make one page, with a form at its end; whether it is there."""
    with temp_attrs(api.coursedir, assignment_id=chapter, student_id=student):
        converter = _Converter(coursedir=api.coursedir, parent=api)
        converter.update_config(_template(converter.config, form))
        with contextlib.suppress(NbGraderException):  # it has said why, in the log
            converter.start()
    return page_of(course, student, chapter).is_file()


def _template(theirs: Config, form: str) -> Config:
    """The page of nbgrader, in which questions have the names of their exercises."""
    folders = list(theirs.HTMLExporter.extra_template_basedirs)
    config = Config()
    config.HTMLExporter.template_name = TEMPLATE
    config.HTMLExporter.extra_template_basedirs = [str(TEMPLATES), *folders]
    config.HTMLExporter.extra_template_paths = [
        *theirs.HTMLExporter.extra_template_paths,
        *folders,  # where ours finds the template that it extends
    ]
    config.HTMLExporter.filters = {
        "named_exercises": named_exercises,
        "with_form": lambda page: _with_form(page, form),
    }
    return config


def _with_form(page: str, form: str) -> str:
    """A page with a form behind all that is in it."""
    text, end, rest = page.rpartition("</body>")
    return f"{text}{form}{end}{rest}" if end else page + form


def named_exercises(page: str) -> str:
    """A page of nbgrader's with the names of exercises in place of ``Test cell``."""
    page = _ENTRY.sub(r"\1\2</a>", page)
    page = _COMMENT.sub(r"\1Comment on \2</a>", page)
    page = _GRADED.sub(r"Check of <code>\1</code>", page)
    return _ANSWER.sub(r"\1Your answer: \2", page)


def _nbgrader(course: Path, gradebook: str) -> NbGraderAPI:
    config = configuration(course)
    config.CourseDirectory.root = str(course)
    config.CourseDirectory.db_url = gradebook
    api = NbGraderAPI(config=config)
    api.log_level = logging.ERROR
    return api


def _fingerprint(notebook: Path, marks: Marks, form: str) -> str:
    """Changes when anything changes of which a page is made."""
    versions = [nbgrader.__version__, nbconvert.__version__]
    template = (TEMPLATES / TEMPLATE / "index.html.j2").read_text(encoding="utf-8")
    said = json.dumps([asdict(marks), versions, template, form], sort_keys=True)
    return hashlib.sha256(notebook.read_bytes() + said.encode()).hexdigest()


def _read_state(path: Path) -> dict[str, Any]:
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}
