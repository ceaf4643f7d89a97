"""An nbgrader course of the book: its folder, its settings."""

from __future__ import annotations

import contextlib
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import nbformat
from jupyter_core.paths import jupyter_config_path
from nbformat import NotebookNode
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError
from traitlets.config import Config, ConfigFileNotFound, PyFileConfigLoader

from autograder.exercise import require_topic
from autograder.gradebook import put_scripts_on_path
from autograder.key import write_key
from autograder.limits import LEAST, MOST, Limits
from autograder.release import (
    STUB,
    BrokenChapter,
    chapter_names,
    points_in,
    source_notebook,
    tests_in,
)

CONFIG_FILE = r'''"""nbgrader's settings for this course."""

c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "attention-from-scratch"
c.ClearSolutions.code_stub = {{"python": "{stub}"}}
c.ExecutePreprocessor.timeout = 120

# What `nbgrader zip_collect` takes from the names of files that Canvas or Moodle packs
# into an archive, such as doejane_123_456_masking-1.ipynb: student and chapter.
c.FileNameCollectorPlugin.named_regexp = (
    r".*/(?P<student_id>[^/_]+)_(?:[^/]*/)?[^/]*?"
    r"(?P<file_id>{chapters})(?:-\d+| ?\(\d+\))?\.ipynb$"
)

# A gradebook elsewhere, for instance in PostgreSQL:
# c.CourseDirectory.db_url = "postgresql+psycopg://user:password@host/gradebook"

# What one submission may use, in bytes and seconds (the values that hold anyway):
{limits}
'''


class CourseError(RuntimeError):
    """A course folder cannot be used; the message says what to do."""


@dataclass(frozen=True)
class Settings:
    """What the grader takes from a course's ``nbgrader_config.py``.

    Attributes:
        gradebook: SQLAlchemy address of the gradebook.
        course_id: nbgrader's name of the course.
        limits: what one submission may use.
        late: nbgrader's settings for late submissions, None if there are none.
    """

    gradebook: str
    course_id: str
    limits: Limits
    late: Config | None = None


def settings_of(course: Path) -> Settings:
    """Read the settings of a course.

    Raises:
        CourseError: the folder is no course, or a setting cannot be used.
    """
    if not (course / "nbgrader_config.py").exists():
        raise CourseError(
            f"{course} is no course: make one with "
            f"`python -m autograder course {course}`"
        )
    try:
        config = _configuration(course)
    except Exception as error:
        raise CourseError(
            f"{course / 'nbgrader_config.py'} cannot be read: {error}"
        ) from error
    late = {"AssignLatePenalties", "LateSubmissionPlugin"} & set(config)
    if late and str(course) not in sys.path:
        sys.path.append(str(course))  # where nbgrader looks for a course's own plugins
    return Settings(
        _gradebook_address(course, config),
        str(config.CourseDirectory.get("course_id", "")),
        _limits(config),
        config if late else None,
    )


def _limits(config: Config) -> Limits:
    given = dict(config.Limits) if "Limits" in config else {}
    known = {field.name for field in fields(Limits)}
    for name, value in given.items():
        if name not in known:
            raise CourseError(
                f"nbgrader_config.py sets c.Limits.{name}; there are "
                f"{', '.join(sorted(known))}"
            )
        least = LEAST.get(name, 0)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (number and value > 0 and least <= value <= MOST):
            expected = f"at least {least}" if least else "a number above 0"
            raise CourseError(
                f"nbgrader_config.py sets c.Limits.{name} = {value!r}; expected "
                f"{expected} and at most {MOST}"
            )
    return Limits(**given)


def _configuration(course: Path) -> Config:
    """The settings, from the same files as nbgrader's: the course's come first."""
    config = Config()
    for folder in [*reversed(jupyter_config_path()), str(course)]:
        with contextlib.suppress(ConfigFileNotFound):
            loader = PyFileConfigLoader("nbgrader_config.py", path=folder)
            config.merge(loader.load_config())
    return config


def _gradebook_address(course: Path, config: Config) -> str:
    """The address of the gradebook; a file is looked for in the course."""
    directory = config.CourseDirectory
    given = directory.db_url if "db_url" in directory else "sqlite:///gradebook.db"
    try:
        address = make_url(str(given))
    except ArgumentError:
        raise CourseError(
            f"nbgrader_config.py sets c.CourseDirectory.db_url = {given!r}, which is "
            "no address of a database, such as sqlite:///gradebook.db"
        ) from None
    if address.drivername.startswith("sqlite") and address.database:
        address = address.set(database=str(course / address.database))
    return address.render_as_string(hide_password=False)


def master_text(course: Path, chapter: str) -> str:
    """JSON text of the notebook as it was released to students.

    Raises:
        UnknownExercise: there is no such chapter.
        CourseError: the course has not released it, or with tests of its own.
    """
    require_topic(chapter)
    path = course / "release" / chapter / f"{chapter}.ipynb"
    if not path.exists():
        raise CourseError(
            f"the course has no release of {chapter} ({path} is missing): run "
            f"`python -m autograder course {course}`"
        )
    try:
        text = path.read_text(encoding="utf-8")
        notebook = nbformat.reads(text, as_version=4)
        nbformat.validate(notebook)
        notebook.metadata.kernelspec.name  # noqa: B018 (the notebook is compared with it)
    except (ValueError, AttributeError, nbformat.ValidationError) as error:
        raise CourseError(
            f"{path} is no notebook ({type(error).__name__}): release it again with "
            f"`python -m autograder course {course} {chapter}`"
        ) from error
    _require_our_tests(notebook, chapter, path)
    return text


def _require_our_tests(notebook: NotebookNode, chapter: str, path: Path) -> None:
    """Make sure that a notebook has no tests that this grader would not run.

    Raises:
        CourseError: it has.
    """
    for name in tests_in(notebook):
        if not name.startswith("check-"):
            raise CourseError(
                f"{path}: {name} is a test of your own, and this grader asks only the "
                "exercises of the book: make it a manually graded cell, or take it out"
            )


def _require_our_points(source: NotebookNode, fresh: NotebookNode, path: Path) -> None:
    """Make sure that exercises have the points that the grader gives.

    Raises:
        CourseError: some have others.
    """
    ours = points_in(fresh)
    for name, points in points_in(source).items():
        if points != ours.get(name, points):
            raise CourseError(
                f"{path}: {name} has {points:g} points, and the grader gives "
                f"{ours[name]:g}: put them back; to weigh a chapter, do so where you "
                "add up the marks"
            )


def make_course(folder: Path, names: list[str] | None = None) -> list[str]:
    """Make an nbgrader course, or add chapters to one, in source and release.

    What is there already is left as it is: settings, gradebook, submissions, and
    source notebooks, which an instructor may have changed. Delete ``source/CHAPTER``
    to get it anew.

    Args:
        folder: the folder of the course.
        names: chapters to release; all of them if None.

    Returns:
        The names of the chapters released.

    Raises:
        UnknownExercise: there is no chapter of one of these names.
        BrokenChapter: a chapter could not be released.
        CourseError: a notebook in source/ has tests or points of the instructor's own.
    """
    from nbgrader.apps.api import NbGraderAPI

    put_scripts_on_path()
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    settings = folder / "nbgrader_config.py"
    if not settings.exists():
        lines = [
            f"# c.Limits.{field.name} = {field.default!r}" for field in fields(Limits)
        ]
        text = CONFIG_FILE.format(
            stub=STUB, limits="\n".join(lines), chapters="|".join(chapter_names())
        )
        settings.write_text(text, encoding="utf-8")
    names = names or chapter_names()
    for name in names:
        path = folder / "source" / name / f"{name}.ipynb"
        notebook = source_notebook(name)
        if path.exists():
            kept = nbformat.read(path, as_version=4)
            _require_our_tests(kept, name, path)
            _require_our_points(kept, notebook, path)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            nbformat.write(notebook, path)
            write_key(name, path.with_suffix(".key"))
    config = _configuration(folder)
    config.CourseDirectory.root = str(folder)
    config.CourseDirectory.db_url = _gradebook_address(folder, config)
    api = NbGraderAPI(config=config)
    api.log_level = "ERROR"
    for name in names:
        with _kept_if_it_fails(folder / "release" / name):
            result = api.generate_assignment(name, force=True, create=True)
            if not result["success"]:
                errors = re.findall(r"^\s*\w+Error: .*$", result["log"], re.MULTILINE)
                why = (errors or [result["log"]])[-1].strip()
                raise BrokenChapter(f"nbgrader could not release {name}: {why}")
    return names


@contextlib.contextmanager
def _kept_if_it_fails(folder: Path) -> Iterator[None]:
    """Put a folder back as it was if an error is raised."""
    with tempfile.TemporaryDirectory() as elsewhere:
        copy = Path(elsewhere) / folder.name
        if folder.exists():
            shutil.copytree(folder, copy)
        try:
            yield
        except BaseException:
            if copy.exists():
                shutil.copytree(copy, folder, dirs_exist_ok=True)
            raise
