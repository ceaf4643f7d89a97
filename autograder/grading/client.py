"""nbclient with limits, which runs the cells of a submission and asks it questions."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import secrets
from typing import Any

from nbclient import NotebookClient
from nbclient.client import CellExecutionComplete
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from autograder.cells import without_file
from autograder.errors import GraderFault, SubmissionFault
from autograder.grading.clock import Clock
from autograder.grading.door import Door, TooMuch
from autograder.grading.kept import add_output
from autograder.sandbox.limits import Limits
from autograder.sandbox.manager import SandboxKernelManager
from autograder.sandbox.messages import UnreadableMessage
from autograder.stepwise import stopped_in_line

GRACE_STEPS, GRACE_SECONDS = 100, 0.1  # to read what the kernel had sent
MESSAGE_BYTES = 200  # what any message counts, beside its content


class SelectorLoop(asyncio.SelectorEventLoop):
    """Leaves signals as they are.

    nbclient would take SIGTERM and SIGINT for itself: a worker that is told to end
    would only end its kernel, and whoever waits for the worker would wait for ever.
    """

    def add_signal_handler(self, *arguments: Any) -> None:
        """Refuse, in the way that nbclient expects in a thread."""
        raise RuntimeError("signals belong to the process, not to one notebook")


class SubmissionClient(NotebookClient):
    """nbclient with limits, which also asks questions.

    Attributes:
        room: bytes of output that the submission may still send.
        too_long: whether outputs were left out.
        failed: how the last cell failed first, if it did.
        failed_in: the line of it, or 0 where that is not known.
        door: where the answers to questions arrive.
    """

    def __init__(
        self,
        notebook: NotebookNode,
        manager: SandboxKernelManager,
        limits: Limits,
        clock: Clock,
    ) -> None:
        cells = [code_cell(""), *notebook.cells]  # the first one is for questions
        super().__init__(
            NotebookNode(notebook, cells=cells),
            km=manager,
            allow_errors=True,
            record_timing=False,
            store_widget_state=False,
            iopub_timeout=2,
        )
        self.log.setLevel("CRITICAL")
        self.limits = limits
        self.clock = clock
        self.room = limits.output_bytes
        self.too_long = False  # whether outputs were left out
        self.failed: str | None = None  # how the last cell failed, if it did
        self.failed_in = 0  # the line of it
        self.door = Door(limits)
        self._first: dict[str, Any] | None = None  # error that the cell has shown
        self._broken: str | None = None

    async def async_start_new_kernel(self, **kwargs: Any) -> None:
        """Start a kernel that has the other end of our door, and open ours."""
        inside = self.door.inside.fileno()
        await super().async_start_new_kernel(**kwargs, answers=inside)
        await self.door.open()

    async def close(self, manager: SandboxKernelManager) -> None:
        """Kill the kernel, drop what was not sent, close every socket."""
        self.door.close()
        if self.kc is not None:
            self.kc.stop_channels()
        with contextlib.suppress(Exception):
            await manager.shutdown_kernel(now=True)
        manager.context.destroy(linger=0)
        atexit.unregister(self._cleanup_kernel)  # left by nbclient when a start fails

    async def run(self, cell: NotebookNode, number: int) -> str | None:
        """Run a cell; how the submission ended the kernel, if it did.

        Raises:
            GraderFault: the kernel ended, and not provably through the submission; or
                something failed here, on the trusted side.
        """
        self.failed = self._first = None
        execution = asyncio.ensure_future(self.async_execute_cell(cell, number + 1))
        try:
            await self.clock.watch(execution, self.km)
        except SubmissionFault as fault:
            return self._broken or str(fault)
        except (CellTimeoutError, DeadKernelError):
            return await self._how_it_ended()
        except UnreadableMessage as error:
            return f"its messages could not be read: {error}"
        except Exception as error:  # none that a message can cause
            if self._broken is None:
                raise _as_ours(error) from error
        return self._broken

    async def begin(self, setup: list[str], stubs: str) -> None:
        """Run what comes before the cells; see ``stepwise``."""
        code = f"__import__('autograder.stepwise').stepwise.begin({setup!r}, {stubs!r})"
        await self.run(code_cell(code), -1)

    async def define(self, source: str) -> str | None:
        """Run only what a cell defines, and show nothing; see ``run``."""
        code = f"__import__('autograder.stepwise').stepwise.define({source!r})"
        return await self.run(code_cell(code), -1)

    async def ask(
        self, topic: str, name: str, seeds: list[int]
    ) -> tuple[list[bytes], str | None]:
        """Put all cases of an exercise; what came, and how it ended.

        Returns:
            First what the answer reads from outside, then the encoded answers.

        Raises:
            GraderFault: as ``run``; or the answers could not be read, which is ours.
        """
        number = secrets.randbits(64)
        question = code_cell(
            f"__import__('autograder.respond').respond.respond"
            f"({topic!r}, {name!r}, {seeds!r}, {number})"
        )
        answers: list[bytes] = []
        reading = asyncio.create_task(self._read(number, 1 + len(seeds), answers))
        try:
            ended = await self.run(question, -1)
            if not await self._done(reading) and ended is None:
                self.end_for("its answers to a question did not end")
        finally:
            if not reading.cancel() and not reading.cancelled():
                reading.exception()  # otherwise asyncio warns about it
        return answers, self._broken or ended

    async def _done(self, reading: asyncio.Task) -> bool:
        """Whether all that the kernel had sent was read, down to the end of answers.

        Steps are counted and not seconds, which would pass while we are held up.

        Raises:
            GraderFault: reading has failed, so a kernel may have waited for us.
        """
        for _ in range(GRACE_STEPS):
            if (await asyncio.wait([reading], timeout=GRACE_SECONDS))[0]:
                if (error := reading.exception()) is not None:
                    raise _as_ours(error) from error
                return True
        return False

    async def _read(self, question: int, most: int, answers: list[bytes]) -> None:
        try:
            await self.door.read(question, most, answers)
        except TooMuch as limit:
            self.end_for(str(limit))

    async def _check_raise_for_error(
        self, cell: NotebookNode, cell_index: int, exec_reply: dict[str, Any] | None
    ) -> None:
        """Remember the first error of a cell, and go on."""
        try:
            content = exec_reply["content"]
            if content["status"] == "error":
                content = self._first or {**content, "traceback": ()}
                said = f"{content['ename']!s:.100}: {content['evalue']!s:.1000}"
                self.failed = without_file(_line(said, 200)).removesuffix(":")
                self.failed_in = stopped_in_line(content["traceback"])
        except KeyError as error:
            why = f"a reply has no {error.args[0]}"
            raise UnreadableMessage(why, exec_reply["size"]) from error

    async def _async_poll_kernel_alive(self) -> None:
        """As in nbclient, but without waiting a second for each death."""
        while True:
            await asyncio.sleep(0.1)
            try:
                await self._async_check_alive()
            except DeadKernelError:
                self.task_poll_for_reply.cancel()
                return

    async def _async_poll_output_msg(
        self, parent_msg_id: str, cell: NotebookNode, cell_index: int
    ) -> None:
        """Read messages until the cell is done; those that are no messages count too.

        The kernel is student code that knows the session's key, so a message may be
        anything, and there may be no end of them.
        """
        while True:
            await asyncio.sleep(0)  # let the clock run even during a flood of messages
            try:
                await self._read_output(parent_msg_id, cell, cell_index)
            except CellExecutionComplete:
                return
            except UnreadableMessage as message:
                self._spend(message.size)
            except (KeyError, TypeError):  # it lacks what belongs there
                self._spend(0)

    async def _read_output(
        self, parent_msg_id: str, cell: NotebookNode, cell_index: int
    ) -> None:
        """Read a message; it is forgotten before the next one is read."""
        msg = await self.kc.iopub_channel.get_msg(timeout=None)
        if msg["parent_header"].get("msg_id") == parent_msg_id:
            self.process_message(msg, cell, cell_index)
        else:
            self._spend(msg["size"])

    def process_message(
        self, msg: dict[str, Any], cell: NotebookNode, cell_index: int
    ) -> None:
        """Take outputs out of the stream, while there is room."""
        kind, content = msg["msg_type"], msg["content"]
        if kind == "status" and content["execution_state"] == "idle":
            raise CellExecutionComplete
        if kind == "error" and self._first is None:
            self._first = {key: content[key] for key in ("ename", "evalue")}
            self._first["traceback"] = [str(t)[:4000] for t in content["traceback"][:9]]
        if not self._spend(msg["size"]):
            return
        if kind == "clear_output":
            cell.outputs.clear()
        else:
            add_output(cell.outputs, kind, content)

    def _spend(self, size: int) -> bool:
        """Whether there is room for a message of this size, or it is left out.

        Output beyond the limit is dropped, and the answers still count; at a flood, the
        warden ends the kernel.
        """
        self.room -= MESSAGE_BYTES + size
        self.too_long = self.room < 0
        return not self.too_long

    def end_for(self, limit: str) -> None:
        """End the kernel because the submission broke a limit; the first one counts."""
        if self._broken is None:
            self._broken = limit
            self.km.abandon()

    async def _how_it_ended(self) -> str:
        """What the submission did; see ``run``."""
        if self._broken:
            return self._broken
        fault = await self.km.fault()
        if isinstance(fault, GraderFault):
            raise fault
        return str(fault)


def _as_ours(error: BaseException) -> GraderFault:
    """A failure of this process, which says nothing about the submission."""
    if isinstance(error, GraderFault):
        return error
    return GraderFault(f"{type(error).__name__}: {error}")


def code_cell(source: str) -> NotebookNode:
    """As ``nbformat.v4.new_code_cell``, which would validate it, slowly."""
    return NotebookNode(
        cell_type="code",
        metadata=NotebookNode(),
        source=source,
        outputs=[],
        execution_count=None,
    )


def _line(text: str, length: int) -> str:
    """One short line of printable characters."""
    line = " ".join(text.split())
    return "".join(c for c in line if c.isprintable())[:length]
