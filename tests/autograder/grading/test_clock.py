"""Whose fault it is that time has passed, told by a meter of the test.

Nobody waits: when there is nothing to do but that, the time has passed already.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from functools import partial

import pytest

from autograder.errors import GraderFault, SubmissionFault
from autograder.grading.clock import Clock
from autograder.sandbox.limits import PATIENCE, Limits
from autograder.sandbox.usage import Used

LIMITS = Limits(cell_seconds=1, submission_seconds=100)


class Skipped(selectors.DefaultSelector):
    """Lets the time pass for which an event loop would sleep."""

    passed = 0.0
    worked = 0.0  # processor time of this thread

    def stall(self, seconds, share):
        """Let time pass without sleep, a share of it as work of this thread."""
        self.passed += seconds
        self.worked += share * seconds

    def select(self, timeout=None):
        ready = super().select(0)
        self.passed += 0 if ready else timeout or 0
        return ready


@pytest.fixture(autouse=True)
def skipped(monkeypatch):
    selector = Skipped()
    monkeypatch.setattr(time, "monotonic", lambda: selector.passed)
    monkeypatch.setattr(time, "thread_time", lambda: selector.worked)
    loop = asyncio.SelectorEventLoop(selector)
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        monkeypatch.setattr(asyncio, "run", runner.run)
        yield selector


class Meter:
    """Tells of a kernel that runs, and waits, for a share of the time each."""

    def __init__(self, runs=0.0, waits=0.0):
        self.runs, self.waits, self.start = runs, waits, time.monotonic()

    async def used(self):
        passed = time.monotonic() - self.start
        return Used(self.runs * passed, self.waits * passed)


def watch(meter, alone, limits=LIMITS, seconds=30.0, cells=1):
    """Watch cells that would end after so many seconds; how long it took."""

    async def go():
        clock = Clock(limits, alone)
        for _ in range(cells):
            await clock.watch(asyncio.ensure_future(asyncio.sleep(seconds)), meter)

    start = time.monotonic()
    try:
        asyncio.run(go())
    except (SubmissionFault, GraderFault) as error:
        return type(error), time.monotonic() - start
    return None, time.monotonic() - start


class Unknown:
    """Cannot tell."""

    async def used(self):
        return None


OWN, OURS = SubmissionFault, GraderFault


@pytest.mark.parametrize(
    ("meter", "beside_others", "alone"),
    [
        (partial(Meter, runs=1.0), (OWN, 1, 1.5), (OWN, 1, 1.5)),
        (partial(Meter, runs=0.5, waits=0.5), (OWN, 1.8, 2.5), (OWN, 1.8, 2.5)),
        (partial(Meter, runs=0.05, waits=0.95), (OURS, 4, 5), (OURS, 4, 5)),
        (Meter, (OURS, 1, 1.5), (OWN, 1, 1.5)),  # idle
        (Unknown, (OURS, 4, 5), (OURS, 4, 5)),
    ],
    ids=["runs", "half", "waits", "idle", "unknown"],
)
def test_whose_fault_it_is_that_a_second_has_passed(meter, beside_others, alone):
    for is_alone, (fault, least, most) in ((False, beside_others), (True, alone)):
        found, seconds = watch(meter(), is_alone)
        assert found is fault
        assert least <= seconds <= most


def test_a_cell_that_waits_for_a_processor_gets_more_time():
    fault, seconds = watch(Meter(runs=0.2, waits=0.8), alone=True, seconds=2.5)
    assert fault is None
    assert seconds > 2 * LIMITS.cell_seconds


def test_many_short_cells_fill_the_time_of_a_submission():
    limits = Limits(cell_seconds=10, submission_seconds=1)
    fault, _ = watch(Meter(), alone=True, limits=limits, seconds=0.1, cells=30)
    assert fault is SubmissionFault
    fault, _ = watch(Meter(), alone=False, limits=limits, seconds=0.1, cells=30)
    assert fault is GraderFault


STALLED = Limits(cell_seconds=20, submission_seconds=1000)


@pytest.mark.parametrize(
    ("share", "alone", "fault", "least"),
    [
        (1.0, True, OWN, 1),  # the cell has this thread read all the time
        (0.1, True, OURS, PATIENCE),  # this thread has no processor
    ],
)
def test_that_this_thread_is_late_is_the_fault_of_the_cell_only_if_it_worked(
    skipped, share, alone, fault, least
):
    """Watch a cell that sleeps, while this thread is late again and again."""

    async def go():
        async def stall():
            while True:
                await asyncio.sleep(0.1)
                skipped.stall(9.9, share)

        stalls = asyncio.ensure_future(stall())
        cell = asyncio.ensure_future(asyncio.sleep(500))
        try:
            await Clock(STALLED, alone).watch(cell, Meter())
        finally:
            stalls.cancel()

    with pytest.raises(fault):
        asyncio.run(go())
    assert skipped.passed >= least * STALLED.cell_seconds
