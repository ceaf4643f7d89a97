"""Carries the messages of a kernel to the grader, and counts their bytes.

A kernel runs student code, and a message may have any number of parts of any size: the
grader would keep them in memory until the last has come. So the kernel never talks to
the grader itself: the warden passes the bytes on, and stops when there are too many, or
when a message is longer than any that the grader would read.
"""

from __future__ import annotations

import contextlib
import select
import socket
import time

from autograder.sandbox.frames import Frames, Unacceptable

_CHUNK = 65536
MESSAGE_COST = 1000  # what a message counts, beside its bytes: it takes time to read


class Relay:
    """Connects each connection to an outer socket with one to its inner socket.

    Args:
        outer: listening sockets that the grader connects to.
        poller: where the sockets are registered; the owner passes on what happens.
    """

    def __init__(self, outer: list[socket.socket], poller: select.poll) -> None:
        self.received = 0  # bytes that came from inside, and the cost of messages
        self.refused: str | None = None  # why a message was not passed on, if one was
        self._poller = poller
        self._listening: dict[int, tuple[socket.socket, str]] = {}
        self._peers: dict[int, tuple[socket.socket, socket.socket]] = {}
        self._inner: dict[int, Frames | None] = {}  # None: bytes of another kind
        self._waiting: dict[int, bytes] = {}
        self.inner: list[socket.socket] = []
        for listener in outer:
            inside = socket.socket(socket.AF_UNIX)
            inside.bind("")  # any free abstract name
            inside.listen(16)
            listener.setblocking(False)
            self.inner.append(inside)
            self._listening[listener.fileno()] = (listener, inside.getsockname())
            poller.register(listener, select.POLLIN)

    def join(self, outside: socket.socket) -> None:
        """Connect a socket of the grader with a new one, which the kernel gets too."""
        inside, kernels = socket.socketpair()
        self._join(outside, inside, None)
        self.inner.append(kernels)

    def handle(self, fd: int, event: int) -> None:
        """React to what the poller saw on one of the sockets."""
        if fd in self._listening:
            self._connect(*self._listening[fd])
        elif fd in self._peers:
            here, there = self._peers[fd]
            try:
                if event & select.POLLOUT:
                    self._send(here)
                if event & ~select.POLLOUT and not self._waiting[there.fileno()]:
                    self._receive(here, there)
            except BlockingIOError:
                pass
            except OSError:
                self._close(here, there)

    def drain(self, seconds: float) -> None:
        """Pass on what a kernel that has ended had still sent."""
        end = time.monotonic() + seconds
        while self._inner and (left := end - time.monotonic()) > 0:
            for fd, event in self._poller.poll(left * 1000):
                self.handle(fd, event)

    def _connect(self, listener: socket.socket, name: str) -> None:
        with contextlib.suppress(BlockingIOError):
            outside, _ = listener.accept()
            inside = socket.socket(socket.AF_UNIX)
            inside.setblocking(False)
            try:
                inside.connect(name)
            except OSError:  # the kernel accepts no more
                outside.close()
                inside.close()
                return
            self._join(outside, inside, Frames())

    def _join(
        self, outside: socket.socket, inside: socket.socket, frames: Frames | None
    ) -> None:
        self._inner[inside.fileno()] = frames
        for here, there in ((outside, inside), (inside, outside)):
            here.setblocking(False)
            self._peers[here.fileno()] = (here, there)
            self._waiting[here.fileno()] = b""
            self._poller.register(here, select.POLLIN)

    def _receive(self, here: socket.socket, there: socket.socket) -> None:
        data = here.recv(_CHUNK)
        if not data:
            self._close(here, there)
            return
        if here.fileno() in self._inner:
            self.received += len(data)
            self._follow(self._inner[here.fileno()], data)
            if self.refused:
                return
        self._waiting[there.fileno()] = data
        self._send(there)

    def _follow(self, frames: Frames | None, data: bytes) -> None:
        if frames is None:
            return
        before = frames.messages
        try:
            frames.follow(data)
        except Unacceptable as why:
            self.refused = str(why)
        self.received += MESSAGE_COST * (frames.messages - before)

    def _send(self, to: socket.socket) -> None:
        """Send what waits for a socket; until it is gone, its peer is not read."""
        fd = to.fileno()
        peer = self._peers[fd][1]
        with contextlib.suppress(BlockingIOError):
            self._waiting[fd] = self._waiting[fd][to.send(self._waiting[fd]) :]
        for sock, other in ((to, peer), (peer, to)):
            wanted = select.POLLIN if not self._waiting[other.fileno()] else 0
            wanted |= select.POLLOUT if self._waiting[sock.fileno()] else 0
            if wanted:
                self._poller.register(sock, wanted)
            else:  # otherwise poll would report a hang-up forever
                with contextlib.suppress(KeyError):
                    self._poller.unregister(sock)

    def _close(self, here: socket.socket, there: socket.socket) -> None:
        for sock in (here, there):
            with contextlib.suppress(KeyError):
                self._poller.unregister(sock)
            self._inner.pop(sock.fileno(), None)
            del self._peers[sock.fileno()], self._waiting[sock.fileno()]
            sock.close()
