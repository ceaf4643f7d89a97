"""Read the settings of an nbgrader course that the grader uses."""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass, fields
from pathlib import Path

from jupyter_core.paths import jupyter_config_path
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError
from traitlets.config import Config, ConfigFileNotFound, PyFileConfigLoader

from autograder.errors import AutograderError
from autograder.sandbox.bubblewrap import shown_folder
from autograder.sandbox.limits import LEAST, MOST, Limits
from autograder.shell import command

# Where this grader looks for everything; nbgrader's settings may say otherwise.
_FOLDERS = {
    **{
        f"{step}_directory": step
        for step in ("source", "release", "submitted", "autograded", "feedback")
    },
    "directory_structure": "{nbgrader_step}/{student_id}/{assignment_id}",
}


class CourseError(AutograderError):
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
            f"{course} is no course: make one with `{command('course', course)}`"
        )
    config = usable_configuration(course)
    _require_hidden(config)
    late = {"AssignLatePenalties", "LateSubmissionPlugin"} & set(config)
    if late and str(course) not in sys.path:
        sys.path.append(str(course))  # where nbgrader looks for a course's own plugins
    return Settings(
        gradebook_address(course, config),
        str(config.CourseDirectory.get("course_id", "")),
        _limits(config),
        config if late else None,
    )


def usable_configuration(course: Path) -> Config:
    """The settings, if the folders of the course have their usual names.

    Raises:
        CourseError: they have others, or the settings cannot be read.
    """
    try:
        config = configuration(course)
    except Exception as error:
        raise CourseError(
            f"{course / 'nbgrader_config.py'} cannot be read: {error}"
        ) from error
    _require_usual_folders(config)
    _put_scripts_on_path()
    return config


def _put_scripts_on_path() -> None:
    """Let nbgrader find ``alembic``, which it calls by name, without activation."""
    scripts = str(Path(sys.executable).parent)
    path = os.environ.get("PATH", os.defpath)
    if scripts not in path.split(os.pathsep):
        os.environ["PATH"] = f"{scripts}{os.pathsep}{path}"


def _require_usual_folders(config: Config) -> None:
    """Refuse other names for the folders of a course than nbgrader's defaults.

    Raises:
        CourseError: the settings have some.
    """
    for name, usual in _FOLDERS.items():
        given = config.CourseDirectory.get(name, usual)
        if str(given).replace("\\", "/") != usual:
            raise CourseError(
                f"nbgrader_config.py sets c.CourseDirectory.{name} = {given!r}; "
                f"expected {usual!r}, nbgrader's default, since this grader knows the "
                "folders of a course by these names: remove the line, and rename the "
                "folder"
            )


def _require_hidden(config: Config) -> None:
    """Refuse an exchange that lies where submissions may read."""
    given = config.Exchange.get("root") if "Exchange" in config else None
    if isinstance(given, str) and (shown := shown_folder(Path(given).resolve())):
        raise CourseError(
            f"c.Exchange.root is {given!r}, but submissions may read {shown}: move the "
            "exchange to a folder of its own, such as /srv/nbgrader/exchange"
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


def configuration(course: Path) -> Config:
    """The settings, from the same files as nbgrader's: the course's come first."""
    config = Config()
    for folder in [*reversed(jupyter_config_path()), str(course)]:
        with contextlib.suppress(ConfigFileNotFound):
            loader = PyFileConfigLoader("nbgrader_config.py", path=folder)
            config.merge(loader.load_config())
    return config


def gradebook_address(course: Path, config: Config) -> str:
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
    if address.get_backend_name() == "sqlite" and address.database:
        address = address.set(database=str(course / address.database))
    return address.render_as_string(hide_password=False)


def require_no_pattern(folder: Path) -> None:
    """Make sure that the path of a folder matches itself where nbgrader searches it.

    Raises:
        CourseError: it does not.
    """
    if "[" in str(folder):
        raise CourseError(
            f"{folder} has a square bracket in its path, which nbgrader takes for a "
            "pattern, so it would find no notebook there: choose another name"
        )
