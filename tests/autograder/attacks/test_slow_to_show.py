"""What is slow to show must not hold up those whose feedback is made after it.

Each shape took nbgrader's own page the square of its length, or more, somewhere: in the
colours of code, in markdown, in the links that are rewritten, in terminal colours.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
from nbformat.v4 import new_markdown_cell

from classroom.submissions import hand_in, submission
from tests.autograder.attacks.conftest import LIMITS
from tests.autograder.conftest import TOPIC, code_cell

SHAPES = {
    "blank lines": " \n",
    "ideographic lines": "\u3000\n",
    "empty lines": "\n",
    "dots": "a.",
    "numbers": "1.",
    "stars": "*",
    "backticks": "`",
    "brackets": "[",
    "links": "[](files/",
    "quotes": "> ",
    "items": "- ",
    "tables": "|a",
    "tags": "<a ",
    "comments": "<!--",
    "dollars": "$$",
    "environments": "\\begin{a}",
    "backslashes": "\\",
    "escapes": "\x1b[1m",
    "parentheses": "(",
    "strings": "'''",
    "formats": "f'{",
    "magics": "%%html\n<",
    "shell": "!$((",
}


def test_feedback_of_a_class_is_made_whatever_one_of_them_wrote(
    grade, released_course, master, right, tmp_path
):
    """All shapes at once, as long as may be; the next in the class is not held up."""
    course = tmp_path / "course"
    shutil.copytree(released_course, course)
    hostile = submission(master, {**right, "softmax": right["softmax"] + "\n" * 60_000})
    for piece in SHAPES.values():
        text = (piece * 14_000)[:14_000]
        hostile["cells"] += [code_cell(f"1{text}"), new_markdown_cell(f"x{text}")]
    spaces = submission(master, right)
    spaces["cells"] += [code_cell("x = 1" + "\u3000" * 90_000) for _ in range(5)]
    spaces["cells"] += [new_markdown_cell("\u3000" * 90_000) for _ in range(5)]
    students = {"a hostile": hostile, "a spaces": spaces}
    students |= {"b": submission(master, right), "c": submission(master, {})}
    hand_in(course, TOPIC, students)
    outcome = grade(TOPIC, course, limits=LIMITS)
    assert outcome.graded["a hostile"]["score"] > 0
    assert outcome.graded["a spaces"]["score"] == outcome.graded["b"]["score"]
    assert outcome.graded["b"]["score"] == outcome.graded["b"]["max_score"]
    scripts = Path(sys.executable).parent
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", "generate_feedback", TOPIC],
        cwd=course,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    for student in students:
        page = course / "feedback" / student / TOPIC / f"{TOPIC}.html"
        assert "points" in page.read_text(encoding="utf-8")
        # Code of usual form has its colours.
        assert '<span class="k">def</span>' in page.read_text(encoding="utf-8")
        kept = course / "autograded" / student / TOPIC / f"{TOPIC}.ipynb"
        nbformat.validate(json.loads(kept.read_text(encoding="utf-8")))
