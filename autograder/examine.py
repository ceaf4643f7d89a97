"""Examine one submission: rebuild it, run it in the sandbox, judge its answers.

The score is decided here, in the trusted process. Nothing that the submission prints
or displays can change it.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import re
import secrets
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import nbformat
from jupyter_client import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from autograder.answers import MAX_BYTES, Answer, decode
from autograder.check import as_html, as_text, forbidden_message
from autograder.exercise import Topic
from autograder.judge import Expected, Report, expect, judge, refuse
from autograder.rebuild import STUDENT, Rebuilt, reachable_source, rebuild
from autograder.respond import MIME_TYPE
from autograder.sandbox import Limits, SandboxKernelManager

MAX_RESTARTS = 3
KEPT_TEXT = 20_000  # characters of one output
KEPT_SOURCE = 100_000  # characters of one cell
KEPT_TOTAL = 3_000_000  # characters of all outputs and sources together
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass
class Examination:
    """The outcome of one submission.

    Attributes:
        report: plain data: chapter, score, max_score, exercises, notes, refused.
        notebook: the rebuilt notebook with its outputs, safe to show.
    """

    report: dict[str, Any]
    notebook: NotebookNode


def draw_seeds(topic: Topic) -> dict[str, list[int]]:
    """Fresh secret seeds for every case of every exercise of a topic."""
    return {
        name: [secrets.randbits(48) for _ in exercise.cases]
        for name, exercise in topic.exercises.items()
    }


def expected_answers(
    topic: Topic, seeds: Mapping[str, list[int]]
) -> dict[str, Expected]:
    """The right answers and those of the known mistakes, for all exercises."""
    return {
        name: expect(topic, exercise, seeds[name])
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
    asyncio.run(run.to_the_end())
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
        for name, exercise in self.topic.exercises.items():
            used = exercise.forbidden_calls(reachable_source(self.rebuilt, name))
            if used:
                self.refused[name] = forbidden_message(used)
        deadline = time.monotonic() + self.limits.submission_seconds
        for _ in range(1 + MAX_RESTARTS):
            if await self._one_kernel(deadline):
                return
            if time.monotonic() > deadline:
                break
        for name in self.topic.exercises:
            if name not in self.given and name not in self.refused:
                self.refused[name] = "not examined: " + self.notes[-1]

    async def _one_kernel(self, deadline: float) -> bool:
        """Run what is still to be run in a new kernel; whether it got through."""
        if all(n in self.given or n in self.refused for n in self.topic.exercises):
            return True
        with tempfile.TemporaryDirectory(prefix="attention-") as folder:
            client = _Client(self.rebuilt.notebook, self._manager(), self.limits)
            client.resources = {"metadata": {"path": folder}}
            client.deadline = deadline
            try:
                async with client.async_setup_kernel():
                    for number, cell in enumerate(self.rebuilt.notebook.cells):
                        ended = await self._one_cell(client, number, cell)
                        if ended:
                            return self._blame(number, cell, ended)
            except (DeadKernelError, RuntimeError, OSError) as error:
                return self._blame(0, NotebookNode(metadata={}), str(error))
            finally:
                await client.close()
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
            if name in self.given or name in self.refused:
                return None
            seeds = self.expected[name].seeds
            texts, ended = await client.ask(self.topic.name, name, seeds)
            answers = {n: decode(text) for n, text in texts.items() if n < len(seeds)}
            if ended is None:
                self.given[name] = answers
            return ended
        if role not in ("setup", "exercise", STUDENT) or number in self.skipped:
            return None
        ended = await client.run(cell, number)
        errors = [o for o in cell.outputs if o.output_type == "error"]
        if role == "exercise" and errors:
            said = f"{errors[0].ename}: {errors[0].evalue}"
            said = " ".join(said.split())[:200]
            self.cell_errors[cell.metadata.exercise] = f"its cell stopped with {said}"
        return ended

    def _blame(self, number: int, cell: NotebookNode, ended: str) -> bool:
        """Remember which cell ended the kernel, so that the next one skips it."""
        role, name = cell.metadata.get("role"), cell.metadata.get("exercise")
        where = {
            "exercise": f"the cell of {name}",
            "check": f"calling {name}",
            STUDENT: "a cell of yours",
        }.get(role, "the notebook")
        note = f"{where} ended the kernel: {ended}"
        if note not in self.notes:
            self.notes.append(note)
        if name:
            self.refused[name] = note
        if role != "check":
            self.skipped.add(number)
        return False

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


class _Client(NotebookClient):
    """nbclient with limits, which also carries questions and answers."""

    def __init__(
        self, notebook: NotebookNode, manager: AsyncKernelManager, limits: Limits
    ) -> None:
        place_for_questions = nbformat.v4.new_code_cell()
        super().__init__(
            nbformat.v4.new_notebook(cells=[place_for_questions, *notebook.cells]),
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
        self._answer_room = 8 * MAX_BYTES
        self._answers: dict[int, str] | None = None
        self._broken: str | None = None

    def _seconds_left(self, cell: NotebookNode) -> int:
        left = min(self.limits.cell_seconds, self.deadline - time.monotonic())
        return max(1, round(left))

    async def close(self) -> None:
        """Kill the kernel, drop what was not sent, close every socket."""
        if self.kc is not None:
            self.kc.stop_channels()
        with contextlib.suppress(Exception):
            await self.km.shutdown_kernel(now=True)
        self.km.context.destroy(linger=0)

    async def run(self, cell: NotebookNode, number: int) -> str | None:
        """Run a cell; how the kernel ended, if it did."""
        try:
            await self.async_execute_cell(cell, number + 1)
        except CellTimeoutError:
            seconds = self.limits.cell_seconds
            if time.monotonic() >= self.deadline:
                seconds = self.limits.submission_seconds
            return f"time limit of {seconds:g} s"
        except DeadKernelError:
            return await self._how_it_ended()
        except Exception as error:  # a forged message that nbclient cannot read
            return f"its messages could not be read ({type(error).__name__})"
        return self._broken

    async def ask(
        self, topic: str, name: str, seeds: list[int]
    ) -> tuple[dict[int, str], str | None]:
        """Put all cases of an exercise; the encoded answers, and how it ended."""
        question = nbformat.v4.new_code_cell(
            f"__import__('autograder.respond').respond.respond"
            f"({topic!r}, {name!r}, {seeds!r})"
        )
        self._answers = {}
        try:
            ended = await self.run(question, -1)
            return self._answers, ended
        finally:
            self._answers = None

    def process_message(
        self, msg: dict[str, Any], cell: NotebookNode, cell_index: int
    ) -> NotebookNode | None:
        """Take answers out of the stream, and stop a flood."""
        content = msg["content"]
        if self._answers is not None:
            sent = content.get("data", {}) if isinstance(content, dict) else {}
            if MIME_TYPE in sent:
                self._take(sent[MIME_TYPE])
                return None
        self._room -= _size(content)
        if self._room < 0:
            self._break(f"output limit of {self.limits.output_bytes // 2**20} MB")
            return None
        if msg["msg_type"].startswith("comm_"):
            return None
        return super().process_message(msg, cell, cell_index)

    def _take(self, sent: Any) -> None:
        number = sent.get("case") if isinstance(sent, dict) else None
        text = sent.get("answer") if isinstance(sent, dict) else None
        if type(number) is not int or not isinstance(text, str):
            return
        self._answer_room -= len(text)
        if self._answer_room < 0:
            self._break(f"answer limit of {8 * MAX_BYTES // 2**20} MB")
        else:
            self._answers.setdefault(number, text)

    def _break(self, limit: str) -> None:
        if self._broken is None:
            self._broken = limit
            provisioner = self.km.provisioner
            if hasattr(provisioner, "abandon"):
                provisioner.abandon()

    async def _how_it_ended(self) -> str:
        if self._broken:
            return self._broken
        ended = getattr(self.km.provisioner, "ended", None) or {}
        if ended.get("limit"):
            return ended["limit"]
        return f"the process ended with code {ended.get('exit', 'unknown')}"


def _size(content: Any) -> int:
    """About how many bytes a message holds."""
    if isinstance(content, str):
        return len(content)
    if isinstance(content, dict):
        return 50 + sum(_size(value) for value in content.values())
    if isinstance(content, list):
        return sum(_size(value) for value in content)
    return 8


def _kept_notebook(rebuilt: Rebuilt, reports: list[Report]) -> NotebookNode:
    """The rebuilt notebook with outputs that are small and safe to show."""
    by_name = {report.name: report for report in reports}
    notebook = nbformat.from_dict(rebuilt.notebook)
    room = KEPT_TOTAL
    for cell in notebook.cells:
        role = cell.metadata.pop("role", None)
        name = cell.metadata.pop("exercise", None)
        cell.source = _cut(cell.source, min(room, KEPT_SOURCE), escapes=True)
        room -= len(cell.source)
        if cell.cell_type != "code":
            continue
        cell.execution_count = None
        outputs, cell.outputs = cell.outputs, []
        if role == "check":
            cell.outputs = _report_outputs(by_name[name])
            continue
        for output in outputs:
            kept = _kept(output)
            size = _size(kept) if kept else 0
            if kept and size <= room:
                cell.outputs.append(kept)
                room -= size
    return notebook


def _report_outputs(report: Report) -> list[NotebookNode]:
    table = {"text/html": as_html(report), "text/plain": as_text(report)}
    return [
        nbformat.v4.new_output("display_data", table),
        nbformat.v4.new_output(
            "execute_result", {"text/plain": f"{report.score:g}"}, execution_count=None
        ),
    ]


def _kept(output: NotebookNode) -> NotebookNode | None:
    """What is kept of one output: text, and pictures that really are PNG."""
    kind = output.get("output_type")
    if kind == "stream":
        text = _cut(output.get("text", ""))
        return nbformat.v4.new_output("stream", name="stdout", text=text)
    if kind == "error":
        return nbformat.v4.new_output(
            "error",
            ename=_cut(output.get("ename", ""), 200),
            evalue=_cut(output.get("evalue", ""), 1000),
            traceback=[_cut(line, 4000) for line in output.get("traceback", [])][:30],
        )
    data = output.get("data", {})
    kept = {}
    if isinstance(data.get("text/plain"), str):
        kept["text/plain"] = _cut(data["text/plain"])
    image = _png(data.get("image/png"))
    if image:
        kept["image/png"] = image
    return nbformat.v4.new_output("display_data", kept) if kept else None


def _png(data: Any) -> str | None:
    """The base64 text of a PNG picture, encoded anew; ``None`` if it is none."""
    try:
        raw = base64.b64decode("".join(str(data).split()), validate=True)
    except (binascii.Error, ValueError):
        return None
    if not raw.startswith(b"\x89PNG\r\n\x1a\n"):
        return None
    return base64.b64encode(raw).decode("ascii")


def _cut(text: Any, length: int = KEPT_TEXT, escapes: bool = False) -> str:
    """Text without terminal escapes (unless kept), cut to ``length`` characters."""
    text = str(text) if escapes else _ESCAPES.sub("", str(text))
    return text if len(text) <= length else text[:length] + "\n[cut]"
