"""Commands that messages suggest can be pasted into a shell."""

from __future__ import annotations

import shlex
from pathlib import Path

from autograder.__main__ import main
from autograder.shell import command


def test_paths_with_spaces_are_quoted():
    words = shlex.split(command("grade", "masking", "--course", Path("my course (a)")))
    assert words == [
        *("python", "-m", "autograder", "grade"),
        *("masking", "--course", "my course (a)"),
    ]


def test_a_course_in_a_folder_with_a_space_is_asked_for_with_quotes(tmp_path, capsys):
    course = tmp_path / "no course"
    course.mkdir()
    assert main(["grade", "masking", "--course", str(course)]) == 2
    assert f"autograder course '{course}'`" in capsys.readouterr().err
