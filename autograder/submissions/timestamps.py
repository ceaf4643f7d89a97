"""Read the time stamp of a submission."""

from __future__ import annotations

import re
from datetime import datetime

from dateutil.tz import gettz
from nbgrader.utils import parse_utc

# A date and perhaps a time and a zone. dateutil opens a file named after a zone that it
# does not know, so only known zones are passed on.
_STAMP = re.compile(
    r"(\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[T ]\d{1,2}:\d\d(?::\d\d(?:\.\d{1,9})?)?)?)"
    r" ?(?:([+-]\d\d):?(\d\d)|([A-Za-z]{1,20}(?:/[A-Za-z_]{1,20}){0,2}))?"
)


def time_of(stamp: str) -> datetime | None:
    """A time stamp as nbgrader reads it; None if it is none."""
    parts = _STAMP.fullmatch(stamp)
    if parts is None:
        return None
    time, hours, minutes, zone = parts.groups()
    if hours:  # nbgrader takes " +0200" for 200 seconds; it reads "+02:00"
        stamp = f"{time}{hours}:{minutes}"
    elif zone and gettz(zone) is None:
        return None
    try:
        return parse_utc(stamp)
    except (ValueError, OverflowError):
        return None
