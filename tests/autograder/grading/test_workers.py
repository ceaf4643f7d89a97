"""Worker processes: what they return, and how they end."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from autograder.grading.workers import ProcessEnded, Workers
from tests.autograder.grading.troubled_workers import long_text_of_which_half_is_sent

SECONDS = 60  # a worker starts in a few, and nothing here takes longer


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


def test_the_death_of_a_worker_costs_the_others_nothing(workers):
    sleeping = workers.submit(time.sleep, 0.5)
    dying = [workers.submit(os._exit, 1) for _ in range(3)]
    waiting = [workers.submit(os.getpid) for _ in range(6)]
    for future in dying:
        assert isinstance(future.exception(SECONDS), ProcessEnded)
    assert all(future.result(SECONDS) for future in waiting)
    assert sleeping.result(SECONDS) is None


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
