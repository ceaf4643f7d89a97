"""Sphinx extension: execute the chapters that need it side by side, one per processor.

MyST-NB executes a chapter when it reads its page, one after the other. Before it comes
to that, everything that jupyter-cache does not hold is executed here and put into the
same cache, where MyST-NB finds it. A chapter is kept as soon as it is done, so an
interrupted build resumes where it stopped.

Each chapter computes on one thread, so its numbers do not depend on what else runs, or
on the number of processors. Cells that measure time take the shortest of several runs.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Coroutine, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from myst_nb.core.config import NbParserConfig
from myst_nb.core.read import is_myst_markdown_notebook, read_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig
from nbclient import NotebookClient
from nbclient.exceptions import (
    CellExecutionError,
    CellTimeoutError,
    DeadKernelError,
)
from nbformat import NotebookNode
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from autograder.processors import processors
from tools import warm_kernels
from tools.rerun_when_code_changes import (
    Hashes,
    files_read,
    hashes_of,
    outdated_chapters,
    unchanged,
)

ONE_THREAD = dict.fromkeys(
    ("MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"
)
# tools/pages/themed_figures.py colours them. Notebooks of students keep to PNG.
NOTE_FILES = (
    "--IPKernelApp.exec_lines=import tools.files_read as f; f.note({!r}); del f"
)
VECTOR_FIGURES = "--InlineBackend.figure_formats={'svg'}"
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_config_value("execute_first", [], rebuild="", types=[list])
    app.connect("env-get-outdated", outdated_chapters)
    app.connect("env-before-read-docs", execute_before_reading, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


@dataclass
class Chapter:
    """A chapter to be executed: its file and what jupyter-cache knows it by."""

    file: Path
    notebook: NotebookNode

    @property
    def name(self) -> str:
        """The topic."""
        return self.file.stem

    @property
    def sources(self) -> list[str]:
        """The code of each cell, nothing for the cells that hold none."""
        cells = self.notebook.cells
        return [cell.source if cell.cell_type == "code" else "" for cell in cells]

    def line(self, cell: int) -> int:
        """The line of the file in which a cell begins."""
        return self.notebook.metadata.source_map[cell] + 1


@dataclass
class Failure(Exception):
    """Why a chapter could not be executed, for whoever wrote it."""

    chapter: Chapter
    cell: int
    reason: str
    details: str = ""


def execute_before_reading(
    app: Sphinx, env: BuildEnvironment, docnames: list[str]
) -> None:
    """Execute what is about to be read and is not in the cache.

    With ``BOOK_PAGE`` in the environment, as ``make check`` has it, other pages stay as
    they were read before.

    Raises:
        SystemExit: a cell failed; the message has a line for each chapter in which one
            did. Nothing else would stop Jupyter Book without a traceback of its own.
    """
    if only := os.environ.get("BOOK_PAGE"):
        known = env.all_docs.keys() - {f"chapters/{only}"}
        docnames[:] = [name for name in docnames if name not in known]
    config = env.mystnb_config
    if config.execution_mode != "cache":
        return
    cache, root = get_cache(config.execution_cache_path), Path(app.srcdir)
    first = {name: place for place, name in enumerate(app.config.execute_first)}
    in_order = sorted(docnames, key=lambda name: first.get(name, len(first)))
    files = [Path(env.doc2path(name)) for name in in_order]
    found = chapters(files, env.myst_config)
    waiting = [c for c in found if not is_executed(cache, c.notebook, root)]
    if waiting:
        warm_kernels.use()
        failures = in_a_thread(execute_all(waiting, config, processors(), root))
        if failures:
            logs = Path(app.outdir).parent / "reports"
            raise SystemExit("\n".join(told(f, logs, root) for f in failures))
    for chapter in found:
        name = env.path2doc(str(chapter.file))
        record = cache.match_cache_notebook(chapter.notebook)
        files_read(env)[name] = record.data["files"]


def chapters(files: Iterable[Path], syntax: MdParserConfig) -> list[Chapter]:
    """Those of some pages that are notebooks, read as MyST-NB will read them."""
    found = []
    for file in files:
        source = file.read_text(encoding="utf-8") if file.suffix == ".md" else ""
        if is_myst_markdown_notebook(source):
            notebook = read_myst_markdown_notebook(
                source, syntax, add_source_map=True, path=file
            )
            found.append(Chapter(file, notebook))
    return found


def is_executed(cache: Any, notebook: NotebookNode, root: Path) -> bool:
    """Whether the cache holds the outputs of a notebook, and they are up to date.

    Outdated ones are taken out.
    """
    try:
        record = cache.match_cache_notebook(notebook)
    except KeyError:
        return False
    if unchanged(record.data.get("files"), root):
        return True
    cache.remove_cache(record.pk)
    return False


async def execute_all(
    waiting: list[Chapter], config: NbParserConfig, places: int, root: Path
) -> list[Failure]:
    """Execute chapters in their order and put each into the cache when it is done.

    Args:
        waiting: the chapters.
        config: settings of MyST-NB: where the cache is, and how long a cell may take.
        places: how many to execute at a time.
        root: the source folder; what chapters read of it is kept with their outputs.

    Returns:
        What went wrong. A failure in one chapter does not stop the others.
    """
    queue = list(waiting)
    places = min(len(queue), places)
    failures, done = [], 0
    cache = get_cache(config.execution_cache_path)

    async def work() -> None:
        nonlocal done
        while queue:
            chapter = queue.pop(0)
            start, since = time.monotonic(), time.time()
            try:
                paths = await execute(chapter, config)
            except Failure as failure:
                if asyncio.current_task().cancelling():
                    return  # its kernel was killed because the whole build is stopping
                failures.append(failure)
                outcome = "failed after"
            else:
                seconds = time.monotonic() - start
                keep(chapter, seconds, hashes_of(paths, root, since), cache)
                outcome = "executed in"
            done += 1
            print(
                f"[{done}/{len(waiting)}] {chapter.name} {outcome} "
                f"{time.monotonic() - start:.0f} s",
                flush=True,
            )

    print(f"executing {len(waiting)} chapters, {places} at a time", flush=True)
    async with asyncio.TaskGroup() as group:
        for _ in range(places):
            group.create_task(work())
    return failures


async def execute(chapter: Chapter, config: NbParserConfig) -> set[str]:
    """Execute the cells of a chapter; their outputs are put into its notebook.

    Returns:
        The paths of the files and folders that its kernel read.

    Raises:
        Failure: a cell raised an exception, took too long, or ended its kernel.
    """
    with NamedTemporaryFile("r", encoding="utf-8", errors="surrogateescape") as log:
        client = ChapterClient(
            chapter.notebook,
            timeout=config.execution_timeout,
            allow_errors=config.execution_allow_errors,
            # A kernel may send a line in pieces; MyST-NB would begin a line with each.
            coalesce_streams=True,
            # A forked kernel takes seconds to end when it is asked to.
            shutdown_kernel="immediate",
            record_timing=False,  # it would change the notebook's cache key
            extra_arguments=[VECTOR_FIGURES, NOTE_FILES.format(log.name)],
            resources={"metadata": {"path": str(chapter.file.parent)}},
        )
        environment = {**os.environ, **ONE_THREAD, **kept_in(config)}
        try:
            await client.async_execute(env=environment)
        except CellExecutionError as error:
            reason = f"{error.ename}: {error.evalue}"
            raise Failure(chapter, client.at, reason, error.traceback) from error
        except CellTimeoutError as error:
            reason = f"took longer than {config.execution_timeout} seconds"
            raise Failure(chapter, client.at, reason) from error
        except DeadKernelError as error:
            raise Failure(chapter, client.at, "the kernel died") from error
        return set(log.read().splitlines())


def kept_in(config: NbParserConfig) -> dict[str, str]:
    """Where chapters keep what they trained: see toolkit/kept.py."""
    return {
        "KEPT_RESULTS": str(Path(config.execution_cache_path, "trained").absolute())
    }


def keep(chapter: Chapter, seconds: float, files: Hashes, cache: Any) -> None:
    """Put an executed chapter into the cache, as MyST-NB does."""
    cache.cache_notebook_bundle(
        CacheBundleIn(
            chapter.notebook,
            str(chapter.file),
            data={"execution_seconds": seconds, "files": files},
        ),
        check_validity=False,
        overwrite=True,
    )


def told(failure: Failure, logs: Path, root: Path) -> str:
    """One line about a failure; the traceback goes into a file of its own."""
    chapter = failure.chapter
    where = f"{chapter.file.relative_to(root)}:{chapter.line(failure.cell)}"
    number = sum(bool(source) for source in chapter.sources[: failure.cell + 1])
    first = next(iter(COLOURS.sub("", failure.reason).splitlines()), "")
    line = f"{where}: code cell {number}: {first}"
    if failure.details:
        log = logs / f"{chapter.name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(COLOURS.sub("", failure.details), encoding="utf-8")
        line += f" (traceback in {log.relative_to(root)})"
    return line


class ChapterClient(NotebookClient):
    """Knows which cell it is at."""

    at = 0

    async def async_execute_cell(
        self, cell: NotebookNode, cell_index: int, **options: Any
    ) -> NotebookNode:
        """Execute a cell."""
        self.at = cell_index
        return await super().async_execute_cell(cell, cell_index, **options)


def in_a_thread(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine to its end in another thread; what it returns.

    In the main thread, each client of nbclient would take the interrupt key for itself.
    Here the key cancels the whole work, which ends its kernels, and then counts.
    """
    begun: Future = Future()

    async def noted() -> Any:
        begun.set_result((asyncio.get_running_loop(), asyncio.current_task()))
        return await work

    with ThreadPoolExecutor(1) as thread:
        ended = thread.submit(asyncio.run, noted())
        try:
            return ended.result()
        except KeyboardInterrupt:
            loop, task = begun.result()
            loop.call_soon_threadsafe(task.cancel)
            raise
