"""Whose fault it is that time has passed, told by numbers of the test.

Nobody waits: the time has passed when the test says so.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autograder.errors import GraderFault, SubmissionFault
from autograder.grading.client import used_by
from autograder.grading.clock import Clock, Used
from autograder.sandbox.limits import PATIENCE, Limits

LIMITS = Limits(cell_seconds=1, submission_seconds=100)


class Time:
    """What clocks say: of the wall, and of the processor time of this thread."""

    passed = worked = 0.0


@pytest.fixture(autouse=True)
def now(monkeypatch):
    clocks = Time()
    monkeypatch.setattr(time, "monotonic", lambda: clocks.passed)
    monkeypatch.setattr(time, "thread_time", lambda: clocks.worked)
    return clocks


def watch(now, alone, runs=0.0, waits=0.0, late=0.0, works=0.0, seconds=30, cells=1):
    """Watch cells that take so many seconds: whose fault it is, and after how long.

    Args:
        now: the clocks.
        alone: whether no other submission is examined.
        runs: the share of the time in which the kernel runs; None if nobody can tell.
        waits: the share in which it waits for a processor.
        late: for how long this thread is held up before each look.
        works: the share of that in which it works itself.
        seconds: how long each cell takes.
        cells: how many there are.
    """
    clock = Clock(LIMITS, alone)
    try:
        for _ in range(cells):
            clock.start()
            start = now.passed
            while (passed := now.passed - start) < seconds - 1e-6:
                step = clock.seconds_to_look() + late + 1e-6
                now.passed += min(step, seconds - passed)
                now.worked += works * late
                passed = now.passed
                used = None if runs is None else Used(runs * passed, waits * passed)
                if not clock.seconds_to_look():
                    clock.look(used)
            clock.stop()
    except (SubmissionFault, GraderFault) as fault:
        return type(fault), now.passed
    return None, now.passed


OWN, OURS = SubmissionFault, GraderFault


@pytest.mark.parametrize(
    ("kernel", "beside_others", "alone"),
    [
        ({"runs": 1.0}, (OWN, 1, 1.5), (OWN, 1, 1.5)),
        ({"runs": 0.5, "waits": 0.5}, (OWN, 1.7, 2.5), (OWN, 1.7, 2.5)),
        ({"runs": 0.05, "waits": 0.95}, (OURS, 4, 5), (OURS, 4, 5)),
        ({}, (OURS, 1, 1.5), (OWN, 1, 1.5)),  # idle
        ({"runs": None}, (OURS, 4, 5), (OURS, 4, 5)),
    ],
    ids=["runs", "half", "waits", "idle", "unknown"],
)
def test_whose_fault_it_is_that_a_second_has_passed(now, kernel, beside_others, alone):
    for is_alone, (fault, least, most) in ((False, beside_others), (True, alone)):
        now.passed = 0.0
        found, seconds = watch(now, is_alone, **kernel)
        assert found is fault
        assert least <= seconds <= most


def test_a_cell_that_waits_for_a_processor_gets_more_time(now):
    fault, seconds = watch(now, True, runs=0.2, waits=0.8, seconds=2.5)
    assert fault is None
    assert seconds > 2 * LIMITS.cell_seconds


@pytest.mark.parametrize(("alone", "fault"), [(True, OWN), (False, OURS)])
@pytest.mark.parametrize("seconds", [0.7, 0.06, 0.03])  # 0.06: looked at once
def test_many_short_cells_fill_the_time_of_a_submission(now, alone, fault, seconds):
    found, passed = watch(now, alone, seconds=seconds, cells=9999)
    assert found is fault
    assert passed < 2 * LIMITS.submission_seconds


@pytest.mark.parametrize(
    ("works", "fault", "least"),
    [
        (1.0, OWN, 1),  # the cell has this thread read all the time
        (0.0, OURS, PATIENCE),  # this thread has no processor
    ],
)
def test_that_this_thread_is_late_is_the_fault_of_the_cell_only_if_it_worked(
    now, works, fault, least, monkeypatch
):
    """Watch a cell that sleeps, while this thread is late again and again."""
    monkeypatch.setattr(f"{__name__}.LIMITS", Limits(cell_seconds=20))
    found, seconds = watch(now, True, late=9.4, works=works, seconds=500)
    assert found is fault
    assert seconds >= least * 20


# What a process has used is what Linux says of it.


@pytest.fixture
def busy(monkeypatch):
    """Processes that want one processor, all of them the same."""
    monkeypatch.undo()  # of the clocks
    cpu = min(os.sched_getaffinity(0))
    with contextlib.ExitStack() as stack:

        def start():
            words = [sys.executable, "-c", "while True: pass"]
            process = stack.enter_context(subprocess.Popen(words))
            stack.callback(process.kill)
            os.sched_setaffinity(process.pid, {cpu})
            return process

        yield start


@pytest.mark.skipif(
    not Path("/proc/self/schedstat").exists(), reason="this system counts no waits"
)
def test_who_shares_a_processor_waits_for_it_and_who_has_ended_uses_none(busy):
    one, *_ = (busy() for _ in range(3))
    end = time.monotonic() + 60
    while (used := used_by(one.pid)).own < 0.3 or used.waited < 0.3:
        assert time.monotonic() < end
        time.sleep(0.1)
    one.kill()
    one.wait()
    assert used_by(one.pid) is None
