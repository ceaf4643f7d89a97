"""Ends code of a reader in a page that does not come to its end by itself."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SECONDS = 20.0


class TooLong(KeyboardInterrupt):
    """A cell ran for too long; its text says in which line.

    Like an interrupt, it is not what a reader's ``except Exception`` catches.
    """


class Watch:
    """Looks at the clock at each line of a cell.

    What a library computes within one line is not ended, and no `while True: pass` in
    one line, which Python never says that it begins again: the page ends these itself.

    Args:
        seconds: from now on.
    """

    def __init__(self, seconds: float = SECONDS) -> None:
        """Begin to measure."""
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Within this block, cells end with an error when the time is over.

        Raises:
            TooLong: in the line of a cell that was running.
        """
        before = sys.gettrace()
        sys.settrace(self._called)
        try:
            yield
        finally:
            sys.settrace(before)

    def _called(self, frame: FrameType, event: str, arg: Any) -> Any:
        """Trace the lines of cells, and nothing else."""
        return self._line if frame.f_code.co_filename.startswith("<cell ") else None

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if time.monotonic() > self._end:
            raise TooLong(
                f"Stopped after {self.seconds:g} seconds in line {frame.f_lineno}: is "
                "there a loop that never ends?"
            )
        return self._line
