"""The door that the answers of a kernel come through: a socket that carries bytes.

``respond`` writes headers and answers to it, and so can a student's code. So a length
is compared with the limits before any byte of an answer is awaited, and at most one
answer is on its way at any time.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket

from autograder.encoding import MAX_BYTES
from autograder.respond import HEADER
from autograder.sandbox.limits import Limits, megabytes

MAX_ANSWER = 1 + MAX_BYTES  # what came out of a case, as ``answers`` encodes it
FRAME_BYTES = 200  # what any answer counts, beside its bytes: it takes time to read


class TooMuch(Exception):
    """More is sent than may be; the message names the limit."""


class Door:
    """The trusted end of the socket that one kernel writes its answers to.

    Args:
        limits: ``answer_bytes`` is what may come in answer to one question.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._ours, self.inside = socket.socketpair()  # the kernel gets ``inside``
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def open(self) -> None:
        """Start to listen, once the kernel has its end."""
        self.inside.close()
        self._reader, self._writer = await asyncio.open_connection(sock=self._ours)

    def close(self) -> None:
        """Listen no more."""
        self.inside.close()
        self._ours.close()
        if self._writer is not None:
            with contextlib.suppress(RuntimeError):  # its event loop is closed
                self._writer.close()

    async def read(self, question: int, most: int, answers: list[bytes]) -> None:
        """Read answers until the kernel says that these were all, or has ended.

        Answers to another question and those beyond the last case are read past.

        Args:
            question: the number that was drawn for what is asked now, so that nothing
                that was written before it was asked is an answer to it.
            most: how many cases it has; they are answered in order.
            answers: where each answer is put as soon as it is here.

        Raises:
            TooMuch: an answer, or all of them together, would be too large.
        """
        room = self._limits.answer_bytes
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                asked, length = HEADER.unpack(
                    await self._reader.readexactly(HEADER.size)
                )
                room -= FRAME_BYTES + length
                if length > MAX_ANSWER:
                    limit = megabytes(MAX_BYTES)
                    raise TooMuch(f"limit of {limit} on the answer to one case")
                if room < 0:
                    raise TooMuch(self._limits.called("answer_bytes"))
                data = await self._reader.readexactly(length)
                if asked == question and not data:
                    return
                if asked == question and len(answers) < most:
                    answers.append(data)
