"""Sphinx extension: pages are written side by side, one per processor.

Sphinx can do so, but Jupyter Book has no option for it. Pages are still read one after
the other: that fills tables which several extensions keep for the whole book.

When a page fails while Sphinx still hands out others, it ends the processes at work,
forgets their pages, and calls the build a success. So the build ends with an error
unless each page has been written.
"""

from __future__ import annotations

import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError

from autograder.processors import processors


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    pages = Pages()
    app.connect("env-updated", write_in_parallel)
    app.connect("doctree-resolved", pages.note)
    app.connect("build-finished", pages.look)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_in_parallel(app: Sphinx, env: BuildEnvironment) -> None:
    """Ask for more processes when all pages are read, and before any is written.

    The processes are forked, which is only safe on Linux. Reading stays in this one:
    what draws charts has threads of its own, and hangs in a forked process. One more
    than there are processors, because Sphinx counts the one that waits for others.
    """
    if sys.platform == "linux" and processors() > 1:
        app.parallel = max(app.parallel, processors() + 1)


class Pages:
    """The pages that are about to be written, and when they last were."""

    def __init__(self) -> None:
        self.before: dict[Path, int] = {}

    def note(self, app: Sphinx, doctree: nodes.document, docname: str) -> None:
        """Sphinx does this to each page, before another process may write it."""
        if app.builder.format == "html":
            file = Path(app.builder.get_outfilename(docname))
            self.before[file] = changed(file)

    def look(self, app: Sphinx, exception: Exception | None) -> None:
        """Fail if a page is missing, or is that of an earlier build."""
        if exception is not None:
            return
        left = [
            file.name for file, when in self.before.items() if changed(file) == when
        ]
        if left:
            raise ExtensionError(
                f"not written: {', '.join(sorted(left))}; for the reason, build again "
                "with one processor: taskset -c 0 make book"
            )


def changed(file: Path) -> int:
    """When a file was last written, in nanoseconds; 0 where there is none."""
    return file.stat().st_mtime_ns if file.is_file() else 0
