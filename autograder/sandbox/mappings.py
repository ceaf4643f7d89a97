"""How many mappings of memory the processes of a submission have.

The system keeps a record of each, which counts as memory. To count them it writes out a
line for each, and a submission may have millions. So each look counts only so many, one
process after another, and a process that it does not reach keeps its last count; a
process that was not counted yet has as many as any other, or as many as would fit into
it.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

ROUND_SECONDS = 0.5  # a process is not counted again before
MOST_AT_ONCE = 100_000  # mappings; counting them takes a tenth of a second
PAGE = os.sysconf("SC_PAGE_SIZE")


def count_mappings(process: str) -> int:
    """The mappings of a process; none if it has ended."""
    found, path = 0, Path(f"/proc/{process}/maps")
    with contextlib.suppress(OSError), path.open("rb") as maps:
        while piece := maps.read(65536):
            found += piece.count(b"\n")
    return found


class Mappings:
    """Counts mappings, from look to look.

    Args:
        count: tells how many a process has.
    """

    def __init__(self, count: Callable[[str], int] = count_mappings) -> None:
        self._count = count
        self._known: dict[str, tuple[float, int]] = {}  # when it was counted, how many

    def look(self, sizes: Mapping[str, int]) -> int:
        """The mappings of all processes together.

        Args:
            sizes: bytes of address space of each process that there is now.
        """
        now, read = time.monotonic(), 0
        never = (-math.inf, 0)
        known = {process: self._known.get(process, never) for process in sizes}
        for process in sorted(known, key=known.get):  # the longest ago first
            if read >= MOST_AT_ONCE or now < known[process][0] + ROUND_SECONDS:
                break
            known[process] = now, self._count(process)
            read += known[process][1]
        self._known = {p: seen for p, seen in known.items() if seen is not never}
        most = max((count for _, count in known.values()), default=0)
        return sum(
            self._known[process][1]
            if process in self._known
            else min(most, size // PAGE)
            for process, size in sizes.items()
        )
