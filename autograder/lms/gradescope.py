"""Read the list of owners that Gradescope packs with a class's submissions."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple

import yaml

from autograder.lms.archives import NothingCollected

METADATA = "submission_metadata.yml"
MAX_LIST = 64 * 2**20  # bytes
MAX_TEXT = 1000  # characters of a name or an address
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Submitter(NamedTuple):
    """Somebody who handed in a submission, alone or with others."""

    name: str
    sid: str
    email: str
    time: str


def submitters(content: bytes) -> dict[str, list[Submitter]]:
    """Who handed in each submission, by the name of its folder.

    Raises:
        NothingCollected: it cannot be read, or is not what Gradescope writes.
    """
    try:
        data = yaml.load(content, Loader=_LOADER)  # noqa: S506
        return {
            _text(folder): [
                Submitter(
                    *(_text(person.get(f":{key}")) for key in ("name", "sid", "email")),
                    time=_time(entry.get(":created_at")),
                )
                for person in entry[":submitters"] or ()
            ]
            for folder, entry in data.items()
        }
    except Exception as error:  # of the reader, or of a form that is another one
        why = f": {error}" if type(error) is ValueError else ""
        raise NothingCollected(
            f"{METADATA} is not the list that Gradescope writes{why}"
        ) from None


def _text(value: Any) -> str:
    """A text or a whole number as a text; nothing as an empty one.

    A few aliases in YAML make a list whose text would fill the memory.
    """
    if not isinstance(value, str | int | None) or len(str(value)) > MAX_TEXT:
        raise ValueError(f"it has no text of up to {MAX_TEXT} characters")
    return "" if value is None else str(value).strip()


def _time(value: Any) -> str:
    """A time as nbgrader reads it; empty if there is none."""
    if value is None:
        return ""
    try:
        when = value if isinstance(value, datetime) else datetime.fromisoformat(value)
        utc = when.astimezone(UTC) if when.tzinfo else when
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{str(value)[:40]!r} is no time in ISO 8601") from None
    return f"{utc:%Y-%m-%d %H:%M:%S} UTC"
