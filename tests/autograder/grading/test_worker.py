"""What the workers of a grading run share, and what the writer does without."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import nbformat

from autograder.exercise import load_topic
from autograder.grading.seeds import draw_seeds
from autograder.grading.worker import Job, compute_once, expected_by_all
from autograder.sandbox.limits import Limits


def test_one_worker_computes_what_all_of_them_need(tmp_path):
    calls, together = [], threading.Barrier(4)

    def compute():
        calls.append(1)
        return {"answers": ["text", 3]}

    def ask(_):
        together.wait()
        return compute_once(tmp_path / "masking.right", compute)

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(ask, range(4)))
    assert len(calls) == 1
    assert found == 4 * [{"answers": ["text", 3]}]
    assert json.loads((tmp_path / "masking.right").read_text()) == found[0]


def test_what_is_shared_belongs_to_one_secret(tmp_path, topic, master):
    def job(secret):
        return Job(topic.name, nbformat.writes(master), secret, Limits())

    found = [
        expected_by_all(job(secret), str(tmp_path)) for secret in (b"1", b"2", b"1")
    ]
    seeds = [[each.seeds for each in expected.values()] for expected in found]
    assert seeds[0] == seeds[2] != seeds[1]
    runs = {path.name.split(".")[0] for path in tmp_path.iterdir()}
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
    code = "import sys, autograder.grading.grade; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
