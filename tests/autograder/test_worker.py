"""What the workers of a grading run share, and what the writer does without."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import nbformat
import numpy as np
import pytest

from autograder import worker
from autograder.examine import draw_seeds
from autograder.exercise import load_topic


@pytest.fixture
def shared(tmp_path, monkeypatch):
    monkeypatch.setattr(worker, "_shared", tmp_path)
    return tmp_path


def test_one_worker_works_out_what_all_of_them_need(shared):
    calls, together = [], threading.Barrier(4)

    def work_out():
        calls.append(1)
        return {"answers": [np.arange(3)]}

    def ask(_):
        together.wait()
        return worker._share("masking.right", work_out)

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(ask, range(4)))
    assert len(calls) == 1
    assert all(np.array_equal(each["answers"][0], [0, 1, 2]) for each in found)


@pytest.mark.parametrize("method", ["write_bytes", "open"])
def test_with_a_full_disk_each_worker_works_it_out(shared, monkeypatch, method):
    def full(*arguments, **keywords):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(f"pathlib.Path.{method}", full)
    assert [worker._share("name", lambda: 7) for _ in range(2)] == [7, 7]


def test_what_is_shared_belongs_to_one_secret(shared, topic, master):
    def job(secret):
        text = nbformat.writes(master)
        return worker.Job(topic.name, text, secret, worker.Limits())

    seeds = [
        [expected.seeds for expected in worker._expected(job(secret)).values()]
        for secret in (b"one", b"two", b"one")
    ]
    assert seeds[0] == seeds[2] != seeds[1]
    runs = {path.name.split(".")[0] for path in shared.iterdir()}
    assert len(runs) == 2


def test_seeds_of_all_cases_differ_and_follow_from_the_secret():
    topic = load_topic("masking")
    drawn = draw_seeds(topic, b"secret")
    flat = [seed for seeds in drawn.values() for seed in seeds]
    assert (
        len(set(flat))
        == len(flat)
        == sum(len(exercise.cases) for exercise in topic.exercises.values())
    )
    assert drawn == draw_seeds(topic, b"secret")
    other = draw_seeds(topic, b"another")
    assert not set(flat) & {seed for seeds in other.values() for seed in seeds}


def test_the_process_that_writes_marks_does_not_wait_for_torch():
    code = "import sys, autograder.grade; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
