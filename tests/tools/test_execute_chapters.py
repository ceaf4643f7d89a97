"""Chapters are executed side by side, and end up where MyST-NB looks for them."""

import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from docutils.utils import new_document
from jupyter_cache import get_cache
from jupyter_client.provisioning import KernelProvisionerFactory
from myst_nb.core.config import NbParserConfig
from myst_nb.core.execute import create_client
from myst_nb.core.loggers import DocutilsDocLogger
from myst_nb.core.read import read_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig

from tools import warm_kernels
from tools.execute_chapters import (
    ONE_THREAD,
    Failure,
    chapters,
    execute_all,
    in_a_thread,
    told,
)

HEADER = """---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec: {display_name: Python 3, language: python, name: python3}
---
# Title
"""
WAIT_FOR = (
    "import time, pathlib\nwhile not pathlib.Path({!r}).exists(): time.sleep(.01)"
)


def chapter(folder: Path, name: str, *cells: str) -> Path:
    """A chapter with these code cells."""
    file = folder / f"{name}.md"
    code = "".join(f"\n```{{code-cell}} ipython3\n{cell}\n```\n" for cell in cells)
    file.write_text(HEADER + code, encoding="utf-8")
    return file


def settings(folder: Path) -> NbParserConfig:
    return NbParserConfig(
        execution_mode="cache", execution_cache_path=str(folder / "cache")
    )


def run(files: list[Path], places: int) -> list[Failure]:
    """Execute chapters; what went wrong."""
    found = chapters(files, MdParserConfig())
    folder = files[0].parent
    return in_a_thread(execute_all(found, settings(folder), places, folder))


def outputs(file: Path) -> str:
    """What the cells of a chapter printed, as MyST-NB finds it in the cache."""
    source = file.read_text(encoding="utf-8")
    notebook = read_myst_markdown_notebook(source, add_source_map=True, path=file)
    cache = settings(file.parent)
    assert get_cache(cache.execution_cache_path).match_cache_notebook(notebook)
    with create_client(
        notebook, str(file), cache, DocutilsDocLogger(new_document(str(file))), {}
    ) as client:
        cells = [c for c in client.notebook.cells if c.cell_type == "code"]
    return "".join(output.get("text", "") for cell in cells for output in cell.outputs)


def test_chapters_run_side_by_side_and_each_is_kept(tmp_path):
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    files = [
        chapter(
            tmp_path,
            mine.stem,
            f"open({str(mine)!r}, 'w').close()",
            WAIT_FOR.format(str(others)) + f"\nprint({mine.stem!r}, 'is done')",
        )
        for mine, others in ((first, second), (second, first))
    ]
    assert run(files, places=2) == []
    assert [outputs(file) for file in files] == ["first is done\n", "second is done\n"]


@pytest.mark.skipif(sys.platform != "linux", reason="kernels are forked on Linux only")
def test_kernels_are_forked_from_one_process_and_share_nothing(tmp_path, monkeypatch):
    factory = KernelProvisionerFactory.instance()
    monkeypatch.setattr(factory, "default_provisioner_name", "local-provisioner")
    warm_kernels.use()
    look = "import sys, os\nloaded = 'torch' in sys.modules"
    tell = "print(os.getppid(), loaded, 'mine' in globals(), os.getcwd(), flush=True)"
    more = "import torch\nprint(torch.get_num_threads())"
    plot = "import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()"
    files = [
        chapter(tmp_path, f"page_{n}", look, f"{tell}\n{more}", f"mine = {n}", plot)
        for n in range(2)
    ]
    dead = chapter(tmp_path, "dead", "import os\nos._exit(3)")
    for name in ONE_THREAD:
        monkeypatch.delenv(name)  # as for readers, who do not come from our tests
    (failure,) = run([*files, dead], places=2)
    assert failure.reason == "the kernel died"
    [first, second] = map(outputs, files)
    assert first == second
    cache = get_cache(settings(tmp_path).execution_cache_path)
    for record in cache.list_cache_records():
        *_, told, _, drawn = cache.get_cache_bundle(record.pk).nb.cells
        assert len(told.outputs) == 1  # though the kernel sent it in pieces
        assert "image/svg+xml" in drawn.outputs[-1].data
    assert first.split()[1:] == ["True", "False", str(tmp_path), "1"]
    assert int(first.split()[0]) != os.getpid()


def test_a_cell_that_fails_is_told_in_one_line_and_stops_no_other_chapter(tmp_path):
    bad = chapter(tmp_path, "bad", "x = 0", "# says 'no'\nraise ValueError('no\\nway')")
    dead = chapter(tmp_path, "dead", "import os", "os._exit(3)")
    good = chapter(tmp_path, "good", "print('fine')")
    lines = [
        told(failure, tmp_path / "logs", tmp_path)
        for failure in run([bad, dead, good], places=1)
    ]
    line_of_cell = bad.read_text().splitlines().index("# says 'no'") + 1
    assert lines == [
        f"bad.md:{line_of_cell}: code cell 2: ValueError: no"
        " (traceback in logs/bad.log)",
        f"dead.md:{line_of_cell}: code cell 2: the kernel died",
    ]
    assert "raise ValueError" in (tmp_path / "logs" / "bad.log").read_text()
    assert outputs(good) == "fine\n"
    with pytest.raises(KeyError):
        outputs(bad)


def test_an_interrupted_build_ends_its_kernels_and_keeps_what_is_done(tmp_path):
    done = chapter(tmp_path, "done", "print('kept')")
    pid = tmp_path / "pid"
    endless = chapter(
        tmp_path,
        "endless",
        f"import os, time\nopen({str(pid)!r}, 'w').write(str(os.getpid()))",
        "while True: time.sleep(1)",
    )

    def interrupt() -> None:
        wait_until(lambda: pid.exists() and pid.read_text())
        os.kill(os.getpid(), signal.SIGINT)

    with ThreadPoolExecutor(1) as key, pytest.raises(KeyboardInterrupt):
        key.submit(interrupt)
        run([done, endless], places=1)
    kernel = Path("/proc") / pid.read_text()
    wait_until(lambda: not kernel.exists())
    assert outputs(done) == "kept\n"


def wait_until(holds) -> None:
    deadline = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_what_is_to_be_executed_first_are_notebooks_of_the_book(root):
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    first = config["sphinx"]["config"]["execute_first"]
    found = chapters([root / f"{name}.md" for name in first], MdParserConfig())
    assert [f"chapters/{chapter.name}" for chapter in found] == first
    assert len(set(first)) == len(first)
