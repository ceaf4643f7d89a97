"""Sphinx extension: pages are read and written side by side, one per processor.

Sphinx can do so, but Jupyter Book has no option for it. An extension that keeps a table
of pages in the environment says with ``merge`` that each process fills a part of it.

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

# They number what was read, or work for LaTeX, and do not say whether reading is safe.
UNDECLARED = {"sphinx_multitoc_numbering", "sphinx_jupyterbook_latex"}


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    pages = Pages()
    app.connect("env-before-read-docs", share_out)
    app.connect("env-updated", share_out)
    app.connect("doctree-resolved", pages.note)
    app.connect("build-finished", pages.look)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def share_out(app: Sphinx, env: BuildEnvironment, docnames: object = None) -> None:
    """Ask for more processes before pages are read, and before any is written.

    The processes are forked, which is only safe on Linux. One more than there are
    processors, because Sphinx counts the one that waits for the others.
    """
    if sys.platform == "linux" and processors() > 1:
        app.parallel = max(app.parallel, processors() + 1)
        for name in UNDECLARED & app.extensions.keys():
            app.extensions[name].parallel_read_safe = True


def merge(app: Sphinx, table: str) -> None:
    """Let a set or a dictionary in the environment take in what each process read."""

    def take_in(
        app: Sphinx, env: BuildEnvironment, names: set[str], other: BuildEnvironment
    ) -> None:
        if found := getattr(other, table, None):
            if not hasattr(env, table):
                setattr(env, table, type(found)())
            getattr(env, table).update(found)

    app.connect("env-merge-info", take_in)


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
