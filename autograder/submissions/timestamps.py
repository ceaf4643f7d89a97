"""Read the time stamp of a submission."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from dateutil.tz import gettz

# dateutil opens a file named after a zone, so only what may be one is passed on.
_ZONE = re.compile(r"(.*\d) ?(?!Z$)([A-Za-z]{1,20}(?:/[A-Za-z_]{1,20}){0,2})")


def time_of(stamp: str) -> datetime | None:
    """A time stamp as nbgrader keeps it, in UTC and without a zone; None if it is none.

    Args:
        stamp: in ISO 8601, or with the name of a zone, as nbgrader writes it.
    """
    text, zone = re.sub(r" (?=[+-]\d\d:?\d\d$)", "", stamp.strip()), None
    if named := _ZONE.fullmatch(text):
        text, zone = named[1], gettz(named[2])
        if zone is None:
            return None
    try:
        time = datetime.fromisoformat(text)
        time = time.replace(tzinfo=zone) if zone else time
        return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time
    except (ValueError, OverflowError):
        return None
