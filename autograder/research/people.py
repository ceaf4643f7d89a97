"""The people of a course, with every name that it knows for them, and salted ids."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import re
import secrets
from pathlib import Path

from autograder.errors import AutograderError
from autograder.lms.upload_ids import people_in, read_upload_ids
from autograder.marks.class_list import names_in
from autograder.release.settings import settings_of
from autograder.submissions.submitted import NothingSubmitted, students

SALT = "research_salt"  # a file in the course folder
_SALT = re.compile(r"[0-9a-f]{64}\s*")


class BadSalt(AutograderError):
    """The file of the salt holds something else."""


def salt_of(course: Path) -> bytes:
    """The salt of a course, made when it is first asked for; only its owner reads it.

    Raises:
        BadSalt: the file was changed.
    """
    path = course / SALT
    with contextlib.suppress(FileExistsError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        fd = os.open(path, flags, 0o600)
        try:
            with os.fdopen(fd, "w") as file:
                file.write(secrets.token_hex(32) + "\n")
        except BaseException:  # half a salt would be taken for a changed one
            path.unlink()
            raise
    path.chmod(0o600)
    text = path.read_text(encoding="ascii", errors="replace")
    if not _SALT.fullmatch(text):
        raise BadSalt(
            f"{path} is not the salt that was written there, 64 hexadecimal digits: "
            "restore it, or remove it, and everybody gets a new id"
        )
    return bytes.fromhex(text.strip())


def salted_id(salt: bytes, student: str) -> str:
    """An id that nobody without the salt can work out from the student's."""
    digest = hmac.new(salt, student.encode("utf-8", "replace"), hashlib.sha256)
    return "p" + digest.hexdigest()[:16]


def known_names(course: Path, chapters: list[str]) -> dict[str, set[str]]:
    """By student, every name, address and number that the course has for the person.

    From the folders of submissions, the gradebook, the class lists, and what the
    systems said from which submissions were collected.

    Raises:
        CourseError: the folder is no course.
        GradebookError: the gradebook cannot be read.
        BadTable: a class list was changed, and cannot be used any more.
    """
    settings = settings_of(course)
    found: dict[str, set[str]] = {}
    with contextlib.suppress(NothingSubmitted):
        for name in students(course / "submitted")[0]:
            found.setdefault(name, set()).add(name)
    for student, names in names_in(settings.gradebook, settings.course_id).items():
        found.setdefault(student, {student}).update(names)
    for chapter in chapters:
        for student, person in people_in(course, chapter).items():
            # A section is shared by many, and names nobody.
            ids = [value for kind, value in person.ids.items() if kind != "section"]
            found.setdefault(student, {student}).update([person.name, *ids])
        for student, entry in read_upload_ids(course, chapter).items():
            told = {entry.name, entry.person, entry.email}
            found.setdefault(student, {student}).update(told)
    return {student: names - {""} for student, names in found.items()}
