"""Call functions in another process, one after the other, through a connection.

Nobody but the two holds an end of it. So whoever waits for an outcome learns at once
when the other process is killed, even in the middle of a message.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from autograder.errors import GraderFault


class ProcessEnded(GraderFault):
    """The process ended, or was ended, before it had sent an outcome."""

    def __init__(self) -> None:
        super().__init__("the process that examined it was ended")

    def __reduce__(self) -> tuple:
        return type(self), ()


def call(connection: Connection, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns in the process that serves the other end.

    Raises:
        ProcessEnded: it is gone; the connection is closed.
        Exception: what the function raised.
    """
    try:
        connection.send((function, *arguments))
        returned, outcome = connection.recv()
    except (EOFError, OSError):
        connection.close()
        raise ProcessEnded from None
    if not returned:
        raise outcome
    return outcome


def serve(connection: Connection) -> None:
    """Make the calls that the other end asks for, until it is gone."""
    with contextlib.suppress(EOFError, OSError):
        while True:
            function, *arguments = connection.recv()
            try:
                outcome = True, function(*arguments)
            except Exception as error:
                outcome = False, error
            connection.send(outcome)
