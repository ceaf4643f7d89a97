"""Topics of an instructor's own: where they lie, beside those of the book.

A course may hold the same files as the book, under the same names: ``chapters/``,
``exercises/``, ``solutions/`` and ``solutions/mistakes/``. These folders extend the
search paths of the packages that hold the book's, so that every part of the grader
treats a topic of the course like one of the book.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from pathlib import Path

from autograder.errors import AutograderError

# The folder of the course, for the processes that this one starts.
VARIABLE = "AUTOGRADER_COURSE"
FOLDERS = {
    "autograder.exercises": "exercises",
    "solutions": "solutions",
    "solutions.mistakes": "solutions/mistakes",
}


class TakenName(AutograderError):
    """A topic of the course has the name of one of the book."""


def use_course(course: Path) -> None:
    """Find the topics of a course from now on, here and in processes started from here.

    Args:
        course: its folder; nothing changes if it holds no topics.

    Raises:
        TakenName: one of them has the name of a topic of the book.
    """
    exercises = course / "exercises"
    if not exercises.is_dir():
        return
    (books, *_) = importlib.import_module("autograder.exercises").__path__
    for file in sorted(exercises.glob("*.py")):
        if (Path(books) / file.name).is_file():
            raise TakenName(
                f"{file} has the name of a topic of the book; give it another one"
            )
    os.environ[VARIABLE] = str(course.resolve())


def course_in_use() -> Path | None:
    """The folder whose topics are found beside the book's, if there is one.

    Without a command that named one, it is the folder of a notebook that was handed out
    with its ``exercises/``.
    """
    named = os.environ.get(VARIABLE)
    here = Path(named) if named else Path.cwd()
    return here if (here / "exercises").is_dir() else None


def search_path(package: str) -> list[str]:
    """Where modules of a package are looked for: the book's folder, then the course's.

    Args:
        package: one of ``FOLDERS``; it is extended so that imports find the same.
    """
    module = importlib.import_module(package)
    course = course_in_use()
    if course is not None:
        own = str(course / FOLDERS[package])
        if own not in module.__path__:
            module.__path__.append(own)
            importlib.invalidate_caches()
    return list(module.__path__)


def has_module(name: str) -> bool:
    """Whether book or course have the file of a module such as ``solutions.x``."""
    package, _, topic = name.rpartition(".")
    return any(
        (Path(folder) / f"{topic}.py").is_file() for folder in search_path(package)
    )


def chapter_file(name: str, chapters: Path) -> Path:
    """The file of a chapter: in the book's folder or in that of the course.

    Args:
        name: of the topic.
        chapters: the folder of the book's chapters.
    """
    course = course_in_use()
    own = course / "chapters" / f"{name}.md" if course else None
    return own if own is not None and own.is_file() else chapters / f"{name}.md"


def cases_of(name: str) -> Path | None:
    """The file with the cases of a topic if it is one of the course, else None."""
    course = course_in_use()
    file = course / "exercises" / f"{name}.py" if course else None
    return file if file is not None and file.is_file() else None
