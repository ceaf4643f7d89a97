"""Make an nbgrader course of the book: its folder, its notebooks, its release."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.apps.api import NbGraderAPI

from autograder.answer_key import write_key
from autograder.book import chapter_names
from autograder.exercise import load_topic, require_topic
from autograder.expected import expect, public_seeds
from autograder.files import write_atomically
from autograder.judge import mark
from autograder.notebooks import points_in, tests_in
from autograder.own_topics import cases_of, use_course
from autograder.release.settings import (
    CourseError,
    gradebook_address,
    require_no_pattern,
    usable_configuration,
)
from autograder.release.source import source_notebook
from autograder.release.stubs import STUB, BrokenChapter
from autograder.sandbox.limits import Limits
from autograder.shell import command

_CELLS_CHANGED = "Cannot add or remove cells"  # as nbgrader says it
# What nbformat raises where a file holds something else.
_NO_NOTEBOOK = (
    *(ValueError, TypeError, KeyError, AttributeError),
    nbformat.ValidationError,
)
CONFIG_FILE = r'''"""nbgrader's settings for this course."""

c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "attention-from-scratch"
c.ClearSolutions.code_stub = {{"python": "{stub}"}}
c.ExecutePreprocessor.timeout = 120

# `nbgrader autograde` records no zero where `check` could not judge an answer.
c.Autograde.autograde_preprocessors.insert(
    1, "autograder.grading.unjudged.RefuseUnjudged"
)

# A gradebook elsewhere, for instance in PostgreSQL:
# c.CourseDirectory.db_url = "postgresql+psycopg://user:password@host/gradebook"

# What one submission may use, in bytes and seconds (these are the defaults):
{limits}
'''


def master_text(course: Path, chapter: str) -> str:
    """JSON text of the notebook as it was released to students.

    Raises:
        UnknownExercise: there is no such chapter.
        CourseError: the course has not released it, or with tests of its own, or its
            folders have other names than usual.
    """
    require_topic(chapter)
    usable_configuration(course)
    path = course / "release" / chapter / f"{chapter}.ipynb"
    if not path.exists():
        raise CourseError(
            f"the course has no release of {chapter} ({path} is missing): run "
            f"`{command('course', course, chapter)}`"
        )
    notebook = _notebook_in(path, "release it again with `autograder course`")
    _require_ours(notebook, chapter, path)
    return path.read_text(encoding="utf-8")


def _require_ours(notebook: NotebookNode, chapter: str, path: Path) -> None:
    """Make sure that a notebook has the tests and points that this grader gives.

    Raises:
        CourseError: it has a test of the instructor's own, or other points.
    """
    for name in tests_in(notebook):
        if not name.startswith("check-"):
            raise CourseError(
                f"{path}: {name} is a test of your own, and this grader asks only the "
                "exercises of the book: make it a manually graded cell, or take it out"
            )
    exercises = load_topic(chapter).exercises
    for name, given in points_in(notebook).items():
        ours = exercises[name].points if name in exercises else 0
        if given != ours:
            raise CourseError(
                f"{path}: {name} has {given:g} points, and the grader gives {ours:g}: "
                "put them back, or release the chapter again; to weigh a chapter, do "
                "so where you add up the marks"
            )


def make_course(
    folder: Path,
    names: list[str] | None = None,
    progress: Callable[[list[str]], Iterable[str]] = iter,
) -> list[str]:
    """Make an nbgrader course, or add chapters to one, in source and release.

    What is there already is left as it is: settings, gradebook, submissions, and
    source notebooks, which an instructor may have changed. Delete ``source/CHAPTER``
    to get it anew.

    Args:
        folder: the folder of the course.
        names: chapters to release; all of them if None.
        progress: wraps the names, one of which is done when the next is asked for.

    Returns:
        The names of the chapters released.

    Raises:
        UnknownExercise: there is no chapter of one of these names.
        BrokenChapter: a chapter could not be released.
        CourseError: a notebook in source/ has tests or points of the instructor's own,
            or nbgrader would find nothing in such a folder, or the settings cannot be
            used.
    """
    use_course(folder)
    for name in names or ():
        require_topic(name)
    folder = folder.resolve()
    require_no_pattern(folder)
    folder.mkdir(parents=True, exist_ok=True)
    settings = folder / "nbgrader_config.py"
    if not settings.exists():
        lines = [
            f"# c.Limits.{field.name} = {field.default!r}" for field in fields(Limits)
        ]
        text = CONFIG_FILE.format(stub=STUB, limits="\n".join(lines))
        write_atomically(settings, text)
    config = usable_configuration(folder)
    config.CourseDirectory.root = str(folder)
    config.CourseDirectory.db_url = gradebook_address(folder, config)
    api = NbGraderAPI(config=config)
    api.log_level = "ERROR"
    names = names or chapter_names()
    for name in progress(names):
        _write_source(folder / "source" / name, name)
        with _kept_if_it_fails(folder / "release" / name):
            _release(api, name)
    return names


def _write_source(folder: Path, name: str) -> None:
    """Write what is missing of a chapter's notebook, key and cases of one's own."""
    path = folder / f"{name}.ipynb"
    if path.exists():
        kept = _notebook_in(path, "put it right, or remove it to get the book's")
        _require_ours(kept, name, path)
    else:
        write_atomically(path, nbformat.writes(source_notebook(name)) + "\n")
    if cases := cases_of(name):
        _require_a_bank_that_cases_catch(name)
        write_atomically(folder / "exercises" / cases.name, cases.read_bytes())
    if not (key := path.with_suffix(".key")).exists():
        write_key(name, key)


def _release(api: NbGraderAPI, name: str) -> None:
    """Have nbgrader make the students' notebook of a chapter.

    Raises:
        BrokenChapter: it could not.
    """
    result = api.generate_assignment(name, force=True, create=True)
    if result["success"]:
        return
    errors = re.findall(r"^\s*[\w.]+Error: .*$", result["log"], re.MULTILINE)
    why = (errors or [result["log"]])[-1].strip()
    if _CELLS_CHANGED in why:
        why = (
            f"questions were added to source/{name} or taken out since it was graded. "
            "Put them back; or note marks by hand, give all up with `nbgrader db "
            f"assignment remove {name} --force`, release and grade again"
        )
    raise BrokenChapter(f"nbgrader could not release {name}: {why}")


def _require_a_bank_that_cases_catch(name: str) -> None:
    """Make sure that every known mistake of a topic of one's own loses points.

    The tests of the book do this for its own topics.

    Raises:
        BrokenChapter: one gets all points.
    """
    topic = load_topic(name)
    for exercise in topic.exercises.values():
        expected = expect(topic, exercise, public_seeds(exercise))
        for known in expected.mistakes:
            report = mark(exercise, known.answers, expected)
            if report.score == report.max_score:
                raise BrokenChapter(
                    f"the mistake {known.name} of {exercise.name} gets all points: "
                    "write a case in which it goes wrong, or take it out"
                )


def _notebook_in(path: Path, what_to_do: str) -> NotebookNode:
    """A notebook of a course, which an instructor may have changed.

    Raises:
        CourseError: it is none.
    """
    try:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        notebook.metadata.kernelspec.name  # noqa: B018 (submissions are compared with it)
    except _NO_NOTEBOOK as error:
        raise CourseError(
            f"{path} is no notebook ({type(error).__name__}): {what_to_do}"
        ) from error
    return notebook


@contextlib.contextmanager
def _kept_if_it_fails(folder: Path) -> Iterator[None]:
    """Put a folder back as it was if an error is raised.

    It is moved and not copied, since a full disk has no room for a second one. Where a
    command was killed, the next one finds the folder that was moved.
    """
    before = folder.with_name(f".{folder.name}.before")
    if before.exists():
        shutil.rmtree(folder, ignore_errors=True)
    elif folder.exists():
        folder.rename(before)
    try:
        yield
    except BaseException:
        if before.exists():
            shutil.rmtree(folder, ignore_errors=True)
            before.rename(folder)
        raise
    shutil.rmtree(before, ignore_errors=True)
