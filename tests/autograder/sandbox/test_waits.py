"""Waiting for a processor that one's own threads occupy is not waiting for others."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from subprocess import PIPE

import pytest

from autograder.errors import GraderFault, SubmissionFault
from autograder.grading.clock import Clock, Used
from autograder.sandbox import waits as waiting
from autograder.sandbox.limits import PATIENCE, Limits
from autograder.sandbox.waits import (
    Stops,
    Waits,
    is_stopped,
    own_waits,
    threads_waited,
)

LIMITS = Limits(cell_seconds=10, submission_seconds=1000)
SECOND = 10**9


class Machine:
    """Threads of a submission, and how long each ran and waited, as Linux counts."""

    def __init__(self):
        self.now = self.ran = 0.0
        self.waited: dict[tuple[str, str], float] = {}

    def read(self):
        return {key: int(value * SECOND) for key, value in self.waited.items()}

    def clock(self):
        return int(self.now * SECOND)

    def look(self, waits, seconds, **waited):
        """What counts when so many seconds have passed; ``p1_t2`` is thread 2 of 1."""
        self.now += seconds
        self.waited = {
            tuple(part[1:] for part in name.split("_")): value
            for name, value in waited.items()
        }
        return waits.seconds()


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


def one_after_the_other(machine, seconds, *, count=55):
    """Threads that wait together once, and then start other programs in turn.

    Linux gives each of them the number of its process then, with what it has waited.
    """
    if not machine.waited:
        for process in range(count):
            machine.waited[f"{process}", f"{process}"] = 0.0
            machine.waited[f"{process}", f"{count + process}"] = seconds
        machine.ran += seconds
        return
    process, thread = next(key for key in machine.waited if key[0] != key[1])
    machine.waited[process, process] = machine.waited.pop((process, thread))


def judged(pattern, alone=True, **shares):
    """The fault that a cell is told that never ends, and after which time."""
    machine = Machine()
    waits = Waits(machine.read, clock=machine.clock)

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


def test_what_was_waited_together_does_not_excuse_idle_time_again_and_again():
    fault, seconds = judged(one_after_the_other)
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
    waits = Waits(machine.read, clock=machine.clock)
    assert machine.look(waits, 4, p1_t1=1.0, p1_t2=3.0) == 3.0
    assert machine.look(waits, 4, p1_t1=3.0, p1_t2=3.5) == 5.0
    assert machine.look(waits, 4, p1_t2=0.25, p2_t2=0.125) == 5.25  # of new threads
    assert machine.look(waits, 4) == 5.25


def test_no_thread_has_waited_for_longer_than_the_time_between_two_looks():
    machine = Machine()
    waits = Waits(machine.read, clock=machine.clock)
    assert machine.look(waits, 0.5, p1_t1=3.0) == 0.5
    assert machine.look(waits, 0.25, p1_t1=3.0, p2_t2=2.0) == 0.75


def test_a_thread_that_takes_the_number_of_its_process_has_waited_once():
    """It starts another program: its own number vanishes, and those of the others."""
    machine = Machine()
    waits = Waits(machine.read, clock=machine.clock)
    together = {f"p1_t{number}": 0.75 for number in range(2, 6)}
    assert machine.look(waits, 1, p1_t1=0.0, **together, p6_t6=0.0, p6_t7=0.5) == 0.75
    assert machine.look(waits, 1, p1_t1=0.75, p6_t6=0.0, p6_t7=0.5) == 0.75
    assert machine.look(waits, 1, p1_t1=0.75, p6_t6=0.625) == 0.875  # as it waited on
    assert machine.look(waits, 1, p1_t1=0.75, p6_t6=0.75) == 1.0


def test_a_thread_that_begins_is_no_thread_that_has_vanished():
    machine = Machine()
    waits = Waits(machine.read, clock=machine.clock)
    assert machine.look(waits, 1, p1_t1=0.0, p1_t2=0.5) == 0.5
    # One of another process, another thread, and one that had waited too long for it.
    assert machine.look(waits, 1, p1_t1=0.0, p3_t3=0.75) == 1.25
    assert machine.look(waits, 1, p1_t1=0.0, p1_t4=0.75) == 2.0
    assert machine.look(waits, 1, p1_t1=0.25) == 2.25


def test_a_thread_that_one_look_has_missed_does_not_begin_anew():
    machine = Machine()
    waits = Waits(machine.read, clock=machine.clock)
    assert machine.look(waits, 1, p1_t1=0.0, p1_t2=0.75, p1_t3=0.75) == 0.75
    assert machine.look(waits, 1, p1_t1=0.0) == 0.75
    assert machine.look(waits, 1, p1_t1=0.0, p1_t3=0.75) == 0.75
    assert machine.look(waits, 1, p1_t1=0.0) == 0.75
    assert machine.look(waits, 1, p1_t1=0.75) == 0.75  # it has taken that number


def test_time_counts_as_stopped_until_it_goes_on():
    states = iter((False, True, True, False, False))
    times = iter((0, 1, 2, 4, 5, 6))
    stops = Stops(lambda: next(states), lambda: next(times))
    assert [stops.seconds() for _ in range(5)] == [0, 1, 3, 3, 3]


def test_a_stopped_process_is_known_by_its_state():
    with subprocess.Popen(["sleep", "60"]) as child:
        assert not is_stopped(str(child.pid))
        child.send_signal(signal.SIGSTOP)
        os.waitpid(child.pid, os.WUNTRACED)
        assert is_stopped(str(child.pid))
        child.kill()
    assert not is_stopped(str(child.pid))


def test_what_the_watcher_waits_counts_as_that_of_a_thread(tmp_path):
    told = tmp_path / "schedstat"
    told.write_text(f"5 {2 * SECOND} 7\n")
    machine = Machine()
    with told.open() as file:
        waits = Waits(machine.read, file.fileno(), machine.clock)
        assert machine.look(waits, 9, p1_t1=1.0) == 2.0
        told.write_text(f"9 {3 * SECOND} 9\n")
        assert machine.look(waits, 9, p1_t1=4.0) == 5.0
        told.write_text(f"9 {9 * SECOND} 9\n")
        assert machine.look(waits, 9, p1_t1=4.0) == 11.0


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


@COUNTED
def test_a_thread_that_has_just_ended_hides_no_other(monkeypatch):
    ended = threading.Thread(target=int)
    ended.start()
    gone, here = str(ended.native_id), str(os.getpid())
    while Path("/proc/self/task", gone).exists():
        time.sleep(0.01)
    iterdir = Path.iterdir
    monkeypatch.setattr(Path, "iterdir", lambda path: [path / gone, *iterdir(path)])
    monkeypatch.setattr(waiting, "processes", lambda: ["0", here])
    assert (here, here) in threads_waited()


# A thread waits for a processor that others have, and then starts another program.
STARTS_ANOTHER = """
import os, threading, time
def waited(thread):
    with open(f"/proc/self/task/{thread}/schedstat") as told:
        return int(told.read().split()[1])
def wait():
    me, leader, end = threading.get_native_id(), os.getpid(), time.monotonic() + 120
    while waited(me) < waited(leader) + 3e8 and time.monotonic() < end:
        pass
    print(me, flush=True)
    os.read(0, 1)
    os.execv("/bin/sleep", ["sleep", "600"])
thread = threading.Thread(target=wait)
thread.start()
thread.join()
"""


@COUNTED
def test_a_real_thread_that_starts_another_program_has_waited_once(monkeypatch):
    """Linux counts on for it under another number: that is what it must not gain."""
    seen = []

    def read():
        seen.append(threads_waited())
        return seen[-1]

    before = os.sched_getaffinity(0)
    python = [sys.executable, "-S", "-I", "-c"]
    waits = Waits(read)
    os.sched_setaffinity(0, {min(before)})  # for what is started here
    try:
        busy = subprocess.Popen([*python, "while True: pass"])
        one = subprocess.Popen([*python, STARTS_ANOTHER], stdin=PIPE, stdout=PIPE)
    finally:
        os.sched_setaffinity(0, before)
    process = str(one.pid)
    monkeypatch.setattr(waiting, "processes", lambda: [process])
    try:
        thread = one.stdout.readline().decode().strip()
        counted = waits.seconds()
        one.stdin.write(b"\n")
        one.stdin.flush()
        while Path(f"/proc/{process}/task/{thread}").exists():
            time.sleep(0.01)
        counted = waits.seconds() - counted
    finally:
        for child in (busy, one):
            child.kill()
            child.communicate()
    first, second = seen
    assert second.keys() == {(process, process)}
    gained = second[process, process] - first[process, thread]
    assert counted <= gained / SECOND + 1e-6
    assert second[process, process] - first[process, process] > gained + SECOND / 10
