"""An nbgrader course of the book: its folder, its settings."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import nbformat
from traitlets.config import Config, PyFileConfigLoader

from autograder.exercise import require_topic
from autograder.gradebook import put_scripts_on_path
from autograder.key import write_key
from autograder.limits import LEAST, Limits
from autograder.release import STUB, BrokenChapter, chapter_names, source_notebook

CONFIG_FILE = r'''"""nbgrader's settings for this course."""

c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "attention-from-scratch"
c.ClearSolutions.code_stub = {{"python": "{stub}"}}
c.ExecutePreprocessor.timeout = 120

# What `nbgrader zip_collect` takes from the names of files that Canvas or Moodle packs
# into an archive, such as doejane_123_456_masking-1.ipynb: student and chapter.
c.FileNameCollectorPlugin.named_regexp = (
    r".*/(?P<student_id>[^/_]+)_[^/]*?"
    r"(?P<file_id>{chapters})(?:-\d+)?\.ipynb$"
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
    directory = config.CourseDirectory
    url = directory.db_url if "db_url" in directory else None
    return Settings(
        str(url or f"sqlite:///{course / 'gradebook.db'}"),
        str(directory.get("course_id", "")),
        _limits(config),
        config
        if {"AssignLatePenalties", "LateSubmissionPlugin"} & set(config)
        else None,
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
        if not isinstance(value, int | float) or value < least or value <= 0:
            expected = f"at least {least}" if least else "a number above 0"
            raise CourseError(
                f"nbgrader_config.py sets c.Limits.{name} = {value!r}; expected "
                f"{expected}"
            )
    return Limits(**given)


def _configuration(course: Path) -> Config:
    return PyFileConfigLoader("nbgrader_config.py", path=str(course)).load_config()


def master_text(course: Path, chapter: str) -> str:
    """JSON text of the notebook as it was released to students.

    Raises:
        UnknownExercise: there is no such chapter.
        CourseError: the course has not released it.
    """
    require_topic(chapter)
    path = course / "release" / chapter / f"{chapter}.ipynb"
    if not path.exists():
        raise CourseError(
            f"the course has no release of {chapter} ({path} is missing): run "
            f"`python -m autograder course {course}`"
        )
    return path.read_text(encoding="utf-8")


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
        if not path.exists():
            notebook = source_notebook(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            nbformat.write(notebook, path)
            write_key(name, path.with_suffix(".key"))
    config = _configuration(folder)
    config.CourseDirectory.root = str(folder)
    api = NbGraderAPI(config=config)
    api.log_level = "ERROR"
    for name in names:
        result = api.generate_assignment(name, force=True, create=True)
        if not result["success"]:
            raise BrokenChapter(f"nbgrader could not release {name}:\n{result['log']}")
    return names
