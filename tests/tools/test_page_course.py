"""What pages carry of the course."""

import subprocess
import sys

import pytest

from tools import page_course

WITHOUT_TORCH = """
import sys
from autograder.without_torch import Standins
sys.meta_path.insert(0, Standins())
from autograder.exercise import load_topic
from autograder.check import examine_here
from tools.page_course import solved_in_page, topics

for topic in topics():
    for name in sorted(solved_in_page(topic)):
        exercise = load_topic(topic).exercises[name]
        report = examine_here(exercise, load_topic(topic).reference(name)).report
        load_topic(topic).mistakes(name)
        if report.score < report.max_score:
            print(name, report)
assert not hasattr(sys.modules.get("torch"), "__file__")
"""


def test_what_is_solved_in_a_page_can_be_judged_without_torch():
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH],
        capture_output=True,
        text=True,
        cwd=page_course.ROOT,
    )
    assert (ended.stdout, ended.stderr) == ("", "")


@pytest.mark.parametrize(
    "topic, here, elsewhere",
    [
        ("simplified_attention", "break_softmax", None),
        ("language_model", "train_bpe", "LanguageModel"),
        ("vision_transformer", "vit_parameter_count", "VisionTransformer"),
    ],
)
def test_what_pytorch_is_needed_for_is_not_solved_in_a_page(topic, here, elsewhere):
    assert here in page_course.solved_in_page(topic)
    assert elsewhere not in page_course.solved_in_page(topic)
