"""How the tests are spread over processes: a small tree with our own settings."""

import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.conftest import LONG, MEASURING

NOTE = """
import os
import pytest

@pytest.mark.parametrize("number", range(3))
def test_where(number):
    with open({file!r}, "a") as file:
        file.write(f"{name} {{os.environ['PYTEST_XDIST_WORKER']}}\\n")
"""
LEAK = """
import asyncio
import pytest

@pytest.fixture(scope="{scope}")
def browser():
    loop = asyncio.new_event_loop()
    asyncio._set_running_loop(loop)  # as playwright does in the thread that calls it
    yield
    asyncio._set_running_loop(None)
    loop.close()

def test_a_page(browser):
    pass
"""
OTHERS = [f"other/test_{number}.py" for number in range(4)]


@pytest.fixture(scope="module")
def run(root: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict]:
    """What two processes said, and in which of them each test of a file was."""
    folder = tmp_path_factory.mktemp("spread")
    where = folder / "where.txt"
    texts = {name: NOTE.format(file=str(where), name=name) for name in OTHERS}
    texts |= {name: NOTE.format(file=str(where), name=name) for name in MEASURING}
    for scope in ("module", "session"):
        texts[f"pages/test_{scope}.py"] = LEAK.format(scope=scope)
    for name, text in texts.items():
        file = folder / "tests" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for name in ("conftest.py", "suites.py"):
        shutil.copy(root / "tests" / name, folder / "tests")
    shutil.copy(root / "pyproject.toml", folder)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--numprocesses=2", "--dist=loadfile"]
        + ["-p", "no:cacheprovider"],
        cwd=folder,
        # A folder of its own: others tidy up the one that runs share.
        env={
            **os.environ,
            "PYTHONPATH": str(root),
            "PYTEST_DEBUG_TEMPROOT": str(folder),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    processes = defaultdict(list)
    for line in where.read_text().splitlines():
        name, process = line.split()
        processes[name].append(process)
    return done.stdout, processes


def test_a_file_stays_in_one_process_and_those_that_measure_share_one(run):
    _, processes = run
    assert processes.keys() == {*OTHERS, *MEASURING}
    assert all(len(places) == 3 for places in processes.values())
    assert all(len(set(places)) == 1 for places in processes.values())
    assert len({place for places in processes.values() for place in places}) == 2
    assert len({place for name in MEASURING for place in processes[name]}) == 1


def test_a_browser_that_outlives_its_file_is_an_error(run):
    said, processes = run
    assert re.search(rf"{3 * len(processes) + 2} passed, 1 error", said), said
    assert "ERROR tests/pages/test_session.py" in said
    assert "an event loop outlives this file" in said


def test_the_files_that_come_first_are_there(root: Path):
    assert [name for name in LONG if not (root / "tests" / name).is_file()] == []
