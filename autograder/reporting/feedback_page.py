"""One page for one student, made by nbgrader, here or in a process of several."""

from __future__ import annotations

import logging
import re
import shutil
import signal
import threading
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from jinja2 import Environment, FileSystemBytecodeCache
from nbconvert.exporters import HTMLExporter
from nbgrader.apps.api import NbGraderAPI
from nbgrader.converters import GenerateFeedback
from nbgrader.utils import temp_attrs
from traitlets.config import Config

from autograder.interrupts import end_with_parent
from autograder.marks.gradebook_errors import first_line
from autograder.release.settings import configuration, gradebook_address

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


def page_of(course: Path, student: str, chapter: str) -> Path:
    """Where the page of a student is."""
    return course / "feedback" / student / chapter / f"{chapter}.html"


@dataclass(frozen=True)
class PageMaker:
    """Has nbgrader make the pages of a chapter.

    Attributes:
        course: folder of the course, absolute.
        chapter: name of the chapter.
    """

    course: Path
    chapter: str

    def make(self, student: str) -> str | None:
        """Make one page; why it is not there, if it is not.

        What grading keeps of a submission is limited, so that a page takes seconds.
        """
        try:
            self._convert(student)
        except Exception as error:  # settings, templates and hooks are anybody's
            half = page_of(self.course, student, self.chapter)
            half.unlink(missing_ok=True)
            kind = f"{type(error).__name__}: {first_line(error)}"
            said = getattr(error, "strerror", None) or kind
            fix = "mend that, and call the command again"
            return f"nbgrader could not make it: {said}; {fix}"
        return None

    def _convert(self, student: str) -> None:
        """Have nbgrader make a page."""
        coursedir = self._api.coursedir
        converter = _Converter(coursedir=coursedir, parent=self._api)
        converter.update_config(_template(converter.config))
        chosen = {"assignment_id": self.chapter, "student_id": student}
        with temp_attrs(coursedir, **chosen):
            converter.start()

    @cached_property
    def _api(self) -> NbGraderAPI:
        config = configuration(self.course)
        config.CourseDirectory.root = str(self.course)
        config.CourseDirectory.db_url = gradebook_address(self.course, config)
        api = NbGraderAPI(config=config)
        api.log_level = logging.ERROR
        return api


def start_worker() -> None:
    """Leave interrupts to the process that asks for pages, and end when it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()


class _Exporter(HTMLExporter):
    """nbconvert's exporter, which compiles a template once, and not for each page."""

    def _create_environment(self) -> Environment:
        environment = super()._create_environment()
        environment.bytecode_cache = FileSystemBytecodeCache()
        return environment


class _Converter(GenerateFeedback):
    """nbgrader's converter, told by us which page is out of date."""

    def _exporter_class_default(self) -> type[HTMLExporter]:
        return _Exporter

    def convert_notebooks(self) -> None:
        """Make the page of one student anew; nbgrader would only log an error."""
        chosen = self.coursedir.assignment_id, self.coursedir.student_id
        shutil.rmtree(self._format_dest(*chosen), ignore_errors=True)
        self.notebooks = [path for found in self.assignments.values() for path in found]
        self.run_pre_convert_hook()
        self.init_assignment(*chosen)
        for notebook in self.notebooks:
            self.convert_single_notebook(notebook)
        self.set_permissions(*chosen)
        self.run_post_convert_hook()


def _template(theirs: Config) -> Config:
    """The page of nbgrader, in which questions have the names of their exercises."""
    folders = list(theirs.HTMLExporter.extra_template_basedirs)
    config = Config()
    config.HTMLExporter.template_name = TEMPLATE
    config.HTMLExporter.extra_template_basedirs = [str(TEMPLATES), *folders]
    config.HTMLExporter.extra_template_paths = [
        *theirs.HTMLExporter.extra_template_paths,
        *folders,  # where ours finds the template that it extends
    ]
    config.HTMLExporter.filters = {"named_exercises": named_exercises}
    return config


def named_exercises(page: str) -> str:
    """A page of nbgrader's with the names of exercises in place of ``Test cell``."""
    page = _ENTRY.sub(r"\1\2</a>", page)
    page = _COMMENT.sub(r"\1Comment on \2</a>", page)
    page = _GRADED.sub(r"Check of <code>\1</code>", page)
    return _ANSWER.sub(r"\1Your answer: \2", page)
