"""What a process has used is what Linux says of it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest

from autograder.sandbox.usage import process_of, used_by, waits_are_counted

BUSY = [sys.executable, "-c", "while True: pass"]


@pytest.fixture
def busy():
    """Processes that want one processor, all of them the same."""
    cpu = min(os.sched_getaffinity(0))
    with contextlib.ExitStack() as stack:

        def start():
            process = stack.enter_context(subprocess.Popen(BUSY))
            stack.callback(process.kill)
            os.sched_setaffinity(process.pid, {cpu})
            return process

        yield start


@pytest.mark.skipif(not waits_are_counted(), reason="this system counts no waits")
def test_who_shares_a_processor_waits_for_it(busy):
    start = time.monotonic()
    one, *_ = (busy() for _ in range(3))
    for _ in range(600):  # until it has had its share of both
        time.sleep(0.1)
        used, passed = used_by(one.pid), time.monotonic() - start
        if used.own > 0.3 and used.waited > 0.3:
            break
    assert used.own > 0.3
    assert used.waited > 0.3
    assert used.own + used.waited <= passed + 0.1  # in hundredths of a second


def test_who_is_stopped_is_seen_to_be(busy):
    process = busy()
    assert not used_by(process.pid).stopped
    process.send_signal(signal.SIGSTOP)
    for _ in range(600):
        if used_by(process.pid).stopped:
            break
        time.sleep(0.1)
    assert used_by(process.pid).stopped


def test_of_who_has_ended_nothing_is_known(busy):
    process = busy()
    pidfd = os.pidfd_open(process.pid)
    try:
        assert process_of(pidfd) == process.pid
        process.kill()
        process.wait()
        assert process_of(pidfd) is None
        assert used_by(process.pid) is None
    finally:
        os.close(pidfd)
