"""What was collected from a system, so that marks and pages find their way back.

``collected/CHAPTER.json`` says for each student what the system calls the person and
the file; ``collected/roster.csv`` and ``collected/CHAPTER_worksheet.csv`` are class
lists, as they were given.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from autograder.files import write_atomically
from autograder.lms.names import CANVAS, GRADESCOPE, MOODLE
from autograder.lms.roster import Person, Roster, read_roster

# What identifies a person in a whole course, by system; Moodle numbers anew each time.
COURSE_WIDE = (CANVAS, GRADESCOPE)


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


def read_record(course: Path, chapter: str) -> dict[str, HandedIn]:
    """What was collected of a chapter, by student."""
    known = {field.name for field in fields(HandedIn)}
    try:
        data = json.loads(_record(course, chapter).read_text(encoding="utf-8"))
        return {
            student: HandedIn(**{k: v for k, v in entry.items() if k in known})
            for student, entry in data.items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def write_record(course: Path, chapter: str, record: dict[str, HandedIn]) -> None:
    """Keep what was collected of a chapter."""
    data = {student: asdict(entry) for student, entry in sorted(record.items())}
    write_atomically(_record(course, chapter), json.dumps(data, indent=1))


def names_so_far(course: Path, chapter: str) -> dict[tuple[str, str], str]:
    """The students that persons were collected as, by system and id.

    Somebody keeps that name, whatever the system calls the person later.
    """
    found = {}
    for path in sorted((course / "collected").glob("*.json")):
        for student, entry in read_record(course, path.stem).items():
            if path.stem == chapter or entry.system in COURSE_WIDE:
                found.setdefault((entry.system, entry.person), student)
    return found


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


def _record(course: Path, chapter: str) -> Path:
    return course / "collected" / f"{chapter}.json"


def _worksheet(course: Path, chapter: str) -> Path:
    return course / "collected" / f"{chapter}_worksheet.csv"


def _roster(course: Path) -> Path:
    return course / "collected" / "roster.csv"
