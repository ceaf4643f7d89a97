"""Stock nbgrader in a box: safe from harmful notebooks, or without the solutions."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.environment import ROOT


def boxed(course: Path) -> list[str]:
    """The beginning of a command that may write to nothing but a course.

    Its home folder is ``home`` in the course. The network is there, as it would be.
    """
    home = course / "home"
    home.mkdir(exist_ok=True)
    return [
        *("bwrap", "--die-with-parent", "--unshare-pid", "--ro-bind", "/", "/"),
        *("--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"),
        *("--bind", str(course), str(course), "--chdir", str(course)),
        *("--setenv", "HOME", str(home), "--setenv", "MPLCONFIGDIR", "/tmp", "--"),
    ]


def without_solutions(course: Path) -> list[str]:
    """The beginning of a command that sees of this project what the wheel holds.

    So ``check`` reads the key beside the notebook, as on a student's machine.
    """
    shown = [ROOT / "autograder", ROOT / "toolkit", Path(sys.prefix)]
    binds = [
        word
        for path in shown
        if path.is_relative_to(ROOT)
        for word in ("--ro-bind", str(path), str(path))
    ]
    return [
        *("bwrap", "--die-with-parent", "--dev-bind", "/", "/"),
        *("--tmpfs", str(ROOT), *binds),
        *("--bind", str(course), str(course), "--chdir", str(course), "--"),
    ]


def autograde(chapter: str) -> list[str]:
    """The command of stock nbgrader that grades a chapter."""
    return [sys.executable, "-m", "nbgrader", "autograde", chapter]
