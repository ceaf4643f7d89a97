"""Run a notebook as it was handed in, and put the questions of its checks.

A cell that ends its kernel is left out of the next one, but for what it defines; so
are then all cells that the student added.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from nbformat import NotebookNode

from autograder.answers import Answer, decode
from autograder.errors import GraderFault
from autograder.exercise import Exercise, Topic
from autograder.expected import Expected, expect
from autograder.grading.client import SubmissionClient
from autograder.grading.clock import Clock
from autograder.grading.remarks import Aside, read_aside
from autograder.judge import Report, judge, refuse
from autograder.reasons import Reason
from autograder.sandbox.connection import ForkServers
from autograder.sandbox.limits import Limits, megabytes
from autograder.submissions.cells import Cell, HandedIn, Role

FEWEST_KERNELS = 4  # and two more for each exercise: one for its cell, one to ask
ADDED = -1  # stands for all cells that the student added


@dataclass
class Execution:
    """The execution of one notebook, over as many kernels as it takes.

    Attributes:
        topic: the exercises of the chapter.
        expected: what was worked out for all submissions, by exercise.
        handed_in: the notebook.
        clock: of this submission.
        limits: what the submission may use.
        servers: where its kernels are forked.
        given: the answers, by exercise.
        seeds: of the questions that they answer; none is put twice.
        asides: what they read from outside.
        refused: why an exercise gets nothing, where it was not examined.
        cell_errors: how the cell of an exercise stopped.
        ended: how often a cell has ended a kernel, by its number, or ``ADDED``; and
            the questions on an exercise, by its name.
        notes: one line for each irregularity.
    """

    topic: Topic
    expected: Mapping[str, Expected]
    handed_in: HandedIn
    clock: Clock
    limits: Limits
    servers: ForkServers
    given: dict[str, list[Answer]] = field(default_factory=dict)
    seeds: dict[str, list[int]] = field(default_factory=dict)
    asides: dict[str, Aside] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    cell_errors: dict[str, str] = field(default_factory=dict)
    ended: Counter[int | str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._began_anew = False  # with all of its time

    @cached_property
    def outputs(self) -> list[list[NotebookNode]]:
        """What each of the cells has shown."""
        return [[] for _ in self.handed_in.cells]

    def to_the_end(self) -> None:
        """Run all cells and put all questions, in new kernels where one ended.

        Raises:
            SandboxUnavailable: no kernel started.
            GraderFault: a kernel was lost through no provable fault of its own.
        """
        kernels = FEWEST_KERNELS + 2 * len(self.topic.exercises)
        while kernels and not self._one_kernel():
            kernels -= 1
            if self.clock.is_up:
                if self._began_anew:
                    break
                self._began_anew = True
                self.clock = Clock(self.limits, self.clock.alone)
        for name in self.topic.exercises:
            if name not in self.given and name not in self.refused:
                self.refused[name] = "not examined: " + self.notes[-1]

    def _one_kernel(self) -> bool:
        """Run what is still to be run in a new kernel; whether it got through.

        Raises:
            SandboxUnavailable: no kernel started.
            GraderFault: the kernel was lost through no provable fault of its own.
        """
        if not any(map(self._is_open, self.topic.exercises)):
            return True
        client = SubmissionClient(self.limits, self.clock, self.servers)
        try:
            with client:
                return self._all_cells(client)
        except (RuntimeError, OSError) as error:
            raise GraderFault(f"{type(error).__name__}: {error}") from error
        finally:
            if client.too_long:
                room = megabytes(self.limits.output_bytes)
                self._note(f"of all that was printed, the first {room} are kept")

    def _all_cells(self, client: SubmissionClient) -> bool:
        """Run the cells, ask at each check, and at the end what is still open.

        Returns:
            Whether the kernel got through.

        Raises:
            GraderFault: the kernel was lost through no provable fault of its own.
        """
        ended = client.begin(self.handed_in.setup, self.handed_in.stubs)
        if ended is not None:  # the time of the submission was up
            self._note(f"the kernel ended before the first cell: {ended}")
            return False
        for number, cell in enumerate(self.handed_in.cells):
            ended = self._one_cell(client, number, cell)
            if ended is not None:
                self._blame(number, cell, ended)
                return False
            for name in cell.asks:
                if not self._examine(client, name):
                    return False
        return all(self._examine(client, name) for name in self.topic.exercises)

    def _one_cell(
        self, client: SubmissionClient, number: int, cell: Cell
    ) -> str | None:
        """Run a cell, or what it defines; how the kernel ended, if it did."""
        ended = self.ended[_blamed(number, cell)]
        if cell.role not in (Role.SETUP, Role.DEMO, Role.EXERCISE, Role.ADDED):
            return None
        if ended == 0 and cell.role is not Role.DEMO:
            return self._whole_cell(client, number, cell)
        if ended < 2:
            return client.define(cell.definitions)
        return None

    def _whole_cell(
        self, client: SubmissionClient, number: int, cell: Cell
    ) -> str | None:
        ended = client.run(cell.source, self.outputs[number])
        if ended is None and client.failed:
            self._note_limit(_where(cell), client.failed)
            where = f" in line {client.failed_in}" if client.failed_in else ""
            stops = client.failed.startswith("SyntaxError") or "%%" in cell.source
            below = "" if stops else "; what is below was run"
            self._note(f"{_where(cell)} stopped{where} ({client.failed}){below}")
            for name in cell.exercises:
                self.cell_errors[name] = f"its cell stopped with {client.failed}"
        return ended

    def _is_open(self, name: str) -> bool:
        """Whether an exercise is still to be asked for.

        So it is as long as it meets a stub, its own or that of a function it calls, and
        has ended no kernel.
        """
        answers = self.given.get(name)
        lacks = answers is None or any(_lacks_answer(name, a) for a in answers)
        return name not in self.refused and not self.ended[name] and lacks

    def _examine(self, client: SubmissionClient, name: str) -> bool:
        """Ask for an exercise, if it is open.

        Returns:
            Whether the kernel got through.

        Raises:
            GraderFault: the kernel was lost through no provable fault of its own.
        """
        if not self._is_open(name):
            return True
        seeds = draw_seeds(self.topic.exercises[name])
        answers, ended = self._ask(client, name, seeds)
        if ended is not None:
            self.ended[name] += 1
            note = self._note_end(f"calling {name}", ended)
            if name not in self.given:
                self.refused[name] = note
            return False
        self.given[name], self.seeds[name] = answers, seeds
        return True

    def _ask(
        self, client: SubmissionClient, name: str, seeds: list[int]
    ) -> tuple[list[Answer], str | None]:
        """Put the questions of an exercise; the answers, and how the kernel ended."""
        sent, ended = client.ask(self.topic.name, name, seeds)
        if ended is None and client.failed:
            self._note(f"calling {name} stopped ({client.failed})")
        if sent:
            self.asides[name] = read_aside(sent.pop(0))
        answers = []
        while sent:  # no answer is kept in two forms
            answers.append(decode(sent.pop(0)))
        for given in answers:
            if given.raised:
                self._note_limit(f"calling {name}", f"{given.raised}: {given.detail}")
        missing = len(self.topic.exercises[name].cases) - len(answers)
        answers += missing * [Answer(unreadable="no answer was received")]
        return answers, ended

    def _note_limit(self, where: str, error: str) -> None:
        """Name the limit at which the system may have raised an error.

        Only "perhaps": the code itself can raise whatever it likes.
        """
        if limit := self.limits.behind(error):
            self._note(f"{where} stopped, perhaps at the {limit}")

    def _blame(self, number: int, cell: Cell, ended: str) -> None:
        """Remember which cell ended the kernel: the next one runs less of it."""
        blamed = _blamed(number, cell)
        note = self._note_end(_where(cell), ended)
        self.ended[blamed] += 1
        for name in cell.exercises:
            self.cell_errors[name] = note
        if blamed == ADDED:
            what = "only what they define was run" if self.ended[ADDED] == 1 else "none"
            self._note(f"of the cells that you added, {what} then")

    def _note_end(self, where: str, ended: str) -> str:
        note = f"{where} ended the kernel: {ended}"
        self._note(note)
        return note

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def report(self, name: str) -> Report:
        """What came out for one exercise."""
        exercise = self.topic.exercises[name]
        if name in self.refused:
            return refuse(exercise, self.refused[name])
        right = expect(self.topic, exercise, self.seeds[name], self.expected[name])
        report = judge(exercise, self.given[name], right)
        if not any(answer.is_value for answer in self.given[name]):
            absent = all(_is_absent(name, answer) for answer in self.given[name])
            where = f"{name} is not defined" if absent else ""
            stopped = self.cell_errors.get(name, where)
            if stopped and report.lacks_points and report.mistake is None:
                reason = Reason.NAME_MISSING if stopped is where else Reason.REFUSED
                report = replace(report, message=stopped, reason=reason)
        return report


def draw_seeds(exercise: Exercise) -> list[int]:
    """A seed for each case, which nobody can guess."""
    return [secrets.randbits(48) for _ in exercise.cases]


def _blamed(number: int, cell: Cell) -> int:
    return ADDED if cell.role is Role.ADDED else number


def _lacks_answer(name: str, answer: Answer) -> bool:
    """Whether there was only a stub to call, or nothing."""
    return _is_absent(name, answer) or answer.raised == "NotImplementedError"


def _is_absent(name: str, answer: Answer) -> bool:
    """Whether there was nothing to call: see ``respond``."""
    return answer.raised == "NameError" and answer.detail == f"{name} is not defined"


def _where(cell: Cell) -> str:
    """Where in a notebook something happened, in words."""
    if cell.role is Role.ADDED:
        return "a cell of yours"
    meant = cell.grade_id in cell.exercises
    names = cell.grade_id if meant else ", ".join(cell.exercises)
    return f"the cell of {names}" if names else "a cell of the notebook"
