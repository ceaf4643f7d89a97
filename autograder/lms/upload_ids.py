"""The ids of people and uploads in a system, with which marks and pages go back.

``collected/CHAPTER.json`` has for each student the system's ids of the person and the
file; ``collected/roster.csv`` and ``collected/CHAPTER_worksheet.csv`` are class
lists, as they were given.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path

from autograder.errors import AutograderError
from autograder.files import write_atomically
from autograder.lms.members import safe
from autograder.lms.names import CANVAS, GRADESCOPE, MOODLE
from autograder.lms.roster import Person, Roster, read_roster
from autograder.lms.whose import with_names_kept
from autograder.submissions.submitted import folder_of

# What identifies a person in a whole course, by system; Moodle numbers anew each time.
COURSE_WIDE = (CANVAS, GRADESCOPE)


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
        BadIds: the file was damaged. Going on without it would give people other names,
            and keep no way to return their marks.
    """
    path = _ids_path(course, chapter)
    try:
        found = path.stat()
        return dict(_parsed(path, found.st_ino, found.st_mtime_ns, found.st_size))
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise BadIds(
            f"{path} does not hold the ids that `collect` wrote: restore a copy of it, "
            "or remove it and collect the archives of the chapter again"
        ) from None


@lru_cache(maxsize=64)
def _parsed(path: Path, *state: int) -> dict[str, HandedIn]:
    """The ids in a file; it is parsed once, since each class list reads all of them.

    Args:
        path: of the file.
        state: of the file; another one when it changes.
    """
    known = {field.name for field in fields(HandedIn)}
    data = json.loads(path.read_text(encoding="utf-8"))
    return {
        student: HandedIn(**{k: v for k, v in entry.items() if k in known})
        for student, entry in data.items()
    }


def write_upload_ids(course: Path, chapter: str, uploads: dict[str, HandedIn]) -> None:
    """Keep how a system knows the submissions to a chapter."""
    data = {student: asdict(entry) for student, entry in sorted(uploads.items())}
    write_atomically(_ids_path(course, chapter), json.dumps(data, indent=1))


def names_so_far(course: Path, chapter: str) -> dict[tuple[str, str], str]:
    """The students that persons were collected as, by system and id.

    Somebody keeps that name, whatever the system calls the person later. Gradescope has
    two ids of a person, of which the address is one.
    """
    found = {}
    for path in sorted((course / "collected").glob("*.json")):
        for student, entry in read_upload_ids(course, path.stem).items():
            if path.stem == chapter or entry.system in COURSE_WIDE:
                found.setdefault((entry.system, entry.person), student)
                if entry.system == GRADESCOPE and entry.email:
                    found.setdefault((GRADESCOPE, safe(entry.email)), student)
    return found


def addresses_of_sids(course: Path) -> dict[str, set[str]]:
    """The addresses that SIDs of Gradescope were collected with, in lower case."""
    found: dict[str, set[str]] = {}
    for path in sorted((course / "collected").glob("*.json")):
        for entry in read_upload_ids(course, path.stem).values():
            if entry.system == GRADESCOPE and entry.email:
                sid, email = entry.person.casefold(), entry.email.casefold()
                found.setdefault(sid, set()).add(email)
    return found


def read_class_list(course: Path, chapter: str, path: Path) -> Roster:
    """A class list; whoever was collected under another name before keeps that.

    Raises:
        Unusable: it is no file that can be read.
        BadTable: something in it is wrong; then nothing of it is used.
    """
    addresses: dict[str, str] = {}
    for file in sorted((course / "collected").glob("*.json")):
        for student, entry in read_upload_ids(course, file.stem).items():
            if entry.email:
                addresses.setdefault(entry.email.casefold(), student)
    names = names_so_far(course, chapter)

    def are_two(one: str, other: str) -> bool:
        """Whether both have handed in one chapter, so that passback has to ask."""
        return one != other and not _chapters(course, one).isdisjoint(
            _chapters(course, other)
        )

    return with_names_kept(read_roster(path), names, addresses, are_two)


def _chapters(course: Path, student: str) -> set[str]:
    """What a student has handed in, or was graded in."""
    found = {p.name for p in folder_of(course / "submitted", student).glob("*")}
    reports = (course / "reports").glob(f"*/{student}.json")
    return found | {path.parent.name for path in reports}


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
    return read_class_list(course, chapter, path) if path.exists() else None


def kept_roster(course: Path) -> Roster | None:
    """The class list of the course, if there is one.

    Raises:
        BadTable: it was changed, and something in it is wrong.
    """
    path = _roster(course)
    return read_class_list(course, "", path) if path.exists() else None


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
