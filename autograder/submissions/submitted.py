"""What students handed in: one submission for each folder in ``submitted/``.

Nothing of a folder is trusted: links are not followed, only a plain file of moderate
size is read, and a name that could act as a path or a pattern is refused.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.errors import AutograderError, GraderFault
from autograder.files import Inaccessible, Unusable, plain_file, printable
from autograder.notebooks import MAX_FILE_BYTES, is_untouched, parse_notebook
from autograder.submissions.chapters import chapter_in, is_named_after
from autograder.submissions.modules import modules_named_in

_BAD_NAME = re.compile("[/\\\\*?\\[\\]\x00-\x1f\x7f-\x9f\ud800-\udfff]|^\\.")
_NOTEBOOK = re.compile(r"(?!\.).*\.ipynb(?:\.json|\.txt)?", re.IGNORECASE | re.DOTALL)
MAX_NAME = 128  # characters, as nbgrader declares the column
MAX_BYTES = 216  # of a name, so that files may be named after a student
MOST_COPIES = 4  # that are read to find work in them


class NothingSubmitted(AutograderError):
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
        modules: files of Python beside the notebook that it names, with their text.
    """

    student: str
    content: bytes
    unusable: str | None = None
    timestamp: str | None = None
    note: str | None = None
    modules: tuple[tuple[str, str], ...] = ()

    @property
    def digest(self) -> str:
        """Changes when what was handed in changes."""
        text = f"{self.unusable}\0{self.timestamp}\0".encode(errors="replace")
        beside = repr(self.modules).encode() if self.modules else b""
        return hashlib.sha256(text + self.content + beside).hexdigest()

    def is_told_by(self, report: Mapping[str, Any]) -> bool:
        """Whether a report is on this submission, and not on an earlier one."""
        return report.get("submission") == self.digest


def students(submitted: Path) -> tuple[list[str], dict[str, str]]:
    """Names of the folders that can be graded, and of those that cannot, with why.

    Raises:
        NothingSubmitted: there are no folders.
    """
    usable, refused = [], {}
    for entry in sorted(submitted.iterdir()) if submitted.is_dir() else []:
        folder = entry.is_dir() and not entry.is_symlink()
        if not folder and entry.name.startswith("."):
            continue  # a file such as .DS_Store
        if not folder:
            refused[printable(entry.name)] = "not a folder"
        elif why := bad_name(entry.name):
            dots = "..." if len(entry.name) > 40 else ""
            refused[printable(entry.name[:40]) + dots] = f"{why}: rename the folder"
        else:
            usable.append(entry.name)
    if not usable and not refused:
        raise NothingSubmitted(
            f"nothing was submitted: {submitted} has no folders; each is to hold "
            "STUDENT/CHAPTER/CHAPTER.ipynb"
        )
    return usable, refused


def bad_name(name: str) -> str | None:
    """Why a name cannot be that of a student; ``None`` if it can.

    It is that of a folder, and nbgrader's id of the student.
    """
    if _BAD_NAME.search(name):
        return (
            "the name has a path separator, a control or glob character, a leading dot "
            "or bytes that are no text"
        )
    if len(name) > MAX_NAME or len(name.encode()) > MAX_BYTES:
        return f"the name has more than {MAX_NAME} characters or {MAX_BYTES} bytes"
    if not unicodedata.is_normalized("NFC", name):  # as in some copies through a Mac
        return "the name has letters in two parts, such as u and ¨ in place of ü"
    return None


def handed_in(submitted: Path, student: str, chapter: str) -> bool:
    """Whether there is anything of a student for a chapter, usable or not.

    An empty folder is nothing: collecting and syncing make such folders. Nor is one in
    which only hidden files are, such as those that a killed command had not finished.
    """
    folder = submitted / student / chapter
    try:
        names = [entry.name for entry in folder.iterdir()]
        return any(not n.startswith(".") or n.endswith(".ipynb") for n in names)
    except NotADirectoryError:
        return True
    except FileNotFoundError:
        return folder.is_symlink()
    except OSError:  # ``read`` says what is wrong with it
        return True


def read(submitted: Path, student: str, chapter: str) -> Submission:
    """Read a submission; anything but a plain file of moderate size is unusable.

    Raises:
        GraderFault: this machine could not read it.
    """
    try:
        return _read(submitted / student / chapter, student, chapter)
    except Inaccessible as error:
        raise GraderFault(str(error)) from error
    except OSError as error:
        name = printable(str(error.filename or student))
        raise GraderFault(f"{name} cannot be read: {error.strerror}") from error


def _read(folder: Path, student: str, chapter: str) -> Submission:
    if folder.is_symlink() or not folder.is_dir():
        reason = f"what is in the place of the folder {chapter} is none"
        return Submission(student, b"", reason)
    timestamp = _timestamp(folder / "timestamp.txt")
    copies = _copies_in(folder, chapter)
    named = [copy for copy in copies if is_named_after(chapter, copy.name)]
    if not named and len(copies) != 1:
        names = sorted(f.name for f in folder.iterdir() if not f.name.startswith("."))
        found = ", ".join(map(printable, names[:3]))
        reason = f"no notebook {chapter}.ipynb was submitted"
        reason += f"; found {found}" if found else ""
        return Submission(student, b"", reason, timestamp)
    path = _with_work(named or copies, chapter)
    notes, name = [], str(path.relative_to(folder))
    if name != f"{chapter}.ipynb":
        notes.append(f"the notebook was named {printable(name)}")
    others = [printable(copy.name) for copy in copies if copy != path]
    if others:
        notes.append(f"not taken: {', '.join(others[:3])}")
    try:
        content = plain_file(path, MAX_FILE_BYTES)
    except Inaccessible:
        raise
    except Unusable as error:
        said = "; ".join(notes) or None
        return Submission(student, b"", str(error), timestamp, said)
    modules = modules_named_in(path, content)
    if modules:
        notes.append(f"used as well: {', '.join(name for name, _ in modules)}")
    said = "; ".join(notes) or None
    return Submission(student, content, None, timestamp, said, modules)


def _copies_in(folder: Path, chapter: str) -> list[Path]:
    """What may be the notebook, the likeliest first.

    Browsers and mail programs add an ending of their own, and an archive that was
    unpacked has a folder of its own.
    """
    found = [file for file in folder.iterdir() if _NOTEBOOK.fullmatch(file.name)]
    if not found:
        inside = [f for f in folder.iterdir() if f.is_dir() and not f.is_symlink()]
        found = [
            file
            for inner in inside
            if not inner.name.startswith((".", "__"))
            for file in inner.iterdir()
            if _NOTEBOOK.fullmatch(file.name)
        ]

    def unlike(file: Path) -> tuple[bool, int, str]:  # capitals come last
        name = file.name
        return not is_named_after(chapter, name), len(name), name.swapcase()

    return sorted(found, key=unlike)


def read_secret(submitted: Path, student: str, chapter: str) -> str | None:
    """The secret with which ``nbgrader fetch_feedback`` finds a submission's page.

    There is one if it came through nbgrader's exchange.
    """
    path = submitted / student / chapter / "submission_secret.txt"
    try:
        text = plain_file(path, 1000).decode("ascii")
    except (Unusable, UnicodeDecodeError):
        return None
    return text if text.isalnum() else None


def _timestamp(path: Path) -> str | None:
    """What a time stamp file says, which may be no time."""
    if not os.path.lexists(path):
        return None
    try:
        return plain_file(path, 1000).decode("utf-8-sig").strip() or None
    except Inaccessible:
        raise
    except (Unusable, UnicodeDecodeError):
        return "unreadable"


def _with_work(copies: Sequence[Path], chapter: str) -> Path:
    """The likeliest notebook with work on the chapter in it, or else the first.

    Raises:
        Inaccessible: this machine could not read one of them.
    """
    if len(copies) == 1:
        return copies[0]
    some = copies[:MOST_COPIES]
    return next((copy for copy in some if _has_work(copy, chapter)), copies[0])


def _has_work(path: Path, chapter: str) -> bool:
    """Whether a notebook may be of the chapter, and not as it was released."""
    try:
        data = parse_notebook(plain_file(path, MAX_FILE_BYTES))
    except Inaccessible:
        raise
    except Unusable:
        return True
    return not is_untouched(data) and chapter_in(data, chapter) in (chapter, None)
