"""Worker processes: what they return, and how they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from autograder.grading.workers import ProcessEnded, Workers
from tests.autograder.grading.troubled_workers import long_text_of_which_half_is_sent

SECONDS = 300  # a worker starts in a few, and nothing here takes longer


@pytest.fixture
def workers(tmp_path):
    with Workers(2, str(tmp_path)) as executor:
        yield executor


def within(seconds, function):
    """Call a function that may hang, and fail if it does."""
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive()


def wait_until(is_so):
    end = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_workers_return_what_a_function_returns_or_raises_and_stay(workers):
    first, long = workers.submit(os.getpid).result(SECONDS), "x" * 10**7
    assert first != os.getpid()
    assert workers.submit(str.upper, long).result(SECONDS) == long.upper()
    with pytest.raises(ValueError, match="invalid literal"):
        workers.submit(int, "no number").result(SECONDS)
    assert workers.submit(os.getpid).result(SECONDS) == first


def test_who_is_killed_in_the_middle_of_a_message_is_not_waited_for(workers, tmp_path):
    started = tmp_path / "started"
    process = workers.submit(os.getpid).result(SECONDS)
    cut = workers.submit(long_text_of_which_half_is_sent, started)
    wait_until(started.exists)
    os.kill(process, signal.SIGKILL)
    assert isinstance(cut.exception(SECONDS), ProcessEnded)
    assert workers.submit(os.getpid).result(SECONDS) != process
    within(SECONDS, workers.shutdown)


def test_processes_end_with_the_executor(tmp_path):
    with Workers(2, str(tmp_path)) as executor:
        found = [executor.submit(os.getpid) for _ in range(4)]
    processes = {future.result() for future in found}
    assert not any(Path(f"/proc/{process}").exists() for process in processes)


def test_the_process_that_writes_marks_does_not_wait_for_torch():
    code = "import sys, autograder.grading.grade; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
