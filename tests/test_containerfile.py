"""The image for instructors, as far as it can be checked without a container engine.

Nothing is built here: a small reader follows the instructions on a copy of the context.
"""

from __future__ import annotations

import fnmatch
import json
import re
import shlex
import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def steps(root):
    """The instructions in order: their name and the rest."""
    text = (root / "Containerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [tuple(line.split(maxsplit=1)) for line in joined.splitlines() if line]


def test_every_command_is_shell_and_has_its_files_by_then(steps, root):
    there = set()
    for name, rest in steps:
        if name == "COPY":
            *sources, target = rest.split()
            assert target in (".", "./")
            assert all((root / source).exists() for source in sources)
            there |= {"."} if sources == ["."] else set(sources)
        if name != "RUN":
            continue
        subprocess.run(["sh", "-n", "-c", rest], check=True)
        words = shlex.split(rest)
        needed = [b for a, b in zip(words, words[1:], strict=False) if a == "-r"]
        needed += [".venv/../pyproject.toml"] if "-e" in words else []
        for file in needed:
            assert "." in there or file in there, f"{file} is not copied before"
            text = (root / "requirements.txt").read_text() if file in there else ""
            for constraint in re.findall(r"^-c (\S+)", text, re.MULTILINE):
                assert constraint in there
    assert "." in there


def test_sandbox_is_installed(steps, root):
    installed = " ".join(rest for name, rest in steps if name == "RUN")
    wanted = re.search(
        r"missing\+=\((bubblewrap)\)",
        (root / "tools/install_system_packages").read_text(),
    )
    assert f" {wanted[1]} " in installed


def test_entry_point_is_the_command_line(steps, root):
    (entry,) = [json.loads(rest) for name, rest in steps if name == "ENTRYPOINT"]
    (words,) = [json.loads(rest) for name, rest in steps if name == "CMD"]
    (folder,) = [rest for name, rest in steps if name == "WORKDIR"]
    assert entry[0] == f"{folder}/.venv/bin/python"
    done = subprocess.run(
        [sys.executable, *entry[1:], *words], cwd=root, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "grade" in done.stdout


def test_what_is_ignored_is_not_part_of_the_course(root):
    patterns = (root / ".containerignore").read_text().split()
    for needed in ("autograder", "solutions", "chapters", "pyproject.toml", "tools"):
        assert not any(fnmatch.fnmatch(needed, pattern) for pattern in patterns)
    assert {".venv", ".git"} <= set(patterns)  # another Python's; and large
