"""Class lists and names of uploads, with which marks and pages go back.

``collected/CHAPTER.json`` has for each student what the system called the upload.
Beside it are the class lists, as they were given: Canvas's, Gradescope's and one by
hand hold for the course, Moodle's worksheet for its chapter.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from autograder.errors import AutograderError
from autograder.files import write_atomically
from autograder.lms.names import CANVAS, GRADESCOPE, MOODLE
from autograder.lms.roster import BY_HAND, Person, Roster, read_roster


@dataclass(frozen=True)
class HandedIn:
    """How a system knows a submission.

    Attributes:
        system: which one.
        place: its name of the file, or of the folder.
        upload: its number of the upload; 0 if it gives none.
    """

    system: str
    place: str
    upload: int = 0


def read_upload_ids(course: Path, chapter: str) -> dict[str, HandedIn]:
    """How a system knows the submissions to a chapter, by student.

    Raises:
        AutograderError: the file was damaged. Going on without it would leave no way to
            return marks.
    """
    path = _ids_path(course, chapter)
    names = [field.name for field in fields(HandedIn)]
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return {
            student: HandedIn(**{n: entry[n] for n in names})
            for student, entry in data.items()
        }
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise AutograderError(
            f"{path} does not hold the ids that `collect` wrote: restore a copy of it, "
            "or remove it and collect the archives of the chapter again"
        ) from None


def write_upload_ids(course: Path, chapter: str, uploads: dict[str, HandedIn]) -> None:
    """Keep how a system knows the submissions to a chapter."""
    data = {student: asdict(entry) for student, entry in sorted(uploads.items())}
    write_atomically(_ids_path(course, chapter), json.dumps(data, indent=1))


def keep_list(course: Path, chapter: str, roster: Roster) -> None:
    """Keep a class list, in place of the last one of its system."""
    path = _list_path(course, chapter, roster.system)
    write_atomically(path, roster.table.path.read_bytes())


def kept_list(course: Path, chapter: str, system: str) -> Roster | None:
    """The class list of a system, if there is one.

    Raises:
        BadTable: it was changed, and something in it is wrong.
    """
    path = _list_path(course, chapter, system)
    return read_roster(path) if path.exists() else None


def people_in(course: Path, chapter: str) -> dict[str, Person]:
    """Everybody whom a class list names, by student, with the ids of all lists.

    Args:
        course: folder of the course.
        chapter: whose worksheet of Moodle is read too.

    Raises:
        BadTable: a list was changed, and something in it is wrong.
    """
    found: dict[str, Person] = {}
    for system in (CANVAS, GRADESCOPE, MOODLE, BY_HAND):
        listed = kept_list(course, chapter, system)
        for person in listed.people if listed else ():
            known = found.get(person.student, person)
            ids = {k: v for k, v in person.ids.items() if v}
            found[person.student] = replace(person, ids={**known.ids, **ids})
    return found


def _ids_path(course: Path, chapter: str) -> Path:
    return course / "collected" / f"{chapter}.json"


def _list_path(course: Path, chapter: str, system: str) -> Path:
    held = {MOODLE: f"{chapter}_worksheet", BY_HAND: "roster"}.get(system, system)
    return course / "collected" / f"{held}.csv"
