"""The student's side works where there is no sandbox: on macOS and Windows.

The hosted checks try it there. Here, what those systems lack is taken away.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

# A plugin of pytest, because it has to come before the first import of ours.
ANOTHER_SYSTEM = """
import os
import sys
from importlib.abc import MetaPathFinder

LINUX_ONLY = ("autograder.grading", "autograder.sandbox", "fcntl", "resource")


class Refuse(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.startswith(LINUX_ONLY):
            raise ModuleNotFoundError(f"{name} is only to be had on Linux", name=name)


for name in [name for name in sys.modules if name.startswith(LINUX_ONLY)]:
    del sys.modules[name]
sys.meta_path.insert(0, Refuse())
for name in ("O_NOFOLLOW", "O_NONBLOCK", "sched_getaffinity"):
    if hasattr(os, name):
        delattr(os, name)


def pytest_itemcollected(item):
    with open(__file__ + ".collected", "a") as file:
        file.write(item.nodeid.split("::")[0] + "\\n")
"""


@pytest.fixture(scope="module")
def files(root: Path) -> list[str]:
    """What the hosted checks run on other systems."""
    workflow = (root / ".github" / "workflows" / "book.yml").read_text(encoding="utf-8")
    (step,) = (
        step
        for step in yaml.safe_load(workflow)["jobs"]["students"]["steps"]
        if "STUDENT_SIDE" in step.get("env", {})
    )
    return step["env"]["STUDENT_SIDE"].split()


def test_its_tests_are_found_and_notebooks_reset_on_other_systems(
    root, files, tmp_path
):
    """All files are imported; of the tests, those that read and write files are run."""
    (tmp_path / "another_system.py").write_text(ANOTHER_SYSTEM)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "another_system", *files]
        + ["-k", "test_reset", "-p", "no:cacheprovider"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{root}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    collected = (tmp_path / "another_system.py.collected").read_text()
    assert set(collected.splitlines()) == set(files)
    assert re.search(r"\d+ passed", done.stdout), done.stdout
