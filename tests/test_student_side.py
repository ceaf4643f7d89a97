"""The student's side works where there is no sandbox: on macOS and Windows.

The hosted checks try it there. Here, what those systems lack is taken away.
"""

import json
import os
import subprocess
import sys

# Imported before anything of ours.
ANOTHER_SYSTEM = """
import os
import sys
from importlib.abc import MetaPathFinder

ROOMS = ("extras", "grading", "marks", "reporting", "sandbox", "submissions")
LINUX_ONLY = (*(f"autograder.{room}" for room in ROOMS), "fcntl", "resource")


class Refuse(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.startswith(LINUX_ONLY):
            raise ModuleNotFoundError(f"{name} is only to be had on Linux", name=name)


sys.meta_path.insert(0, Refuse())
for name in ("O_NOFOLLOW", "O_NONBLOCK", "sched_getaffinity"):
    if hasattr(os, name):
        delattr(os, name)
"""

# Everything that students have, where what is POSIX's or the instructor's is missing.
# Text that is read or written without naming the encoding has another one on Windows.
IMPORT_ALL = """
import importlib
import pkgutil
import sys
import warnings

import another_system  # noqa: F401

NOT_THEIRS = ("extras", "grading", "handback", "interrupts", "lms", "marks", "release")
NOT_THEIRS += ("reporting", "sandbox", "submissions")
MISSING = ("grp", "myst_nb", "nbgrader", "pwd", "pybtex", "solutions", "sqlalchemy")
MISSING += ("termios", "tqdm")
sys.modules |= dict.fromkeys(MISSING)  # an import of these fails

import autograder
import toolkit

warnings.filterwarnings(
    "error", category=EncodingWarning, module=r"(autograder|toolkit)[.]"
)
names = []
for package in (autograder, toolkit):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        room = found.name.split(".")[1]
        if package is toolkit or room not in (*NOT_THEIRS, "__main__"):
            importlib.import_module(found.name)
            names.append(found.name)
print(*names)

from autograder.__main__ import main

assert main(["progress", sys.argv[1]]) == 0
"""


def test_all_that_students_have_is_imported_and_runs_on_other_systems(root, tmp_path):
    (tmp_path / "another_system.py").write_text(ANOTHER_SYSTEM, encoding="utf-8")
    notebook = (
        tmp_path / "Lösungen №1.ipynb"
    )  # letters that no code page of Windows has
    cells = [
        graded("softmax", "def softmax(scores):\n    return 'Größe √'"),
        graded("check-softmax", "check(softmax)", points=7),
    ]
    text = json.dumps(
        {"cells": cells, "metadata": {}, "nbformat": 4}, ensure_ascii=False
    )
    notebook.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-X", "warn_default_encoding", "-c", IMPORT_ALL, notebook],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": f"{tmp_path}{os.pathsep}{root}",
            "PYTHONIOENCODING": "cp1252",
        },
        capture_output=True,
        encoding="cp1252",
    )
    assert done.returncode == 0, done.stderr
    assert {"autograder.check", "autograder.own_notebook", "toolkit.images"} <= set(
        done.stdout.splitlines()[0].split()
    )
    assert "Next: softmax" in done.stdout


def graded(name, source, points=None):
    """A code cell of a released notebook."""
    entry = {"grade_id": name} | ({} if points is None else {"points": points})
    metadata = {"nbgrader": entry}
    return {"cell_type": "code", "metadata": metadata, "source": source, "outputs": []}
