"""Ctrl-C while something is written: first it is written, then it is interrupted."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Hold an interrupt back until the end of the block.

    Only the main thread is ever interrupted; in another one this does nothing.

    Raises:
        KeyboardInterrupt: at the end, if there was one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    told = []
    before = signal.signal(signal.SIGINT, lambda *_: told.append(True))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if told:
        raise KeyboardInterrupt
