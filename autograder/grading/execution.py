"""Run one rebuilt notebook in kernels, and put the questions of its checks.

Where a cell stops, it goes on below the line that failed. One that ends its kernel is
left out of the next.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from nbclient.exceptions import DeadKernelError
from nbformat import NotebookNode

from autograder.answers import Answer, decode, in_private
from autograder.demonstrations import looks_at_one, made_by_demonstrations
from autograder.errors import GraderFault, SubmissionFault
from autograder.exercise import Topic
from autograder.expected import Expected, expect_anew
from autograder.grading.client import SubmissionClient
from autograder.grading.clock import Clock
from autograder.judge import Report, explain, judge, mark, refuse
from autograder.reasons import Reason
from autograder.rest_of_cell import definitions_in, rest_below
from autograder.sandbox.bubblewrap import SandboxUnavailable
from autograder.sandbox.connection import ForkServers
from autograder.sandbox.limits import Limits, megabytes
from autograder.sandbox.manager import (
    SandboxKernelManager,
    UnprotectedKernelManager,
)
from autograder.sandbox.messages import FlatSession
from autograder.sandbox.scratch import submission_folder
from autograder.submissions.reading_limit import reading_limit
from autograder.submissions.rebuild import STUDENT, TAKEN_OVER, Rebuilt

MAX_RESTARTS = 3
MOST_ENDED = 2  # kernels, by cells that the student has added and no answer may need
ESTIMATED = "a part of what counted for it is an estimate"


@dataclass
class Execution:
    """The execution of one rebuilt notebook, over as many kernels as it takes.

    Attributes:
        topic: the exercises of the chapter.
        seeds: of this submission, by exercise.
        expected: the right answers, by exercise.
        rebuilt: the notebook; its cells get their outputs.
        clock: of this submission.
        limits: what the submission may use.
        servers: where its kernels are forked, or None without a sandbox.
        given: the answers, by exercise.
        right: the right answers to the same questions.
        reports: what they are worth.
        refused: why an exercise gets nothing, where it was not examined.
        cell_errors: how the cell of an exercise stopped.
        ended_by: the cell that ended a kernel, for each of those that were.
        only_defines: whether cells that the student added only define something.
        notes: one line for each irregularity.
    """

    topic: Topic
    seeds: Mapping[str, list[int]]
    expected: Mapping[str, Expected]
    rebuilt: Rebuilt
    clock: Clock
    limits: Limits
    servers: ForkServers | None
    given: dict[str, list[Answer]] = field(default_factory=dict)
    right: dict[str, Expected] = field(default_factory=dict)
    reports: dict[str, Report] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    cell_errors: dict[str, str] = field(default_factory=dict)
    ended_by: list[int] = field(default_factory=list)
    only_defines: bool = False
    notes: list[str] = field(default_factory=list)

    async def to_the_end(self) -> None:
        """Run all cells and put all questions, in new kernels where one ended.

        Raises:
            SandboxUnavailable: no kernel started.
            GraderFault: a kernel was lost through no provable fault of its own.
        """
        for ended in itertools.count(1):
            defined_only = self.only_defines
            if await self._one_kernel():
                return
            if ended - self._ended_once() > MAX_RESTARTS:
                break
            if self.clock.is_up:
                if defined_only or not self.only_defines:
                    break
                self.clock = Clock(self.limits, self.clock.alone)  # for the answers
        for name in self.topic.exercises:
            if name not in self.given and name not in self.refused:
                self.refused[name] = "not examined: " + self.notes[-1]

    def _ended_once(self) -> int:
        """How many cells of exercises have ended a kernel, and may do so once."""
        cells = self.rebuilt.notebook.cells
        return sum(cells[n].metadata.role == "exercise" for n in {*self.ended_by})

    async def _one_kernel(self) -> bool:
        """Run what is still to be run in a new kernel; whether it got through.

        Raises:
            SandboxUnavailable: no kernel started.
            GraderFault: the kernel was lost through no provable fault of its own.
        """
        if all(n in self.given or n in self.refused for n in self.topic.exercises):
            return True
        with submission_folder() as folder:
            manager = self._manager()
            client = SubmissionClient(
                self.rebuilt.notebook, manager, self.limits, self.clock
            )
            client.resources = {"metadata": {"path": folder}}
            started = False
            try:
                async with client.async_setup_kernel():
                    started = True
                    for number, cell in enumerate(self.rebuilt.notebook.cells):
                        ended = await self._one_cell(client, number, cell)
                        if ended:
                            if client.estimated:
                                self._note(f"{client.estimated}: {ESTIMATED}")
                            self._blame(number, cell, ended)
                            return False
            except GraderFault:
                raise
            except (DeadKernelError, RuntimeError, OSError) as error:
                if started:
                    raise GraderFault(f"{type(error).__name__}: {error}") from error
                raise SandboxUnavailable(f"no kernel started: {error}") from error
            finally:
                await client.close(manager)
                if client.too_long:
                    room = megabytes(self.limits.output_bytes)
                    self._note(f"of all that was printed, the first {room} are kept")
        return True

    def _manager(self) -> SandboxKernelManager | UnprotectedKernelManager:
        if self.servers is not None:
            return SandboxKernelManager(limits=self.limits, servers=self.servers)
        return UnprotectedKernelManager(session=FlatSession())

    async def _one_cell(
        self, client: SubmissionClient, number: int, cell: NotebookNode
    ) -> str | None:
        """Run a cell or ask its questions; how the kernel ended, if it did."""
        role = cell.metadata.role
        if role == "check":
            name = cell.metadata.exercise
            known = name in self.topic.exercises  # or it is not of this book
            if not known or name in self.given or name in self.refused:
                return None
            before = self.clock.charged
            answers, ended = await self._ask(client, cell, self.seeds[name])
            if ended is not None:
                return ended
            quick = self.clock.charged - before < self.limits.cell_seconds / 4
            report = self._mark(name, answers)
            explained = report.score == report.max_score or report.reason
            if explained or not quick or self._is_known(name):
                return None
            return await self._look_for_mistakes(client, cell)
        if role not in ("setup", "exercise", STUDENT, TAKEN_OVER):
            return None
        ended_before = self.ended_by.count(number)
        if not (ended_before or (self.only_defines and role == STUDENT)):
            ended = await client.run(cell, number)
            if ended is None and client.failed:
                ended = await self._below(client, number, cell)
            return ended
        if ended_before > 1 or role == "setup":
            return None
        return await client.run(
            NotebookNode(cell, source=definitions_in(cell.source), outputs=[]), number
        )

    async def _below(
        self, client: SubmissionClient, number: int, cell: NotebookNode
    ) -> str | None:
        """Go on below the lines in which a cell fails; how the kernel ended.

        The cell itself stays as it was written.
        """
        first, line, source = client.failed, client.failed_in, cell.source
        for stops in itertools.count():
            self._note_limit(cell, client.failed)
            rest = _rest(source, client.failed_in, stops)
            if stops == 0:
                self._note_stop(number, cell, first, line, bool(rest))
            if not rest:
                break
            below = NotebookNode(cell, source=rest, outputs=[])
            ended = await client.run(below, number)
            cell.outputs = cell.outputs + below.outputs
            if ended is not None or not client.failed:
                return ended
            source = rest
        if cell.metadata.role == "exercise":
            self.cell_errors[cell.metadata.exercise] = f"its cell stopped with {first}"
        return None

    def _note_stop(
        self, number: int, cell: NotebookNode, failed: str, line: int, goes_on: bool
    ) -> None:
        """Say that a cell stopped; that of an exercise may say so itself.

        What was taken over of a demonstration is no cell of the student's: an answer
        that misses a name of it is told so (``missing_names``).
        """
        if cell.metadata.role == TAKEN_OVER:
            return
        made = made_by_demonstrations(self.rebuilt.code(), number)
        if looks_at_one(failed, made):
            self._note(
                f"{_where(cell)} looks at what a demonstration of the book made; these "
                "are not run here, so it was run without such lines"
            )
        elif goes_on or cell.metadata.role == STUDENT:
            where = f" in line {line}" if line else ""
            below = "; what is below was run" if goes_on else ""
            self._note(f"{_where(cell)} stopped{where} ({failed}){below}")

    async def _ask(
        self, client: SubmissionClient, cell: NotebookNode, seeds: list[int]
    ) -> tuple[list[Answer], str | None]:
        """Put the questions of a check cell; the answers, and how the kernel ended."""
        sent, ended = await client.ask(self.topic.name, cell.metadata.exercise, seeds)
        if ended is None and client.failed:
            self._note(f"{_where(cell)} stopped ({client.failed})")
        answers = []
        while sent:  # no answer is kept in two forms
            answers.append(decode(sent.pop(0)))
        for given in answers:
            if given.raised:
                self._note_limit(cell, f"{given.raised}: {given.detail}")
        return [in_private(given, self.rebuilt.lines) for given in answers], ended

    def _mark(self, name: str, answers: list[Answer]) -> Report:
        """Mark the answers that were given to an exercise.

        Why they are wrong takes longer to find out, and is told in ``report``, unless
        a known mistake is found before.
        """
        exercise, right = self.topic.exercises[name], self.expected[name]
        if not self._is_known(name):
            right = expect_anew(self.topic, exercise, self.seeds[name], right)
        given = self._in_full(name, answers)
        report = mark(exercise, given, right)
        self.given[name], self.right[name], self.reports[name] = given, right, report
        return report

    def _is_known(self, name: str) -> bool:
        """Whether the seeds of an exercise are those that mistakes are known for."""
        return list(self.seeds[name]) == self.expected[name].seeds

    async def _look_for_mistakes(
        self, client: SubmissionClient, cell: NotebookNode
    ) -> str | None:
        """Find the mistake that explains wrong answers; how the kernel ended.

        Marks are given already, and stay, whatever happens here.
        """
        name = cell.metadata.exercise
        expected = self.expected[name]
        answers, ended = await self._ask(client, cell, expected.seeds)
        if ended is None:
            answers = self._in_full(name, answers)
            known = judge(self.topic.exercises[name], answers, expected)
            if known.reason:
                self.reports[name] = replace(
                    self.reports[name],
                    mistake=known.mistake,
                    message=known.message,
                    reason=known.reason,
                )
        return ended

    def _in_full(self, name: str, answers: list[Answer]) -> list[Answer]:
        """Answers to all cases of an exercise, also those that never came."""
        missing = len(self.topic.exercises[name].cases) - len(answers)
        return answers + missing * [Answer(unreadable="no answer was received")]

    def _note_limit(self, cell: NotebookNode, error: str) -> None:
        """Name the limit at which the system may have raised an error.

        Only "perhaps": the code itself can raise whatever it likes.
        """
        limit = self.limits.behind(error) if self.servers else None
        if limit:
            self._note(f"{_where(cell)} stopped, perhaps at the {limit}")

    def _blame(self, number: int, cell: NotebookNode, ended: str) -> None:
        """Remember which cell ended the kernel, so that the next one skips it.

        Of a cell that the student wrote, it runs what that defines, unless it ends that
        one, too; and of all cells that the student added, once they have ended as many
        as ``MOST_ENDED``, or the time was used up.
        """
        note = f"{_where(cell)} ended the kernel: {ended}"
        self._note(note)
        role, name = cell.metadata.role, cell.metadata.get("exercise")
        if role == "exercise" and number not in self.ended_by:
            self.cell_errors[name] = note
        elif name and not (role == "check" and name in self.given):  # or a hint is lost
            self.refused[name] = note
        if role != "check":
            self.ended_by.append(number)
        cells = self.rebuilt.notebook.cells
        added = sum(cells[n].metadata.role == STUDENT for n in self.ended_by)
        too_many = role == STUDENT and added >= MOST_ENDED
        used_up = role in (STUDENT, "exercise") and self.clock.is_up
        if (too_many or used_up) and not self.only_defines:
            self.only_defines = True
            self._note(
                "of the cells that you added, only what they define was run then"
            )

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def report(self, name: str) -> Report:
        """What came out for one exercise."""
        exercise = self.topic.exercises[name]
        if name in self.refused:
            return refuse(exercise, self.refused[name])
        report = self.reports.get(name) or self._mark(name, [])
        report = explain(report, exercise, self.given[name], self.right[name])
        missing = name in self.rebuilt.missing
        other = "its exercise cell is not in the notebook" if missing else ""
        if not any(answer.is_value for answer in self.given[name]):
            other = self.cell_errors.get(name, other)
        if other and report.score < report.max_score and report.mistake is None:
            report = replace(report, message=other, reason=Reason.REFUSED)
        return report


def _rest(source: str, line: int, stops: int) -> str:
    try:
        with reading_limit():
            return rest_below(source, line, stops)
    except SubmissionFault:
        return ""


def _where(cell: NotebookNode) -> str:
    """Where in a notebook something happened, in words."""
    role, name = cell.metadata.get("role"), cell.metadata.get("exercise")
    return {
        "exercise": f"the cell of {name}",
        "check": f"calling {name}",
        STUDENT: "a cell of yours",
        TAKEN_OVER: "what you use of a demonstration of the book",
    }.get(role, "the notebook")
