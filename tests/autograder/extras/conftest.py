"""A class that was graded, for what is made of it afterwards."""

import re
import shutil

import pytest

from autograder.__main__ import main
from autograder.exercise import load_topic
from classroom.submissions import cell_source, hand_in, submission
from tests.autograder.conftest import TOPIC, code_cell

HOSTILE = "</pre><script>alert(1)</script>"


@pytest.fixture(scope="session")
def graded(released_course, tmp_path_factory, master, right, needs_sandbox):
    """Ann and bob share a mistake, dan has another, and the rest are right or blank."""
    folder = tmp_path_factory.mktemp("extras") / "course"
    shutil.copytree(released_course, folder)
    first, second, *_ = load_topic(TOPIC).mistakes("softmax")
    hint = re.compile(r'""".*?"""', re.S)
    shared = hint.sub("", cell_source(first, "softmax"), 1) + f"\n# {HOSTILE}\n"
    answers = {
        "ann": {**right, "softmax": shared},
        "bob": {**right, "softmax": shared.replace(HOSTILE, "wombat")},
        "cy": right,
        "dan": {**right, "softmax": cell_source(second, "softmax")},
        "eve": {},
        **dict.fromkeys(("fay", "gil", "hal"), right),
    }
    notebooks = {name: submission(master, a) for name, a in answers.items()}
    notebooks["cy"]["cells"].append(code_cell("my_own = 'platypus'"))
    hand_in(folder, TOPIC, notebooks)
    assert main(["grade", TOPIC, "--course", str(folder)]) == 0
    return folder


@pytest.fixture
def course(graded, tmp_path):
    folder = tmp_path / "course"
    shutil.copytree(graded, folder)
    return folder
