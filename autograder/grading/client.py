"""One kernel of a submission, as the grader sees it: requests go in, frames come out.

The kernel is student code, so a frame may be anything, and there may be no end of them.
A length is compared with the limits before anything behind it is awaited, what comes is
flat text or is decoded by ``encoding``, and a submission that sends too much is ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import signal
import socket
from pathlib import Path
from typing import Any

import psutil
from nbformat import NotebookNode

from autograder.cells import without_file
from autograder.encoding import MAX_BYTES
from autograder.errors import GraderFault, SubmissionFault
from autograder.grading.clock import Clock, Used
from autograder.grading.kept import add_display, add_error, add_stream
from autograder.sandbox.bubblewrap import ADVICE, SandboxUnavailable
from autograder.sandbox.connection import ForkServers
from autograder.sandbox.frames import (
    ANSWER,
    BETWEEN,
    CLEAR,
    DISPLAY,
    DONE,
    ERROR,
    HEADER,
    KINDS,
    REQUEST,
    STARTED,
    STDERR,
    WAIT,
)
from autograder.sandbox.limits import Limits, megabytes
from autograder.stepwise import stopped_in_line

MAX_FRAME = 1 + MAX_BYTES  # what came out of a case, as ``answers`` encodes it
FRAME_BYTES = 200  # what any frame counts, beside its bytes: it takes time to read
TRACED = 36_000  # characters of a traceback in which the line is looked for
CHUNK = 65536
END_SECONDS = 5  # until a kernel that is killed is gone
REPORT_SECONDS = 20  # until a warden has said how its kernel ended
LOST = {"exit": None, "limit": None, "failed": "its warden was lost"}


class _Ended(Exception):
    """The kernel has closed its end."""


class SubmissionClient:
    """One kernel, which a fork server forks in the sandbox. Use as a context manager.

    Args:
        limits: what the kernel may use.
        clock: of the submission.
        servers: where the kernel is forked.

    Attributes:
        failed: how the last cell failed first, if it did.
        failed_in: the line of it, or 0 where that is not known.
    """

    def __init__(self, limits: Limits, clock: Clock, servers: ForkServers) -> None:
        self.limits, self.clock, self.servers = limits, clock, servers
        self.failed: str | None = None
        self.failed_in = 0
        self._room = limits.output_bytes  # that it may still send
        self._left = limits.message_bytes
        self._room_for_answers = 0
        self._number = 0  # of the request, which nobody can guess before it is made
        self._done = True
        self._to_send = b""
        self._received = bytearray()
        self._outputs: list[NotebookNode] = []
        self._clears = False  # them, when the next one comes
        self._answers: list[bytes] = []
        self._most_answers = 0
        self._socket: socket.socket | None = None
        self._lifeline: socket.socket | None = None
        self._process: int | None = None  # descriptor of its process
        self._ended: dict[str, Any] | None = None  # how, as its warden says

    def __enter__(self) -> SubmissionClient:
        self.start()
        return self

    def start(self) -> None:
        """Have the kernel forked; it starts while this process goes on.

        Raises:
            SandboxUnavailable: there is no fork server, and none can be started.
        """
        self._socket, kernels = socket.socketpair()
        self._socket.setblocking(False)
        try:
            self._lifeline = self.servers.launch(kernels, self.limits)
        except BaseException:
            self._socket.close()
            raise
        finally:
            kernels.close()

    def __exit__(self, *exc: object) -> None:
        """Kill the kernel, wait until it is gone, drop what was not read."""
        self.abandon()
        if self._lifeline is not None:
            self._hear(END_SECONDS)
            self._lifeline.close()
        if self._process is not None:
            os.close(self._process)
        self._socket.close()

    def run(self, source: str, outputs: list[NotebookNode]) -> str | None:
        """Run a cell; how the submission ended the kernel, if it did.

        Args:
            source: of the cell.
            outputs: where what it shows is put.

        Raises:
            GraderFault: the kernel ended, and not provably through the submission.
            SandboxUnavailable: it could not be made.
        """
        outputs.clear()
        return self._request("run", source, outputs=outputs)

    def begin(self, setup: list[str], stubs: str) -> str | None:
        """Run what comes before the cells, see ``stepwise``; as ``run``."""
        return self._request("begin", setup, stubs)

    def define(self, source: str) -> str | None:
        """Run only what a cell defines, and show nothing; as ``run``."""
        return self._request("define", source)

    def ask(
        self, topic: str, name: str, seeds: list[int]
    ) -> tuple[list[bytes], str | None]:
        """Put all cases of an exercise; what came, and how it ended, as ``run``.

        Returns:
            First what the answer reads from outside, then the encoded answers.
        """
        ended = self._request("ask", topic, name, seeds, answers=1 + len(seeds))
        return self._answers, ended

    def _request(
        self,
        *words: Any,
        outputs: list[NotebookNode] | None = None,
        answers: int = 0,
    ) -> str | None:
        """Have something done, and take what comes until it is; as ``run``."""
        self._answers, self._most_answers = [], answers
        self._room_for_answers = self.limits.answer_bytes
        self.failed, self.failed_in = None, 0
        self._outputs = [] if outputs is None else outputs
        self._clears = False
        self._number, self._done = secrets.randbits(64), False
        request = json.dumps([self._number, *words]).encode()
        self._to_send += REQUEST.pack(len(request)) + request
        self.clock.start()
        try:
            self._take_frames()  # one may have come too early
            while not self._done:
                self._exchange(self.clock.seconds_to_look())
                if not self.clock.seconds_to_look():
                    self.clock.look(self.used())
            self.clock.stop()
        except _Ended:
            return self._how_it_ended()
        except SubmissionFault as fault:
            self.abandon()
            return str(fault)
        return None

    def _exchange(self, seconds: float) -> None:
        """Send and receive what can be, or wait."""
        sending = [self._socket] if self._to_send else []
        reading, sending, _ = select.select([self._socket], sending, [], seconds)
        if sending:
            try:
                self._to_send = self._to_send[self._socket.send(self._to_send) :]
            except ConnectionError:  # it reads no more, but what it has sent is read
                self._to_send = b""
        try:
            received = self._socket.recv(CHUNK) if reading else None
        except BlockingIOError:  # what made it readable was no data
            return
        except ConnectionError:
            received = b""
        if received == b"":
            raise _Ended
        if received:
            self._received += received
            self._take_frames()

    def _take_frames(self) -> None:
        """Take the frames that are there.

        Raises:
            SubmissionFault: the next one is none, or there are too many.
        """
        while len(self._received) >= HEADER.size:
            number, kind, length = HEADER.unpack_from(self._received)
            if kind not in KINDS:
                raise SubmissionFault("its messages could not be read")
            if length > MAX_FRAME:
                limit = megabytes(MAX_BYTES)
                raise SubmissionFault(f"limit of {limit} in one message")
            end = HEADER.size + length
            if len(self._received) < end:
                return
            data = bytes(self._received[HEADER.size : end])
            del self._received[:end]
            self._left -= FRAME_BYTES + length
            if self._left < 0:
                raise SubmissionFault(self.limits.called("message_bytes"))
            if number == self._number and not self._done:
                self._take(kind, data)

    def _take(self, kind: bytes, data: bytes) -> None:
        """Take what belongs to the request."""
        if kind == DONE:
            self._done = True
        elif kind == ANSWER:
            self._room_for_answers -= FRAME_BYTES + len(data)
            if self._room_for_answers < 0:
                raise SubmissionFault(self.limits.called("answer_bytes"))
            if len(self._answers) < self._most_answers:
                self._answers.append(data)
        else:
            self._show(kind, data.decode("utf-8", "replace"), len(data))

    def _show(self, kind: bytes, text: str, size: int) -> None:
        """Take an output, while there is room, and the first error in any case."""
        name, said, traceback = (*text.split(BETWEEN, 2), "", "")[:3]
        if kind == ERROR and self.failed is None:
            line = _line(f"{name:.100}: {said:.1000}", 200)
            self.failed = without_file(line).removesuffix(":")
            self.failed_in = stopped_in_line(traceback[:TRACED].split("\n"))
        self._room -= FRAME_BYTES + size
        if self.too_long:
            return
        waits = kind == CLEAR and text == WAIT  # for the next output
        if self._clears or (kind == CLEAR and not waits):
            self._outputs.clear()
        self._clears = waits
        if kind == CLEAR:
            return
        if kind == ERROR:
            add_error(self._outputs, name, said, traceback)
        elif kind == DISPLAY:
            picture, _, text = text.partition(BETWEEN)
            add_display(self._outputs, text, picture)
        else:
            add_stream(self._outputs, "stderr" if kind == STDERR else "stdout", text)

    @property
    def too_long(self) -> bool:
        """Whether outputs were left out."""
        return self._room < 0

    def used(self) -> Used | None:
        """What the kernel has used by now; ``None`` if it has ended, or just begins."""
        self._hear()
        if self._process is None:
            return None
        lines = Path(f"/proc/self/fdinfo/{self._process}").read_text().splitlines()
        pid = next(line for line in lines if line.startswith("Pid:")).split()[1]
        return used_by(int(pid))

    def abandon(self) -> None:
        """Have the warden kill the kernel, without waiting."""
        if self._lifeline is not None and self._ended is None:
            with contextlib.suppress(OSError):
                self._lifeline.shutdown(socket.SHUT_WR)

    def _hear(self, seconds: float = 0) -> None:
        """Hear what the warden says: which process it is, and then how it ended."""
        while self._ended is None:
            if not select.select([self._lifeline], [], [], seconds)[0]:
                return
            try:
                message, fds, _, _ = socket.recv_fds(self._lifeline, CHUNK, 1)
            except ConnectionError:
                message = b""
            if message == STARTED:
                self._process = fds[0]
            else:
                self._ended = json.loads(message) if message else LOST

    def _how_it_ended(self) -> str:
        """What the submission did, so that its kernel has ended.

        Only the system, or somebody outside of the sandbox, can end the first process
        of a namespace with SIGKILL: it is deaf to all signals from inside. Others that
        come from outside do nothing, unless the submission has asked for them.

        Raises:
            GraderFault: it is not provably the submission that ended it.
            SandboxUnavailable: the kernel could not be made.
        """
        self._hear(REPORT_SECONDS)
        if (ended := self._ended) is None:
            return "it closed its connection"
        if ended["exit"] is None and self._process is None:
            raise SandboxUnavailable(
                f"no submission can be isolated here ({ended['failed']}): {ADVICE}"
            )
        if ended["exit"] is None:
            raise GraderFault(f"the sandbox failed: {ended['failed']}")
        if ended["limit"] is not None:
            return ended["limit"]
        if ended["exit"] == -signal.SIGKILL:
            raise GraderFault(
                "its process was killed from outside, perhaps because this machine "
                "has too little memory"
            )
        perhaps = f", perhaps at the {ended['perhaps']}" if ended["perhaps"] else ""
        return _how_it_exited(ended["exit"]) + perhaps


def used_by(pid: int) -> Used | None:
    """What a process has used by now; ``None`` if it has ended or may not be seen."""
    try:
        own = sum(psutil.Process(pid).cpu_times()[:2])
        delay = Path(f"/proc/{pid}/schedstat")
        waited = int(delay.read_text().split()[1]) if delay.exists() else 0
    except (psutil.Error, OSError, ValueError):
        return None
    return Used(own, waited / 1e9)


def _how_it_exited(code: int) -> str:
    """The exit code of a process, negative if a signal ended it, in words."""
    if code >= 0:
        return f"the process ended with code {code}"
    what = signal.strsignal(-code) or "unknown"
    return f"the process was ended by signal {-code} ({what.lower()})"


def _line(text: str, length: int) -> str:
    """One short line of printable characters."""
    line = " ".join(text.split())
    return "".join(c for c in line if c.isprintable())[:length]
