"""What a process has used is what Linux says of it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autograder.sandbox.usage import process_of, used_by

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


def until(is_so):
    for _ in range(600):
        if is_so():
            return
        time.sleep(0.1)
    raise AssertionError


@pytest.mark.skipif(
    not Path("/proc/self/schedstat").exists(), reason="this system counts no waits"
)
def test_who_shares_a_processor_waits_for_it(busy):
    one, *_ = (busy() for _ in range(3))
    until(lambda: used_by(one.pid).own > 0.3 and used_by(one.pid).waited > 0.3)


def test_who_has_ended_is_seen_to_be(busy):
    process = busy()
    pidfd = os.pidfd_open(process.pid)
    try:
        assert process_of(pidfd) == process.pid
        assert used_by(process.pid) is not None
        process.kill()
        process.wait()
        assert process_of(pidfd) is None
        assert used_by(process.pid) is None
    finally:
        os.close(pidfd)
