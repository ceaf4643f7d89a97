"""What students handed in: one submission for each folder in ``submitted/``.

Nothing of a folder is trusted: links are not followed, only a plain file of moderate
size is read, and a name that could mean more than itself is refused.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from autograder.rebuild import MAX_FILE_BYTES, Unusable, plain_file

_BAD_NAME = re.compile("[/\\\\*?\\[\\]\x00-\x1f\x7f-\x9f\ud800-\udfff]|^\\.")
MAX_NAME = 216  # bytes, so that files may be named after a student


class NothingSubmitted(RuntimeError):
    """There is nothing to grade."""


@dataclass(frozen=True)
class Submission:
    """A submission as it was found: its bytes, or why there are none.

    Attributes:
        student: name of the folder, nbgrader's id of the student.
        content: bytes of the notebook.
        unusable: why there is no notebook to examine, if there is none.
        timestamp: what ``timestamp.txt`` says.
        note: an irregularity that costs nothing.
    """

    student: str
    content: bytes
    unusable: str | None = None
    timestamp: str | None = None
    note: str | None = None

    @property
    def digest(self) -> str:
        """Changes when what was handed in changes."""
        text = f"{self.unusable}\0{self.timestamp}\0".encode(errors="replace")
        return hashlib.sha256(text + self.content).hexdigest()


def students(
    submitted: Path, longest: int = MAX_NAME
) -> tuple[list[str], dict[str, str]]:
    """Names of the folders that can be graded, and of those that cannot, with why.

    Args:
        submitted: the folder of all submissions.
        longest: characters that a gradebook takes for a name.

    Raises:
        NothingSubmitted: there are no folders.
    """
    usable, refused = [], {}
    for entry in sorted(submitted.iterdir()) if submitted.is_dir() else []:
        folder = entry.is_dir() and not entry.is_symlink()
        if not folder and entry.name.startswith("."):
            continue  # a file that some system leaves everywhere
        if not folder:
            refused[printable(entry.name)] = "not a folder"
        elif _BAD_NAME.search(entry.name):
            refused[printable(entry.name)] = (
                "the name has a path separator, a control or glob character, a leading "
                "dot or bytes that are no text: rename the folder"
            )
        elif len(entry.name.encode()) > MAX_NAME or len(entry.name) > longest:
            refused[entry.name[:40] + "..."] = (
                f"the name has more than {min(longest, MAX_NAME)} characters or bytes: "
                "rename the folder"
            )
        else:
            usable.append(entry.name)
    if not usable and not refused:
        raise NothingSubmitted(
            f"nothing was submitted: {submitted} has no folders; each is to hold "
            "STUDENT/CHAPTER/CHAPTER.ipynb"
        )
    return usable, refused


def printable(name: str) -> str:
    """A name as it may be shown in a terminal."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "replace").decode()
        for c in name
    )


def read(submitted: Path, student: str, chapter: str) -> Submission:
    """Read a submission; anything but a plain file of moderate size is unusable."""
    try:
        return _read(submitted / student / chapter, student, chapter)
    except OSError as error:
        reason = f"{error.filename or student} cannot be read: {error.strerror}"
        return Submission(student, b"", reason)


def _read(folder: Path, student: str, chapter: str) -> Submission:
    if folder.is_symlink() or not folder.is_dir():
        reason = f"nothing was submitted for {chapter}"
        return Submission(student, b"", reason)
    timestamp, note = _timestamp(folder / "timestamp.txt")
    path = folder / f"{chapter}.ipynb"
    if not os.path.lexists(path):
        others = sorted(folder.glob("*.ipynb"))[:2]
        if len(others) != 1:
            reason = f"no notebook {chapter}.ipynb was submitted"
            return Submission(student, b"", reason, timestamp, note)
        path, note = others[0], f"the notebook was named {printable(others[0].name)}"
    try:
        content = plain_file(path, MAX_FILE_BYTES)
    except Unusable as error:
        return Submission(student, b"", str(error), timestamp, note)
    return Submission(student, content, None, timestamp, note)


def _timestamp(path: Path) -> tuple[str | None, str | None]:
    """What a time stamp file says, and a note if it cannot be read."""
    if not os.path.lexists(path):
        return None, None
    try:
        text = plain_file(path, 1000).decode("utf-8-sig").strip()
    except (Unusable, UnicodeDecodeError):
        return None, "the time stamp could not be read"
    return text or None, None
