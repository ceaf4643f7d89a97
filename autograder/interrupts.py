"""End processes when they have finished writing, and together with their parent."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
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


@contextlib.contextmanager
def blocked() -> Iterator[None]:
    """Block interrupts in this thread, and in processes that it starts, for good.

    One that comes meanwhile reaches this process at the end of the block.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_with_parent() -> None:
    """Wait for the end of the process that started this one, then end it at once.

    A worker whose parent was killed would wait for work for ever.
    """
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)
