"""How the systems name what they pack, as their own sources write it.

The id in a name is what the system wrote. Students choose the name before it, where the
system lets them, and all that comes after it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

CANVAS, MOODLE, GRADESCOPE = "canvas", "moodle", "gradescope"
_FORMS = {
    # doejane_LATE_12345_67890_masking.ipynb: person, upload. In a quiz, what stands
    # there are the numbers of a question and of the upload.
    CANVAS: re.compile(
        r"(?<!_question)_(?P<id>[0-9]+)_"
        r"(?:(?P<upload>[0-9]{1,18})_(?P<file>.+)|(?:text|link)\.html)"
    ),
    # Jane Doe_4321_assignsubmission_file_/masking.ipynb, or all of it in one name.
    MOODLE: re.compile(r"_(?P<id>[0-9]+)_assignsubmission_[a-z]+(?:_(?P<file>.*))?"),
}


@dataclass(frozen=True)
class Named:
    """What the name of an upload says.

    Attributes:
        id: of the person; Gradescope's names have none.
        name: of the person, as the system writes it.
        file: what the student called the file, if it is part of the name.
        upload: number of the upload, 0 if the system gives none.
        time: when it was handed in, if the system tells.
    """

    id: str
    name: str
    file: str = ""
    upload: int = 0
    time: str = ""


def readings(part: str, system: str) -> list[Named]:
    """All that one part of a path may say, from the left.

    There are several if a name or a file name has numbers as the system writes them.
    """
    starts = [match.start() for match in re.finditer("_", part)]
    matches = [_FORMS[system].fullmatch(part, start) for start in starts]
    return [_named(part[: match.start()], match) for match in matches if match]


def _named(before: str, match: re.Match[str]) -> Named:
    found = match.groupdict()
    name = re.sub("(?:^|_)LATE$", "", before)
    upload = int(found.get("upload") or 0)
    return Named(found["id"], name, found.get("file") or "", upload)
