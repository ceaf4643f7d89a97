"""Sphinx extension: the exercise notebook of a chapter, one click away from its page.

The notebooks that students get are written into the built book. Below the title of
each chapter stands a link to its own. Once ``repository.url`` in ``_config.yml`` names
a repository on GitHub, there are links that open it on Binder and on Colab as well.
Binder makes its copy from the folder ``binder/``. Colab reads the branch ``notebooks``,
which the publishing workflow writes.
"""

from __future__ import annotations

import html
import re
from pathlib import Path, PurePosixPath

import nbformat
from docutils import nodes
from sphinx.application import Sphinx

from autograder.book import capstone_names
from autograder.exercise import topic_names

FOLDER = "notebooks"
COLAB_BRANCH = "notebooks"
PLACEHOLDER = "https://github.com/OWNER/REPOSITORY"
ON_GITHUB = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+")

# Nothing is pinned here: Colab comes with torch and the rest, in versions of its own.
FETCH_THE_COURSE = """\
# Where the course is not installed, on Colab for example, this fetches it.
import importlib.util
import subprocess
import sys

if importlib.util.find_spec("autograder") is None:
    clone = ["git", "clone", "--quiet", "--depth=1", "--branch={branch}"]
    subprocess.run([*clone, "{url}", "course"], check=True)
    sys.path.insert(0, "course")
"""


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("doctree-resolved", add_links)
    app.connect("build-finished", write_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def repository(app: Sphinx) -> tuple[str, str] | None:
    """Address and branch of the public repository, if there is one on GitHub."""
    options = app.config.html_theme_options
    url = options.get("repository_url", "").rstrip("/").removesuffix(".git")
    if url == PLACEHOLDER or not ON_GITHUB.fullmatch(url):
        return None
    return url, options.get("repository_branch") or "main"


def chapter_of(docname: str) -> str | None:
    """The topic of a page, if it is a chapter with exercises."""
    name = PurePosixPath(docname).name
    return name if name in topic_names() else None


def notebook_of(docname: str) -> str | None:
    """The notebook of a page: a chapter, or a capstone, which has no exercises."""
    name = PurePosixPath(docname).name
    return name if name in capstone_names() else chapter_of(docname)


def add_links(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put the links below the title of a chapter."""
    name = notebook_of(docname)
    title = next(doctree.findall(nodes.title), None)
    if app.builder.format != "html" or name is None or title is None:
        return
    up = "../" * docname.count("/")
    found = [f'<a href="{up}{FOLDER}/{name}.ipynb" download>download</a>']
    for place, url in launch_urls(app, name).items():
        found.append(f'<a href="{html.escape(url)}">open in {place}</a>')
    kind = "Exercise notebook" if chapter_of(docname) else "Notebook"
    words = f"{kind}: {', '.join(found)}"
    text = f'<p class="exercise-notebook noprint">{words}</p>'
    title.parent.insert(
        title.parent.index(title) + 1, nodes.raw("", text, format="html")
    )


def launch_urls(app: Sphinx, name: str) -> dict[str, str]:
    """Where a chapter's exercise notebook can be opened, by the name of the place."""
    found = repository(app)
    if found is None:
        return {}
    url, branch = found
    path = url.removeprefix("https://github.com/")
    file = f"_build/{FOLDER}/{name}.ipynb"
    return {
        "Binder": f"https://mybinder.org/v2/gh/{path}/{branch}?urlpath=lab/tree/{file}",
        "Colab": "https://colab.research.google.com/github/"
        f"{path}/blob/{COLAB_BRANCH}/{name}.ipynb",
    }


def write_notebooks(app: Sphinx, exception: Exception | None) -> None:
    """Write the exercise notebooks of the pages into the book, if anything is new."""
    chapters = sorted(filter(None, map(notebook_of, app.env.found_docs)))
    if exception or app.builder.format != "html" or not chapters:
        return
    folder = Path(app.outdir) / FOLDER
    files = [folder / f"{name}.ipynb" for name in chapters]
    if all(file.exists() for file in files):
        written = min(file.stat().st_mtime for file in files)
        if written > max(file.stat().st_mtime for file in sources(app)):
            return
    folder.mkdir(parents=True, exist_ok=True)
    for name, file in zip(chapters, files, strict=True):
        nbformat.write(exercise_notebook(name, repository(app)), file)


def sources(app: Sphinx) -> list[Path]:
    """Everything that a notebook is made of."""
    root = Path(app.srcdir)
    made_of = ("_config.yml", "chapters/*.md", "solutions/*.py", "autograder/**/*.py")
    return [Path(__file__), *(file for kind in made_of for file in root.glob(kind))]


def exercise_notebook(
    name: str, where: tuple[str, str] | None
) -> nbformat.NotebookNode:
    """What students get, with a cell that fetches the course where it is missing."""
    from autograder.release.source import source_notebook
    from autograder.release.student import student_notebook

    notebook = student_notebook(source_notebook(name))
    if where:
        url, branch = where
        cell = nbformat.v4.new_code_cell(
            FETCH_THE_COURSE.format(url=url, branch=branch).rstrip(), id="fetch"
        )
        notebook.cells.insert(0, cell)
    return notebook
