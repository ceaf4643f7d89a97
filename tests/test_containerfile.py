"""The image for instructors, as far as it can be checked without a container engine."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def steps(root: Path) -> list[tuple[str, str]]:
    """The instructions in order: their name and the rest."""
    text = (root / "Containerfile").read_text(encoding="utf-8").replace("\\\n", "")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [tuple(line.split(maxsplit=1)) for line in lines]


def test_what_is_copied_is_there_and_the_sandbox_is_installed(steps, root: Path):
    copied = [rest.split()[:-1] for name, rest in steps if name == "COPY"]
    assert all((root / source).exists() for sources in copied for source in sources)
    assert {"requirements.txt", "constraints.txt"} <= set(copied[0])
    assert any(re.search(r"\bbubblewrap\b", rest) for _, rest in steps)
    ignored = set((root / ".containerignore").read_text().split())
    assert {".venv", ".git"} <= ignored  # another Python's; and large
    assert not ignored & {"autograder", "solutions", "chapters", "tools"}


def test_entry_point_is_the_command_line(steps, root: Path):
    said = dict(steps)
    entry, words = json.loads(said["ENTRYPOINT"]), json.loads(said["CMD"])
    assert entry[0] == f"{said['WORKDIR']}/.venv/bin/python"
    command = [sys.executable, *entry[1:], *words]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert (done.returncode, "grade" in done.stdout) == (0, True)
