"""Read the list of owners that Gradescope packs with a class's submissions.

Students may enter their SID themselves, and a typing error makes it a classmate's. They
log in with their address. So an SID that goes with two addresses stands for nobody, nor
does one that has the form of an address. What is known from elsewhere of the person
with an SID is compared in ``whose``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from autograder.errors import AutograderError
from autograder.files import Unusable, plain_file
from autograder.lms.archives import MAX_LIST, METADATA
from autograder.lms.members import safe
from autograder.lms.names import GRADESCOPE, Shape

MAX_TEXT = 1000  # characters of a name or an address
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class BadList(AutograderError):
    """The list of the class cannot be read."""


def list_in(root: Path) -> Path | None:
    """The list of the class in what was unpacked: the one least deep, if any is."""
    found = (path for path in root.rglob(METADATA) if path.is_file())
    return min(found, key=lambda path: (len(path.parts), path), default=None)


def people_in_list(listed: Path) -> dict[str, list[Shape]]:
    """Who handed in each submission, by its number.

    Raises:
        BadList: it cannot be read, or is not what Gradescope writes.
    """
    try:
        data = yaml.load(plain_file(listed, MAX_LIST), Loader=_LOADER)  # noqa: S506
        people: dict[str, list[Shape]] = {}
        for name, entry in data.items():
            number = _text(name).removeprefix("submission_")
            people.setdefault(number, []).extend(_submitters(number, entry))
    except (Unusable, yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError):
        raise BadList(f"{METADATA} is not the list that Gradescope writes") from None
    except (RecursionError, MemoryError):
        raise BadList(f"{METADATA} is nested too deeply, or too large") from None
    return _told_apart(people)


def _told_apart(people: Mapping[str, list[Shape]]) -> dict[str, list[Shape]]:
    """The same, with the address as the id of those who share an SID."""
    addresses: defaultdict[str, set[str]] = defaultdict(set)
    for shapes in people.values():
        for shape in shapes:
            addresses[shape.person.casefold()].add(shape.email.casefold())
    return {
        number: [
            replace(shape, person=safe(shape.email) or shape.person)
            if len(addresses[shape.person.casefold()]) > 1
            else shape
            for shape in shapes
        ]
        for number, shapes in people.items()
    }


def _submitters(number: str, entry: Mapping[str, Any]) -> Iterator[Shape]:
    """Those who handed in one submission together."""
    upload = int(number) if number.isdigit() else 0
    time = _time(entry.get(":created_at"))
    for person in entry[":submitters"]:
        sid, email = _text(person.get(":sid")), _text(person.get(":email"))
        called = safe(_text(person.get(":name"))).replace("_", " ")
        if email and "@" in sid:  # it is their own address, or that of somebody else
            sid = ""
        if sid or email:
            told = {"upload": upload, "email": email, "time": time}
            yield Shape(GRADESCOPE, safe(sid or email), called, **told)


def _text(value: Any) -> str:
    """A text or a whole number as a text; nothing as an empty one.

    Raises:
        ValueError: it is something else: a few aliases in YAML make a list whose text
            would fill the memory.
    """
    if not isinstance(value, str | int | None) or len(str(value)) > MAX_TEXT:
        raise ValueError(f"no text of up to {MAX_TEXT} characters")
    return str(value or "")


def _time(value: Any) -> str:
    """A time as Gradescope writes it, as nbgrader reads it; empty if it is none."""
    if not isinstance(value, datetime):
        return ""
    try:
        utc = value.astimezone(UTC) if value.tzinfo else value
    except OverflowError:  # beyond the range of ``datetime``
        return ""
    return f"{utc:%Y-%m-%d %H:%M:%S} UTC"
