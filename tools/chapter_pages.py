"""Sphinx extension: what the build adds to the page of a chapter.

Below the title stands how long the chapter takes, for its prose and its exercises, and
a link to its notebook (``exercise_notebooks.py``). The imports that it begins with,
between the opening of the story and its first picture, are folded away.
"""

from __future__ import annotations

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from tools.pages.search import has_title, prose

PROMPTS = {"prompt_show": "Show the imports", "prompt_hide": "Hide the imports"}
# Of prose from which a reader wants to learn; Carver (1992), "Reading rate: theory,
# research, and practical implications", Journal of Reading 36(2).
WORDS_A_MINUTE = 200
ROUNDED_TO = 5  # minutes
MINUTES = re.compile(r"^[★☆]{3} · (\d+) minutes", re.MULTILINE)

TIME = '<p class="reading-time noprint">{}</p>'


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx; the time comes above the link to the notebook."""
    app.setup_extension("tools.exercise_notebooks")
    app.connect("doctree-read", fold_imports)
    app.connect("doctree-resolved", add_time, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def fold_imports(app: Sphinx, doctree: nodes.document) -> None:
    """Mark the first cell if it begins with imports and shows nothing, for MyST-NB."""
    cells = (
        node
        for node in doctree.findall(nodes.container)
        if node.get("nb_element") == "cell_code"
    )
    cell = next(cells, None)
    if cell is None or len(cell) != 1 or "hide_mode" in cell:
        return
    if cell.astext().startswith(("import ", "from ")):
        cell.attributes.update({"hide_mode": "input", **PROMPTS})


def add_time(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Say in a chapter how long it takes."""
    title = next(doctree.findall(nodes.title), None)
    if (
        app.builder.format != "html"
        or title is None
        or docname not in chapters(app.env)
    ):
        return
    words = sum(
        len(text.split())
        for section in doctree.findall(has_title)
        for text in prose(section)
    )
    source = Path(app.env.doc2path(docname)).read_text(encoding="utf-8")
    line = TIME.format(time_needed(words, exercise_minutes(source)))
    place = title.parent.index(title) + 1
    title.parent.insert(place, nodes.raw("", line, format="html"))


def chapters(env: BuildEnvironment) -> set[str]:
    """The pages that have a number."""
    return {page for page, numbers in env.toc_secnumbers.items() if numbers.get("")}


def exercise_minutes(source: str) -> int:
    """The minutes that the exercises of a chapter take, as its tasks say."""
    return sum(map(int, MINUTES.findall(source)))


def time_needed(words: int, minutes: int) -> str:
    """How long a chapter takes.

    Args:
        words: of prose; code and formulas are left out.
        minutes: for the exercises.
    """
    reading = max(1, round(words / WORDS_A_MINUTE / ROUNDED_TO)) * ROUNDED_TO
    line = f"About {reading} minutes to read"
    if minutes:
        line += f", and {in_hours(minutes)} for the exercises"
    return f"{line}."


def in_hours(minutes: int) -> str:
    """A sum of estimates, rounded as they are."""
    if minutes < 90:
        return f"about {minutes} minutes"
    return f"about {round(minutes / 30) / 2:g} hours"
