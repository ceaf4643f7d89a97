"""Stock nbgrader on notebooks that mean harm, where they harm nobody."""

from __future__ import annotations

import sys
from pathlib import Path


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


def autograde(chapter: str) -> list[str]:
    """The command of stock nbgrader that grades a chapter."""
    return [sys.executable, "-m", "nbgrader", "autograde", chapter]
