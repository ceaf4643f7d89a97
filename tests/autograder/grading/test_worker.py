"""What a worker draws, and what the writer does without."""

from __future__ import annotations

import subprocess
import sys

from autograder.exercise import load_topic
from autograder.grading.seeds import draw_seeds


def test_seeds_of_all_cases_of_all_submissions_differ():
    topic = load_topic("masking")
    drawn = [draw_seeds(topic), draw_seeds(topic)]
    flat = [seed for one in drawn for seeds in one.values() for seed in seeds]
    cases = sum(len(exercise.cases) for exercise in topic.exercises.values())
    assert len(set(flat)) == len(flat) == 2 * cases


def test_the_process_that_writes_marks_does_not_wait_for_torch():
    code = "import sys, autograder.grading.grade; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
