"""What a measurement was made with: the machine, the versions, the commit."""

from __future__ import annotations

import datetime
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from autograder.processors import processors

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("nbgrader", "nbclient", "ipykernel", "numpy", "torch")


def environment() -> str:
    """A few lines to print above a table."""
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    python = f"Python {platform.python_version()} ({sys.platform})"
    return (
        f"{datetime.date.today()}, commit {_commit()}\n"
        f"{processors()} processors: {_processor()}; Linux {platform.release()}\n"
        f"{python}, {packages}"
    )


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _commit() -> str:
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip() or "unknown"
