"""The ids of people and uploads in a system, with which marks and pages go back.

``collected/CHAPTER.json`` has for each student the system's ids of the person and the
file; ``collected/roster.csv`` and ``collected/CHAPTER_worksheet.csv`` are class
lists, as they were given.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from autograder.errors import AutograderError
from autograder.files import write_atomically
from autograder.lms.names import MOODLE
from autograder.lms.roster import Person, Roster, read_roster


class BadIds(AutograderError):
    """What was kept of the ids of people cannot be read."""


@dataclass(frozen=True)
class HandedIn:
    """How a system knows a submission.

    Attributes:
        system: which one.
        person: its id of the person.
        name: what it calls the person.
        place: its name of the file, or of the folder.
        upload: its number of the upload; 0 if it gives none.
        late: whether it says so.
        email: of the person, if it tells.
    """

    system: str
    person: str
    name: str
    place: str
    upload: int = 0
    late: bool = False
    email: str = ""


def read_upload_ids(course: Path, chapter: str) -> dict[str, HandedIn]:
    """How a system knows the submissions to a chapter, by student.

    Raises:
        BadIds: the file was damaged. Going on without it would leave no way to return
            marks.
    """
    path = _ids_path(course, chapter)
    known = {field.name for field in fields(HandedIn)}
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return {
            student: HandedIn(**{k: v for k, v in entry.items() if k in known})
            for student, entry in data.items()
        }
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise BadIds(
            f"{path} does not hold the ids that `collect` wrote: restore a copy of it, "
            "or remove it and collect the archives of the chapter again"
        ) from None


def write_upload_ids(course: Path, chapter: str, uploads: dict[str, HandedIn]) -> None:
    """Keep how a system knows the submissions to a chapter."""
    data = {student: asdict(entry) for student, entry in sorted(uploads.items())}
    write_atomically(_ids_path(course, chapter), json.dumps(data, indent=1))


def keep_roster(course: Path, chapter: str, roster: Roster) -> None:
    """Keep a class list for the exports of a chapter or, if it holds, of the course."""
    path = _worksheet(course, chapter) if roster.system == MOODLE else _roster(course)
    write_atomically(path, roster.table.path.read_bytes())


def kept_worksheet(course: Path, chapter: str) -> Roster | None:
    """Moodle's worksheet of a chapter, if there is one.

    Raises:
        BadTable: it was changed, and something in it is wrong.
    """
    path = _worksheet(course, chapter)
    return read_roster(path) if path.exists() else None


def kept_roster(course: Path) -> Roster | None:
    """The class list of the course, if there is one.

    Raises:
        BadTable: it was changed, and something in it is wrong.
    """
    path = _roster(course)
    return read_roster(path) if path.exists() else None


def people_in(course: Path, chapter: str) -> dict[str, Person]:
    """Everybody whom a class list names, by student."""
    lists = [kept_roster(course), kept_worksheet(course, chapter)]
    return {
        person.student: person for found in lists if found for person in found.people
    }


def _ids_path(course: Path, chapter: str) -> Path:
    return course / "collected" / f"{chapter}.json"


def _worksheet(course: Path, chapter: str) -> Path:
    return course / "collected" / f"{chapter}_worksheet.csv"


def _roster(course: Path) -> Path:
    return course / "collected" / "roster.csv"
