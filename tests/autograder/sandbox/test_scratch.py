"""Temporary files of runs that were killed are removed by the next run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

RUN = """
import multiprocessing, sys, tempfile, time
from autograder.sandbox.scratch import scratch_folder
with scratch_folder() as folder:
    made = tempfile.mkdtemp()
    print(folder, made, multiprocessing.util.get_temp_dir(), flush=True)
    time.sleep(float(sys.argv[1]))
"""


def run(parent, seconds):
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, str(seconds)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(parent)},
    )
    return process, process.stdout.readline().split()


@pytest.mark.usefixtures("broken_machine")
def test_what_a_killed_run_left_is_removed_and_nothing_else(tmp_path):
    own = [tmp_path / "attention-run-homework", tmp_path / "pymp-mine"]
    for folder in own:
        folder.mkdir()
    living, of_the_living = run(tmp_path, 600)
    killed, of_the_killed = run(tmp_path, 600)
    try:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert all(map(os.path.isdir, of_the_killed))
        ended, of_the_ended = run(tmp_path, 0)
        assert ended.wait() == 0
        assert not any(map(os.path.exists, [*of_the_killed, *of_the_ended]))
        assert all(map(os.path.isdir, [*of_the_living, *own]))
        assert of_the_living[1].startswith(of_the_living[0])
    finally:
        living.kill()
        living.wait()
    run(tmp_path, 0)[0].wait()
    assert sorted(tmp_path.iterdir()) == own
