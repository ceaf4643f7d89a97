"""Follow the lengths of a kernel's messages as they pass through.

A kernel speaks to the grader in ZeroMQ's protocol (ZMTP 3, https://rfc.zeromq.org/spec/37):
a greeting, then frames, each with a byte of flags and its length before it; frames that
announce another one make up a message. No more than that is looked at here.

Older versions begin in another way, or have other frames, and the grader's ZeroMQ would
speak them with a peer that asks for it. It would then find frames where there are none
for us. So a peer has to speak version 3.
"""

from __future__ import annotations

from autograder.sandbox.limits import MAX_MESSAGE, megabytes

MAX_FRAMES = 64  # of a message; Jupyter's have seven, and one for each buffer
MAX_COMMAND = 8192  # bytes; ZeroMQ's own take a few dozen
_GREETING = 64  # bytes
_SIGNATURE = {
    0: 0xFF,
    9: 0x7F,
    10: 3,
}  # bytes of it, by their places; the last: version
_MORE, _LONG, _COMMAND = 1, 2, 4
UNREADABLE = "its messages could not be read"


class Unacceptable(Exception):
    """A message that is not to be passed on; the text says why."""


class Frames:
    """Follows what one connection carries, and counts its messages."""

    def __init__(self) -> None:
        self.messages = 0
        self._passed = 0  # bytes of the greeting
        self._to_come = 0  # bytes of the frame that is passing
        self._head = b""  # of the next one, as far as it is here
        self._frames = self._size = 0  # of the message that is passing

    def follow(self, data: bytes) -> None:
        """Go on with the next bytes.

        Raises:
            Unacceptable: they are no frames, or their message is too long.
        """
        at = self._greet(data)
        while at < len(data):
            if self._to_come:
                step = min(self._to_come, len(data) - at)
                self._to_come -= step
                at += step
                continue
            wanted = 9 if self._head and self._head[0] & _LONG else 2
            part = data[at : at + wanted - len(self._head)]
            # The flags say how long the length field is, so they are read first.
            part = part if self._head else part[:1]
            self._head += part
            at += len(part)
            if len(self._head) == (9 if self._head[0] & _LONG else 2):
                self._next_frame(self._head[0], int.from_bytes(self._head[1:]))
                self._head = b""

    def _greet(self, data: bytes) -> int:
        """How many of these bytes belong to the greeting.

        Raises:
            Unacceptable: it is none of this version.
        """
        part = data[: _GREETING - self._passed]
        for place, value in _SIGNATURE.items():
            at = place - self._passed
            if 0 <= at < len(part) and part[at] != value:
                raise Unacceptable(UNREADABLE)
        self._passed += len(part)
        return len(part)

    def _next_frame(self, flags: int, length: int) -> None:
        if flags & ~(_MORE | _LONG | _COMMAND):
            raise Unacceptable(UNREADABLE)
        self._to_come = length
        if flags & _COMMAND:
            # A command may come between the parts of a message, but is not one of them
            # and does not end it.
            if flags & _MORE or length > MAX_COMMAND:
                raise Unacceptable(UNREADABLE)
            self.messages += 1
            return
        self._size += length
        self._frames += 1
        if self._size > MAX_MESSAGE:
            raise Unacceptable(f"limit of {megabytes(MAX_MESSAGE)} in one message")
        if self._frames > MAX_FRAMES:
            raise Unacceptable(f"limit of {MAX_FRAMES} parts in one message")
        if not flags & _MORE:
            self.messages += 1
            self._frames = self._size = 0
