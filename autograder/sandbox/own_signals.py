"""A process that says so before it sends a signal to itself.

From outside, nobody can tell who has sent a signal. In a sandbox it need not be asked:
nothing inside can end or stop the first process. Elsewhere, what is known are the
signals that Python sends. Code that hides its signals from this has no mark, instead of
a zero, and gains nothing.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from functools import wraps
from typing import Any

OWN_SIGNALS = "AUTOGRADER_OWN_SIGNALS"  # names the file descriptor to say it to


def announce_own_signals(to: int) -> None:
    """From now on, announce each signal that Python sends to this process.

    Processes that are forked from it announce those that they send to it, too.

    Args:
        to: file descriptor that gets the number of each signal, as one byte.
    """
    process, group = os.getpid(), os.getpgrp()

    def announcing(
        send: Callable[..., Any], reaches_us: Callable[..., bool]
    ) -> Callable[..., Any]:
        @wraps(send)
        def announce(*arguments: Any) -> Any:
            with contextlib.suppress(Exception):  # nothing that could be sent
                if reaches_us(*arguments):
                    os.write(to, bytes([arguments[-1]]))
            return send(*arguments)

        return announce

    def to_process(target: int, number: int) -> bool:
        from_our_group = os.getpgrp() == group
        return target in (process, -group, -1) or (target == 0 and from_our_group)

    def to_group(target: int, number: int) -> bool:
        return to_process(-target, number)

    def to_itself(*_: int) -> bool:
        return os.getpid() == process

    os.kill = announcing(os.kill, to_process)
    os.killpg = announcing(os.killpg, to_group)
    signal.raise_signal = announcing(signal.raise_signal, to_itself)
    signal.pthread_kill = announcing(signal.pthread_kill, to_itself)
