"""Time stamps of submissions, in the forms that people and programs write."""

from __future__ import annotations

from datetime import datetime

import pytest

from autograder.submissions.timestamps import time_of


@pytest.mark.parametrize(
    "stamp",
    [
        "2026-10-01 12:00:00 UTC",
        "2026-10-01 12:00:00.000000 UTC",
        "2026-10-01 14:00:00 Europe/Berlin",
        "2026-10-01 12:00",
        "2026-10-01T12:00:00Z",
        "2026-10-01T14:00:00+02:00\n",
        "2026-10-01 14:00:00 +0200",
        "20261001T120000Z",
    ],
)
def test_a_stamp_is_read(stamp):
    assert time_of(stamp) == datetime(2026, 10, 1, 12)


@pytest.mark.parametrize(
    "stamp",
    ["", "yesterday", "12:00", "2026-13-01", "2026-10-01 12:00 Mars/Base"]
    + ["2026-10-01 12:00:00 ../../etc/passwd", "1 January 2026"]
    + ["0001-01-01 00:00:00 +0200"],  # before all others
)
def test_anything_else_is_none(stamp):
    assert time_of(stamp) is None
