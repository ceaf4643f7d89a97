"""Sphinx extension: pages are written side by side, one per processor.

Sphinx can do so, but Jupyter Book has no option for it. Pages are still read one after
the other: that fills tables which several extensions keep for the whole book.
"""

from __future__ import annotations

import sys

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from autograder.processors import processors


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("env-updated", write_in_parallel)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_in_parallel(app: Sphinx, env: BuildEnvironment) -> None:
    """Ask for more processes when all pages are read, and before any is written.

    The processes are forked, which is only safe on Linux. One more than there are
    processors, because Sphinx counts the one that waits for the others.
    """
    if sys.platform == "linux" and processors() > 1:
        app.parallel = max(app.parallel, processors() + 1)
