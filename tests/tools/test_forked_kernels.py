"""Kernels that are forked from one process behave like those that are started anew."""

import os
import signal
import sys
import time

import pytest

from tests.tools.test_execute_chapters import chapter, outputs, run
from tools.execute_chapters import ONE_THREAD
from tools.forked_kernels import POSSIBLE, Copy, Nursery

pytestmark = pytest.mark.skipif(not POSSIBLE, reason="processes are not forked here")
FACTS = """
import atexit, os, subprocess, sys, time
from pathlib import Path

import matplotlib.pyplot as plt
import torch

print(os.getcwd(), sys.path, os.environ["OMP_NUM_THREADS"], os.getsid(0) == os.getpid())
print([subprocess.run(c).returncode for c in ("true", "false")], sys.stdin.closed)
print(plt.get_backend(), torch.get_num_threads(), __name__)
mark = Path.cwd() / f"{os.getpid()}.running"
mark.touch()
_ = atexit.register(mark.unlink)
"""
FAST = "import time, torch\nprint(time.process_time() < 1)"


def test_kernels_are_those_of_a_usual_start_but_faster(tmp_path):
    alone = chapter(tmp_path, "alone", FACTS)
    assert run([alone], places=1) == []
    usual = outputs(alone)
    forked = chapter(tmp_path, "forked", FACTS + "# again")
    fast = [chapter(tmp_path, f"fast{n}", FAST + f"\n# {n}") for n in range(2)]
    failing = chapter(tmp_path, "failing", "1 / 0")
    dead = chapter(tmp_path, "dead", "import os\nos._exit(3)")
    failures = run([forked, *fast, failing, dead], places=2)
    assert [f"{f.chapter.name}: {f.reason}" for f in failures] == [
        "failing: ZeroDivisionError: division by zero",
        "dead: the kernel died",
    ]
    assert outputs(forked) == usual
    assert [outputs(file) for file in fast] == ["True\n"] * 2
    assert not list(tmp_path.glob("*.running"))  # both ran their exit handlers


def test_a_nursery_takes_what_is_left_with_it(tmp_path):
    with Nursery({**os.environ, **ONE_THREAD}) as nursery:
        file = str(tmp_path / "connection.json")
        kernel = nursery.fork(["-f", file], os.environ, str(tmp_path))
        while not os.path.exists(file):  # noqa: PTH110
            time.sleep(0.05)
        assert kernel.poll() is None
    assert kernel.wait(timeout=60) == 0
    kernel.terminate()  # does no harm now
    assert Copy(kernel.pid).poll() == 0


def test_a_kernel_can_be_ended_by_a_signal(tmp_path):
    with Nursery({**os.environ, **ONE_THREAD}) as nursery:
        kernel = nursery.fork(["-f", str(tmp_path / "c.json")], os.environ, sys.prefix)
        kernel.send_signal(signal.SIGKILL)
        assert kernel.wait(timeout=60) == 0
