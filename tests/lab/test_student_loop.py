"""A student in JupyterLab: runs a check, sees the mistake, asks for a hint, fixes it
and sees the progress."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from autograder.exercise import load_topic
from autograder.release.source import source_notebook
from autograder.release.student import student_notebook
from classroom.submissions import cell_source, submission
from tests.lab.conftest import PATIENCE, right_cells

TOPIC = "simplified_attention"
RIGHT = right_cells(TOPIC)
HINTS = load_topic(TOPIC).exercises["softmax"].hints
ALL = "{0} of {0} points".format(load_topic(TOPIC).exercises["soft_lookup"].points)
MINE = "answer of my own"
HELP = "from autograder.hints import hint\nhint(softmax)"
PROGRESS = "from autograder.progress import progress\nprogress()"

expect.set_options(1000 * PATIENCE)


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The released notebook, solved but for a softmax that overflows."""
    wrong = next(
        mistake
        for mistake in load_topic(TOPIC).mistakes("softmax")
        if "exp(1000)" in mistake.hint
    )
    written = RIGHT | {"softmax": cell_source(wrong, "softmax")}
    released = student_notebook(source_notebook(TOPIC))
    path = tmp_path_factory.mktemp("student") / f"{TOPIC}.ipynb"
    path.write_text(json.dumps(submission(released, written)))
    return path


class Lab:
    """JupyterLab with one notebook open, as its user sees it."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        page.goto(address)
        self.idle()

    def idle(self) -> None:
        """Wait until the kernel has nothing to do."""
        expect(self.page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible()
        expect(self.page.get_by_text("[*]:", exact=True)).to_have_count(0)

    def run_all(self) -> None:
        """Run all cells with the menu."""
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()

    def cell(self, text: str) -> Locator:
        """The code cell in whose editor a text stands."""
        editor = self.page.locator(".jp-InputArea-editor", has_text=text)
        return self.page.locator(".jp-CodeCell", has=editor).first

    def output(self, text: str) -> Locator:
        """What the cell with this text shows below it."""
        return self.cell(text).locator(".jp-OutputArea")

    def write(self, cell: Locator, source: str) -> None:
        """Replace the source of a cell and run it."""
        cell.locator(".cm-content").click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(source)
        self.page.keyboard.press("Control+Enter")

    def run(self, text: str) -> None:
        """Run the cell with this text."""
        self.cell(text).locator(".cm-content").click()
        self.page.keyboard.press("Control+Enter")

    def add(self, below: str, source: str) -> None:
        """Add a cell below another one and run it."""
        self.cell(below).locator(".jp-InputPrompt").click()
        self.page.keyboard.press("b")
        self.page.keyboard.press("Enter")
        self.page.keyboard.insert_text(source)
        self.page.keyboard.press("Control+Enter")


@pytest.fixture(scope="module")
def seen(notebook: Path, jupyter_lab: Callable, in_browser: Callable) -> dict[str, Any]:
    """What the student saw at each step."""
    seen: dict[str, Any] = {}

    def scene(page: Page) -> None:
        lab = Lab(page, address(f"lab/tree/{notebook.name}"))
        lab.run_all()
        checked = lab.output("check(softmax)")
        expect(checked).to_contain_text("of 7 points")
        seen["wrong"] = checked.inner_text()
        lab.add("check(softmax)", HELP)
        expect(lab.output("hint(softmax)")).to_contain_text(HINTS[0])
        lab.write(lab.cell("def softmax"), f"# {MINE}\n{RIGHT['softmax']}")
        lab.run("check(softmax)")
        expect(checked).to_contain_text("7 of 7 points")
        seen["right"] = checked.inner_text()
        lab.run_all()  # other answers use softmax
        expect(lab.output("check(soft_lookup)")).to_contain_text(ALL)
        lab.idle()
        page.keyboard.press("ControlOrMeta+s")
        wait_until_saved(notebook)
        lab.add("check(softmax)", PROGRESS)
        table = lab.output("progress()")
        expect(table).to_contain_text("Everything is done.")
        seen["progress"] = table.inner_text()

    with jupyter_lab(notebook.parent) as address:
        in_browser(scene)
    return seen


def wait_until_saved(path: Path) -> None:
    """Wait until what was written in JupyterLab is in the file."""
    deadline = time.monotonic() + PATIENCE
    while MINE not in (text := path.read_text()) or ALL not in text:
        assert time.monotonic() < deadline, "the notebook was not saved"
        time.sleep(0.1)


def test_wrong_answer_is_told_its_misconception(seen):
    assert "You took the exponential" in seen["wrong"]
    assert "of 5 tests pass" in seen["wrong"]
    assert "hint(softmax)" in seen["wrong"]


def test_right_answer_passes(seen):
    assert "Right: all tests pass." in seen["right"]
    assert load_topic(TOPIC).exercises["softmax"].right in seen["right"]


def test_progress_is_the_same_in_the_notebook_and_in_a_terminal(seen, notebook):
    points = sum(e.points for e in load_topic(TOPIC).exercises.values())
    assert f"{points} of {points}" in seen["progress"]
    done = subprocess.run(
        [sys.executable, "-m", "autograder", "progress"],
        cwd=notebook.parent,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == seen["progress"].split()
