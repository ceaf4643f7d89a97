"""Which of the files of one person is the notebook of a chapter.

What a notebook holds decides, and not how it is called. One that cannot be read is
taken as it is: grading says why it gets nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from autograder.exercise import topic_names
from autograder.files import Unusable
from autograder.lms.archives import (
    MAX_UNPACKED,
    MAX_UPLOAD,
    Member,
    in_upload,
)
from autograder.lms.owners import Upload
from autograder.notebooks import MAX_FILE_BYTES, is_untouched, parse_notebook
from autograder.submissions.chapters import chapter_in, is_named_after
from autograder.submissions.modules import MAX_MODULES, is_module

# A browser that takes a notebook for a text adds another ending to its name.
_NOTEBOOK = re.compile(r"\.ipynb(?:\.(?:json|txt))?$", re.IGNORECASE)


def choose(
    uploads: Sequence[Upload], chapter: str
) -> tuple[Upload | None, dict[str, Member], list[str]]:
    """The notebook of a chapter among a person's files, with modules beside it.

    Returns:
        The notebook, if there is one of the chapter; it and the modules, by the names
        under which they are kept; and what is not taken, with the reason.
    """
    left: list[str] = []
    found = [file for upload in uploads for file in _opened(upload, left)]
    notebooks, room = [], MAX_UNPACKED
    for file in found:
        if not _NOTEBOOK.search(file.inner):
            continue
        try:
            content = file.member.read(min(MAX_FILE_BYTES, room))
            room -= len(content)
            notebooks.append((_rank(content, chapter, file), file))
        except ValueError as error:
            left.append(f"{file.shown()}: {error}")
    notebooks.sort(key=lambda notebook: notebook[0])
    for _, file in notebooks[1:]:
        left.append(f"{file.shown()}: {notebooks[0][1].shown()} is taken")
    if not notebooks:
        left = left or [f"{file.shown()}: is no notebook" for file in found]
        nothing = f"{uploads[0].shown()}: no notebook is in it"
        return None, {}, left or [nothing]
    best = notebooks[0][1]
    return best, {f"{chapter}.ipynb": best.member, **_modules(best, found, left)}, left


def _opened(upload: Upload, left: list[str]) -> list[Upload]:
    """The files in a ZIP archive that a student handed in, or the file itself."""
    if not upload.inner.casefold().endswith(".zip"):
        return [upload]
    try:
        inside = in_upload(upload.member.read(MAX_UPLOAD))
    except ValueError as error:
        left.append(f"{upload.shown()}: {error}")
        return []
    return [
        replace(upload, member=member, inner="/".join([upload.inner, *member.parts]))
        for member in inside
        if not member.is_note
    ]


def _rank(content: bytes, chapter: str, file: Upload) -> tuple[Any, ...]:
    """How likely a notebook is the one to take; the likeliest is least.

    Raises:
        ValueError: it is the notebook of another chapter; one that cannot be read is
            if its name says so.
    """
    of, blank = None, False
    name = PurePosixPath(file.inner).name
    unlike = not is_named_after(chapter, name)
    try:
        data = parse_notebook(content)
    except Unusable:
        others = [other for other in topic_names() if is_named_after(other, name)]
        if unlike and others:
            raise ValueError(f"is named after another chapter, {others[0]}") from None
    else:
        of, blank = chapter_in(data, chapter), is_untouched(data)
        if of not in (chapter, None):
            raise ValueError(f"is the notebook of another chapter, {of}")
    return (of is None, blank, -file.named.upload, unlike, len(name), file.inner)


def _modules(
    best: Upload, files: Sequence[Upload], left: list[str]
) -> dict[str, Member]:
    """Files of Python beside a notebook, by the name that it imports them by."""
    folder = PurePosixPath(best.inner).parent
    found: dict[str, Member] = {}
    for file in sorted(files, key=lambda file: file.inner):
        path = PurePosixPath(file.inner)
        if path.is_relative_to(folder) and file.member.size <= MAX_MODULES:
            name = str(path.relative_to(folder))
            if not is_module(name):
                continue
            try:
                file.member.read(MAX_MODULES)
                found.setdefault(name, file.member)
            except ValueError as error:
                left.append(f"{file.shown()}: {error}")
    return found
