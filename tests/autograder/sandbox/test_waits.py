"""Who waits for a processor that its own threads have is not kept waiting by others."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from autograder.errors import GraderFault, SubmissionFault
from autograder.grading.clock import Clock, Used
from autograder.sandbox import waits as waiting
from autograder.sandbox.limits import PATIENCE, Limits
from autograder.sandbox.waits import Waits, own_waits, threads_waited

LIMITS = Limits(cell_seconds=10, submission_seconds=1000)
SECOND = 10**9


class Machine:
    """Threads of a submission, and how long each ran and waited, as Linux counts."""

    def __init__(self):
        self.now = self.ran = 0.0
        self.waited: dict[tuple[str, str], float] = {}

    def read(self):
        return {key: int(value * SECOND) for key, value in self.waited.items()}


def herd(machine, seconds, *, threads=60, busy=0.3, others=0.0):
    """Threads that wake at once and have one processor: one runs, the rest queue.

    They use ``busy`` of the time together; ``others`` have some before all of them.
    """
    each = busy * seconds / threads
    for number in range(threads):
        key = ("1", str(number))
        kept = number * each + others * seconds
        machine.waited[key] = machine.waited.get(key, 0.0) + kept
        machine.ran += each


def alone_on_it(machine, seconds, *, busy, others):
    """A single thread, which waits while others have the processor."""
    herd(machine, seconds, threads=1, busy=busy, others=others)


def judged(pattern, alone=True, **shares):
    """The fault that a cell is told that never ends, and after which time."""
    machine = Machine()
    waits = Waits(machine.read)

    class Meter:
        async def used(self):
            return Used(machine.ran, waits.seconds())

    async def go(monkeypatch):
        async def wait(tasks, timeout=None):
            if timeout is None:  # it was cancelled
                return tasks, set()
            machine.now += timeout
            pattern(machine, timeout, **shares)
            return set(), tasks

        monkeypatch.setattr(asyncio, "wait", wait)
        monkeypatch.setattr(time, "monotonic", lambda: machine.now)
        never = asyncio.get_running_loop().create_future()
        await Clock(LIMITS, alone).watch(never, Meter())

    with pytest.MonkeyPatch.context() as patch:
        with pytest.raises((SubmissionFault, GraderFault)) as failed:
            asyncio.run(go(patch))
        return failed.type, machine.now


@pytest.mark.parametrize("busy", [0.05, 0.3, 0.5, 0.8, 1.0])
def test_threads_that_queue_for_each_other_are_to_blame(busy):
    fault, seconds = judged(herd, busy=busy)
    assert fault is SubmissionFault
    assert seconds < 2 * LIMITS.cell_seconds


def test_threads_that_fill_the_time_are_to_blame_beside_others_too():
    fault, seconds = judged(herd, alone=False, busy=1.0)
    assert fault is SubmissionFault
    assert seconds < 1.5 * LIMITS.cell_seconds


@pytest.mark.parametrize("alone", [False, True])
def test_who_is_starved_by_neighbours_is_not_to_blame(alone):
    fault, seconds = judged(alone_on_it, alone=alone, busy=0.05, others=0.95)
    assert fault is GraderFault
    assert seconds >= PATIENCE * LIMITS.cell_seconds
    assert judged(herd, alone=alone, busy=0.05, others=0.95)[0] is GraderFault


def test_the_longest_wait_since_the_last_look_counts():
    machine = Machine()
    waits = Waits(machine.read)
    machine.waited = {("1", "1"): 1.0, ("1", "2"): 3.0}
    assert waits.seconds() == 3.0
    machine.waited = {("1", "1"): 3.0, ("1", "2"): 3.5}
    assert waits.seconds() == 5.0
    machine.waited = {("1", "2"): 0.25, ("2", "2"): 0.125}  # of new threads
    assert waits.seconds() == 5.25
    machine.waited = {}
    assert waits.seconds() == 5.25


def test_what_the_watcher_waits_counts_as_that_of_a_thread(tmp_path):
    told = tmp_path / "schedstat"
    told.write_text(f"5 {2 * SECOND} 7\n")
    machine = Machine()
    with told.open() as file:
        waits = Waits(machine.read, watcher=file.fileno())
        machine.waited = {("1", "1"): 1.0}
        assert waits.seconds() == 2.0
        machine.waited = {("1", "1"): 4.0}
        told.write_text(f"9 {3 * SECOND} 9\n")
        assert waits.seconds() == 5.0
        told.write_text(f"9 {9 * SECOND} 9\n")
        assert waits.seconds() == 11.0


COUNTED = pytest.mark.skipif(
    not Path("/proc/self/schedstat").exists(), reason="Linux counts no waits here"
)


@COUNTED
def test_a_process_reads_its_own_waits():
    told = own_waits()
    try:
        waits = Waits(dict, watcher=told)
        first = waits.seconds()
        assert 0 <= first <= waits.seconds()
    finally:
        os.close(told)


@COUNTED
def test_real_processes_on_one_processor_are_counted_once(monkeypatch):
    count, processor = 12, min(os.sched_getaffinity(0))
    children, parent, waits = [], os.getpid(), Waits()
    monkeypatch.setattr(waiting, "processes", lambda: [str(pid) for pid in children])
    start = time.monotonic()
    try:
        for _ in range(count):
            child = os.fork()
            if child == 0:
                os.sched_setaffinity(0, {processor})
                while os.getppid() == parent:
                    pass
                os._exit(0)
            children.append(child)
        while sum(threads_waited().values()) < 5 * SECOND:
            time.sleep(0.1)
            waits.seconds()
            assert time.monotonic() - start < 120
        counted = waits.seconds()
        passed = time.monotonic() - start
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    assert 0 < counted < 2 * passed
