"""Read the list of owners that Gradescope packs with a class's submissions."""

from __future__ import annotations

from typing import Any, NamedTuple

import yaml

from autograder.lms.archives import NothingCollected

METADATA = "submission_metadata.yml"
MAX_LIST = 64 * 2**20  # bytes
MAX_TEXT = 1000  # characters of a name or an address
# All that it reads is text, so that an id keeps its zeros.
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


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
                    # ISO 8601 has no blank before the zone.
                    time=_text(entry.get(":created_at")).replace(" Z", "Z"),
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
    """A text, or nothing as an empty one."""
    if not isinstance(value, str | None) or len(value or "") > MAX_TEXT:
        raise ValueError(f"it has no text of up to {MAX_TEXT} characters")
    return (value or "").strip()
