"""Commands as they are typed."""

from __future__ import annotations

import shlex
from pathlib import Path

from autograder.files import printable


def command(name: str, *words: str | Path) -> str:
    """A command of the grader for a shell, whatever is in its paths and names."""
    quoted = shlex.join(printable(str(word)) for word in (name, *words))
    return f"python -m autograder {quoted}"
