"""Examine one submission: rebuild it, run it in the sandbox, judge its answers.

The score is decided here, in the trusted process. Nothing that the submission prints
or displays can change it.
"""

from __future__ import annotations

import asyncio
import atexit
import base64
import binascii
import contextlib
import json
import math
import re
import signal
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import nbformat
import zmq
from jupyter_client import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.client import CellExecutionComplete
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from autograder.answers import Answer, decode
from autograder.check import as_html, as_text, forbidden_message
from autograder.exercise import Topic
from autograder.judge import Expected, Report, Share, alone, expect, judge, refuse
from autograder.limits import Limits
from autograder.rebuild import MAX_SOURCE, STUDENT, Rebuilt, reachable_source, rebuild
from autograder.respond import MIME_TYPE
from autograder.sandbox import SandboxKernelManager, SandboxUnavailable

MAX_RESTARTS = 3
GRACE_SECONDS = 2
MESSAGE_BYTES = 200  # what any message counts, beside its content
KEPT_TEXT = 20_000  # characters of one output
KEPT_OUTPUTS = 100  # outputs of one cell
KEPT_SOURCE = 30_000  # characters of one cell
KEPT_TOTAL = 3_000_000  # bytes of all that a student wrote, in the kept notebook
KEPT_PIXELS = 25_000_000  # of all pictures together
# Terminal escapes; then control characters and those that change the reading direction.
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


_BLANKS = re.compile(r"(?:[ \t]*\n){20,}")


@dataclass
class Examination:
    """The outcome of one submission.

    Attributes:
        report: plain data: chapter, score, max_score, exercises, notes, refused.
        notebook: the rebuilt notebook with its outputs, safe to show.
    """

    report: dict[str, Any]
    notebook: NotebookNode


def draw_seeds(topic: Topic, secret: bytes) -> dict[str, list[int]]:
    """A seed for every case of every exercise of a topic.

    Args:
        topic: the exercises of the chapter.
        secret: at most 64 bytes; who does not know them cannot guess a seed.
    """

    def seed(name: str, number: int) -> int:
        text = f"{name}/{number}".encode()
        return int.from_bytes(blake2b(text, key=secret, digest_size=6).digest())

    return {
        name: [seed(name, number) for number in range(len(exercise.cases))]
        for name, exercise in topic.exercises.items()
    }


def expected_answers(
    topic: Topic, seeds: Mapping[str, list[int]], share: Share = alone
) -> dict[str, Expected]:
    """The right answers and those of the known mistakes, for all exercises.

    For ``share``, see ``judge.expect``.
    """
    return {
        name: expect(topic, exercise, seeds[name], share)
        for name, exercise in topic.exercises.items()
    }


def examine(
    master: NotebookNode,
    data: dict[str, Any],
    topic: Topic,
    expected: Mapping[str, Expected],
    limits: Limits,
    *,
    sandbox: bool = True,
) -> Examination:
    """Examine a submission.

    Args:
        master: the notebook as it was released to students.
        data: the submission, from ``rebuild.read_submission``.
        topic: the exercises of the chapter.
        expected: the right answers, from ``expected_answers``.
        limits: what the submission may use.
        sandbox: whether to isolate the code. Without it, it runs as the user.
    """
    start = time.monotonic()
    rebuilt = rebuild(master, data)
    run = _Run(topic, expected, rebuilt, limits, sandbox)
    with asyncio.Runner(loop_factory=_Loop) as runner:
        runner.run(run.to_the_end())
    reports = [run.report(name) for name in topic.exercises]
    report = summary(topic, reports, notes=rebuilt.notes + run.notes)
    report["seconds"] = round(time.monotonic() - start, 3)
    if not sandbox:
        report["notes"].insert(0, "examined without a sandbox")
    return Examination(report, _kept_notebook(rebuilt, reports))


def summary(
    topic: Topic,
    reports: list[Report],
    notes: list[str] | None = None,
    refused: str | None = None,
) -> dict[str, Any]:
    """The report on a whole notebook as plain data."""
    return {
        "chapter": topic.name,
        "score": sum(report.score for report in reports),
        "max_score": sum(report.max_score for report in reports),
        "refused": refused,
        "notes": notes or [],
        "exercises": [report.as_dict() for report in reports],
    }


def refused_examination(master: NotebookNode, topic: Topic, reason: str) -> Examination:
    """Zero points, with a reason, for what could not be examined at all."""
    rebuilt = rebuild(master, {"cells": []})
    rebuilt.notes.clear()
    reports = [refuse(exercise, reason) for exercise in topic.exercises.values()]
    report = summary(topic, reports, refused=reason)
    return Examination({**report, "seconds": 0.0}, _kept_notebook(rebuilt, reports))


@dataclass
class _Run:
    """The execution of one rebuilt notebook, over as many kernels as it takes."""

    topic: Topic
    expected: Mapping[str, Expected]
    rebuilt: Rebuilt
    limits: Limits
    sandbox: bool
    given: dict[str, dict[int, Answer]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    cell_errors: dict[str, str] = field(default_factory=dict)
    skipped: set[int] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    async def to_the_end(self) -> None:
        deadline = time.monotonic() + self.limits.submission_seconds
        for name, exercise in self.topic.exercises.items():
            if name in self.rebuilt.too_long:
                self.refused[name] = f"its cell has more than {MAX_SOURCE} characters"
            if name in self.refused or not exercise.forbidden:
                continue
            try:
                used = exercise.forbidden_calls(reachable_source(self.rebuilt, name))
            except (RecursionError, MemoryError):
                self.refused[name] = "its source is nested too deeply to be read"
                continue
            if used:
                self.refused[name] = forbidden_message(used)
        for number in range(1 + MAX_RESTARTS):
            if await self._one_kernel(deadline, first=number == 0):
                return
            if time.monotonic() > deadline:
                break
        for name in self.topic.exercises:
            if name not in self.given and name not in self.refused:
                self.refused[name] = "not examined: " + self.notes[-1]

    async def _one_kernel(self, deadline: float, first: bool) -> bool:
        """Run what is still to be run in a new kernel; whether it got through.

        Raises:
            SandboxUnavailable: no kernel started, and nothing of it had run before.
        """
        if all(n in self.given or n in self.refused for n in self.topic.exercises):
            return True
        with tempfile.TemporaryDirectory(prefix="attention-") as folder:
            manager = self._manager()
            client = _Client(self.rebuilt.notebook, manager, self.limits)
            client.resources = {"metadata": {"path": folder}}
            client.deadline = deadline
            started = False
            try:
                async with client.async_setup_kernel():
                    started = True
                    for number, cell in enumerate(self.rebuilt.notebook.cells):
                        ended = await self._one_cell(client, number, cell)
                        if ended:
                            return self._blame(number, cell, ended)
            except SandboxUnavailable:
                raise  # no fault of this submission
            except (DeadKernelError, RuntimeError, OSError) as error:
                if self.sandbox and first and not started:
                    raise SandboxUnavailable(f"no kernel started: {error}") from error
                return self._blame(0, NotebookNode(metadata={}), str(error))
            finally:
                await client.close(manager)
        return True

    def _manager(self) -> AsyncKernelManager:
        if self.sandbox:
            return SandboxKernelManager(limits=self.limits)
        return AsyncKernelManager(kernel_name="python3")

    async def _one_cell(
        self, client: _Client, number: int, cell: NotebookNode
    ) -> str | None:
        """Run a cell or ask its questions; how the kernel ended, if it did."""
        role = cell.metadata.role
        if role == "check":
            name = cell.metadata.exercise
            known = name in self.topic.exercises  # or it is not of this book
            if not known or name in self.given or name in self.refused:
                return None
            seeds = self.expected[name].seeds
            texts, ended = await client.ask(self.topic.name, name, seeds)
            answers = {n: decode(text) for n, text in texts.items() if n < len(seeds)}
            for given in answers.values():
                self._note_limit(cell, f"{given.raised}: {given.detail}")
            if ended is None:
                self.given[name] = answers
            return ended
        if role not in ("setup", "exercise", STUDENT) or number in self.skipped:
            return None
        ended = await client.run(cell, number)
        if client.failed:
            self._note_limit(cell, client.failed)
            if role == "exercise":
                name = cell.metadata.exercise
                self.cell_errors[name] = f"its cell stopped with {client.failed}"
        return ended

    def _note_limit(self, cell: NotebookNode, error: str) -> None:
        """Name the limit at which the system may have raised an error.

        Only "perhaps": the code itself can raise whatever it likes.
        """
        limit = self.limits.behind(error) if self.sandbox else None
        if limit:
            self._note(f"{_where(cell)} stopped, perhaps at the {limit}")

    def _blame(self, number: int, cell: NotebookNode, ended: str) -> bool:
        """Remember which cell ended the kernel, so that the next one skips it."""
        note = f"{_where(cell)} ended the kernel: {ended}"
        self._note(note)
        if name := cell.metadata.get("exercise"):
            self.refused[name] = note
        if cell.metadata.get("role") != "check":
            self.skipped.add(number)
        return False

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def report(self, name: str) -> Report:
        """Judge the answers to one exercise."""
        exercise = self.topic.exercises[name]
        if name in self.refused:
            return refuse(exercise, self.refused[name])
        answers = self.given.get(name, {})
        unanswered = Answer(unreadable="no answer was received")
        given = [answers.get(n, unanswered) for n in range(len(exercise.cases))]
        report = judge(exercise, given, self.expected[name])
        missing = name in self.rebuilt.missing
        other = "its exercise cell is not in the notebook" if missing else ""
        other = self.cell_errors.get(name, other)
        if other and report.score < report.max_score and report.mistake is None:
            report = Report(**{**vars(report), "message": other})
        return report


def _where(cell: NotebookNode) -> str:
    """Where in a notebook something happened, in words."""
    role, name = cell.metadata.get("role"), cell.metadata.get("exercise")
    return {
        "exercise": f"the cell of {name}",
        "check": f"calling {name}",
        STUDENT: "a cell of yours",
    }.get(role, "the notebook")


class _Loop(asyncio.SelectorEventLoop):
    """Leaves signals as they are.

    nbclient would take SIGTERM and SIGINT for itself: a worker that is told to end
    would only end its kernel, and whoever waits for the worker would wait for ever.
    """

    def add_signal_handler(self, *arguments: Any) -> None:
        """Refuse, in the way that nbclient expects in a thread."""
        raise RuntimeError("signals belong to the process, not to one notebook")


class _Client(NotebookClient):
    """nbclient with limits, which also carries questions and answers."""

    def __init__(
        self, notebook: NotebookNode, manager: AsyncKernelManager, limits: Limits
    ) -> None:
        cells = [_code_cell(""), *notebook.cells]  # the first one is for questions
        super().__init__(
            NotebookNode(notebook, cells=cells),
            km=manager,
            allow_errors=True,
            record_timing=False,
            store_widget_state=False,
            timeout_func=self._seconds_left,
            iopub_timeout=2,
        )
        self.log.setLevel("CRITICAL")
        self.limits = limits
        self.deadline = 0.0
        self._room = limits.output_bytes
        self._answer_room = 0
        self.failed: str | None = None  # how the last cell failed, if it did
        self._answers: dict[int, str] | None = None
        self._asked_for: dict[str, int] = {}  # as JSON has it: by text
        self._broken: str | None = None

    def _seconds_left(self, cell: NotebookNode) -> int:
        left = min(self.limits.cell_seconds, self.deadline - time.monotonic())
        return max(1, math.ceil(left))  # never before the deadline

    async def close(self, manager: AsyncKernelManager) -> None:
        """Kill the kernel, drop what was not sent, close every socket."""
        if self.kc is not None:
            self.kc.stop_channels()
        with contextlib.suppress(Exception):
            await manager.shutdown_kernel(now=True)
        manager.context.destroy(linger=0)
        atexit.unregister(self._cleanup_kernel)  # left by nbclient when a start fails

    async def run(self, cell: NotebookNode, number: int) -> str | None:
        """Run a cell; how the kernel ended, if it did."""
        self.failed = None
        patience = self._seconds_left(cell) + GRACE_SECONDS
        try:
            await asyncio.wait_for(
                self.async_execute_cell(cell, number + 1), timeout=patience
            )
        except (CellTimeoutError, DeadKernelError, TimeoutError):
            return self._how_it_ended()
        except Exception as error:  # a forged message that cannot be read
            return f"its messages could not be read ({type(error).__name__})"
        return self._broken

    async def ask(
        self, topic: str, name: str, seeds: list[int]
    ) -> tuple[dict[int, str], str | None]:
        """Put all cases of an exercise; the encoded answers, and how it ended."""
        question = _code_cell(
            f"__import__('autograder.respond').respond.respond"
            f"({topic!r}, {name!r}, {seeds!r})"
        )
        self._answers, self._answer_room = {}, self.limits.answer_bytes
        self._asked_for = {str(number): number for number in range(len(seeds))}
        try:
            ended = await self.run(question, -1)
            return self._answers, ended
        finally:
            self._answers = None

    async def _check_raise_for_error(
        self, cell: NotebookNode, cell_index: int, exec_reply: dict[str, Any] | None
    ) -> None:
        """Remember the error that a cell stopped with, and go on."""
        content = exec_reply["content"]
        if content["status"] == "error":
            said = f"{content['ename']!s:.100}: {content['evalue']!s:.1000}"
            self.failed = _line(said, 200)

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
            await asyncio.sleep(0)  # a flood must not keep the clock from running
            try:
                msg = await self.kc.iopub_channel.get_msg(timeout=None)
                if msg["parent_header"].get("msg_id") == parent_msg_id:
                    self.process_message(msg, cell, cell_index)
                else:
                    self._spend(0)
            except CellExecutionComplete:
                return
            except zmq.ZMQError:
                raise
            except Exception:
                self._spend(0)

    def process_message(
        self, msg: dict[str, Any], cell: NotebookNode, cell_index: int
    ) -> None:
        """Take answers and outputs out of the stream, and stop a flood."""
        kind, content = msg["msg_type"], msg["content"]
        if kind == "status" and content["execution_state"] == "idle":
            raise CellExecutionComplete
        if self._answers is not None and kind == "display_data":
            sent = content["data"].get(MIME_TYPE)
            if sent is not None:
                for number, text in sent.items():
                    self._take(number, text)
                return
        if not self._spend(_size(content)):
            return
        if kind == "clear_output":
            cell.outputs.clear()
        elif len(cell.outputs) < KEPT_OUTPUTS:
            _add_output(cell.outputs, kind, content)

    def _take(self, name: str, text: Any) -> None:
        number = self._asked_for.get(name)
        if number is None or number in self._answers:
            return
        if isinstance(text, str):
            self._answer_room -= len(text)
            if self._answer_room < 0:
                self._break(self.limits.called("answer_bytes"))
            else:
                self._answers[number] = text

    def _spend(self, size: int) -> bool:
        """Whether a message of this size may still be sent."""
        self._room -= MESSAGE_BYTES + size
        if self._room < 0:
            self._break(self.limits.called("output_bytes"))
        return self._room >= 0

    def _break(self, limit: str) -> None:
        if self._broken is None:
            self._broken = limit
            provisioner = self.km.provisioner
            if hasattr(provisioner, "abandon"):
                provisioner.abandon()

    def _how_it_ended(self) -> str:
        if self._broken:
            return self._broken
        ended = getattr(self.km.provisioner, "ended", None)
        if ended is not None:
            return ended["limit"] or _how_it_exited(ended["exit"])
        late = time.monotonic() >= self.deadline
        return self.limits.called("submission_seconds" if late else "cell_seconds")


def _how_it_exited(code: int) -> str:
    if code >= 0:
        return f"the process ended with code {code}"
    what = signal.strsignal(-code) or "unknown"
    return f"the process was ended by signal {-code} ({what.lower()})"


def _code_cell(source: str) -> NotebookNode:
    """As ``nbformat.v4.new_code_cell``, which would validate it, slowly."""
    return NotebookNode(
        cell_type="code",
        metadata=NotebookNode(),
        source=source,
        outputs=[],
        execution_count=None,
    )


def _output(kind: str, **fields: Any) -> NotebookNode:
    """As ``nbformat.v4.new_output``, which would validate it, slowly."""
    return NotebookNode(output_type=kind, **fields)


def _size(content: Any) -> int:
    """About how many bytes a message holds."""
    if isinstance(content, str):
        return len(content)
    if isinstance(content, dict):
        return 50 + sum(_size(value) for value in content.values())
    if isinstance(content, list):
        return sum(_size(value) for value in content)
    return 8


def _add_output(outputs: list[NotebookNode], kind: str, content: Any) -> None:
    """Add what a message shows, if it is an output: text and pictures, nothing else."""
    if kind == "stream":
        name = "stderr" if content["name"] == "stderr" else "stdout"
        text = _cut(content["text"])
        last = outputs[-1] if outputs else None
        if last and last.output_type == "stream" and last.name == name:
            last.text = _cut(last.text + text)
        else:
            outputs.append(_output("stream", name=name, text=text))
    elif kind == "error":
        outputs.append(
            _output(
                "error",
                ename=_cut(content["ename"], 200),
                evalue=_cut(content["evalue"], 1000),
                traceback=[_cut(line, 4000) for line in content["traceback"][:30]],
            )
        )
    elif kind in ("display_data", "execute_result"):
        data, kept = content["data"], {}
        if "text/plain" in data:
            kept["text/plain"] = _cut(data["text/plain"])
        image = _png(data.get("image/png"))
        if image:
            kept["image/png"] = image
        if kept:
            outputs.append(_output("display_data", data=kept, metadata={}))


def _kept_notebook(rebuilt: Rebuilt, reports: list[Report]) -> NotebookNode:
    """The rebuilt notebook with outputs that are small and safe to show."""
    by_name = {report.name: report for report in reports}
    notebook = nbformat.from_dict(rebuilt.notebook)
    room, pixels = KEPT_TOTAL, KEPT_PIXELS
    for cell in notebook.cells:
        role = cell.metadata.pop("role", None)
        name = cell.metadata.pop("exercise", None)
        if role in (STUDENT, "exercise", "text"):
            kept = _CONTROLS.sub("\ufffd", cell.source)
            kept = _BLANKS.sub("\n" * 20, kept)  # colouring takes their square
            kept = _cut(kept, KEPT_SOURCE)
            room -= len(json.dumps(kept)) + 300
            cell.source = kept if room >= 0 else "[cut]"
        if cell.cell_type != "code":
            continue
        cell.execution_count = None
        outputs, cell.outputs = cell.outputs, []
        if role == "check":
            if name in by_name:
                cell.outputs = _report_outputs(by_name[name])
            continue
        for output in outputs:
            size = len(json.dumps(output)) + 100
            drawn = _pixels(output.get("data", {}).get("image/png"))
            if size <= room and drawn <= pixels:
                cell.outputs.append(output)
                room -= size
                pixels -= drawn
    return notebook


def _report_outputs(report: Report) -> list[NotebookNode]:
    # What a student's exception says is no formula.
    page = f'<div class="tex2jax_ignore mathjax_ignore">{as_html(report)}</div>'
    table = {"text/html": page, "text/plain": as_text(report)}
    return [
        _output("display_data", data=table, metadata={}),
        _output(
            "execute_result",
            data={"text/plain": f"{report.score:g}"},
            metadata={},
            execution_count=None,
        ),
    ]


def _png(data: Any) -> str | None:
    """The base64 text of a PNG picture of moderate size; ``None`` if it is none."""
    if not isinstance(data, str):
        return None
    try:
        raw = base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError):
        return None
    if raw[:16] != b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR":
        return None
    kept = base64.b64encode(raw).decode("ascii")
    return kept if 0 < _pixels(kept) <= KEPT_PIXELS else None


def _pixels(picture: str | None) -> int:
    """How many a picture that was kept has."""
    head = base64.b64decode(picture[:32]) if picture else bytes(24)
    return int.from_bytes(head[16:20]) * int.from_bytes(head[20:24])


def _cut(text: Any, length: int = KEPT_TEXT) -> str:
    """Text that does nothing but be read, cut to ``length`` characters."""
    if not isinstance(text, str):
        raise TypeError("a message that holds no text where text belongs")
    cut = "\n[cut]"
    if len(text) > length + len(cut):
        text = text[:length] + cut
    text = _CONTROLS.sub("", _ESCAPES.sub("", text))
    return text.encode("utf-8", "replace").decode("utf-8")


def _line(text: str, length: int) -> str:
    """One short line of printable characters."""
    line = " ".join(text.split())
    return "".join(c for c in line if c.isprintable())[:length]
