"""Sphinx extension: finished pages, made in one pass from those that Sphinx writes.

Sphinx writes its pages into a folder of their own, where the next build finds them as
they were. At the end of each build, all of them are read, go through ``STEPS`` in this
order, and are written into the book. So no page is changed twice, and a step that looks
at the whole book, such as the one for styles, sees all of it each time.

Pages are written side by side, one per processor, for which Jupyter Book has no option.
When one fails while Sphinx still hands out others, it ends the processes at work,
forgets their pages, and calls the build a success. So the build ends with an error
where a page is missing.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError

from autograder.processors import processors
from tools.pages import (
    accessibility,
    formulas,
    head,
    page,
    pictures,
    scripts,
    search,
    styles,
)

Step = Callable[[Sphinx, list[page.Page]], None]
STEPS: tuple[Step, ...] = (
    formulas.set_formulas,
    accessibility.mend,
    pictures.make_lazy,
    scripts.defer,
    head.describe,
    search.write_index,
    styles.merge,
)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx, after all that writes scripts and styles at the end."""
    app.add_builder(PagesBuilder, override=True)
    for steps in (formulas, head, search):
        steps.connect(app)
    app.connect("env-purge-doc", remove)
    app.connect("env-updated", write_in_parallel)
    app.connect("build-finished", finish, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class PagesBuilder(StandaloneHTMLBuilder):
    """Sphinx's builder of pages, which writes them where the pass reads them.

    It writes no index, since nothing reads Sphinx's own: see ``search.py``.
    """

    @property
    def written(self) -> Path:
        """The folder of Sphinx's pages, which goes with what Sphinx has read."""
        return Path(self.doctreedir, "pages")

    @property
    def finished(self) -> Path:
        """A file that is there while all of these pages have gone through the pass."""
        return self.written / ".finished"

    def init(self) -> None:
        """Write all pages if the last build was interrupted or the book was removed.

        Sphinx copies the pictures of a page only in the build that writes it.
        """
        super().init()
        if not (self.finished.exists() and Path(self.outdir, ".buildinfo").exists()):
            shutil.rmtree(self.written, ignore_errors=True)
        self.finished.unlink(missing_ok=True)

    def get_outfilename(self, pagename: str) -> str:
        """Where a page is written."""
        return str(self.written / f"{pagename}{self.out_suffix}")

    def prepare_writing(self, docnames: set[str]) -> None:
        """Remove the pages that are about to be written."""
        super().prepare_writing(docnames)
        for name in docnames:
            Path(self.get_outfilename(name)).unlink(missing_ok=True)

    def load_indexer(self, docnames: Iterable[str]) -> None:
        """Read nothing, because nothing was written."""

    def index_page(self, pagename: str, doctree: nodes.document, title: str) -> None:
        """Count no words: ``search.write_index`` does."""

    def dump_search_index(self) -> None:
        """Write nothing."""


def remove(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    """Remove a page that has left the book; Sphinx purges what it reads again, too."""
    if isinstance(app.builder, PagesBuilder) and docname not in env.found_docs:
        Path(app.builder.get_outfilename(docname)).unlink(missing_ok=True)
        Path(app.outdir, f"{docname}.html").unlink(missing_ok=True)


def write_in_parallel(app: Sphinx, env: BuildEnvironment) -> None:
    """Ask for more processes when all pages are read, and before any is written.

    The processes are forked, which is only safe on Linux. Reading stays in this one:
    it fills tables which several extensions keep for the whole book, and what draws
    charts has threads of its own, and hangs in a forked process. One more than there
    are processors, because Sphinx counts the one that waits for others.
    """
    if sys.platform == "linux" and processors() > 1:
        app.parallel = max(app.parallel, processors() + 1)


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Make the pages of the book.

    Raises:
        ExtensionError: another process could not write a page.
    """
    if exception or not isinstance(app.builder, PagesBuilder):
        return
    pages = list(page.read(app.builder.written))
    left = app.env.found_docs - {one.name for one in pages}
    if left:
        raise ExtensionError(
            f"not written: {', '.join(sorted(left))}; for the reason, build again "
            "with one processor: taskset -c 0 make book"
        )
    for step in STEPS:
        step(app, pages)
    page.write(pages, Path(app.outdir))
    app.builder.finished.touch()
