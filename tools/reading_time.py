"""Sphinx extension: how long a chapter takes.

It stands below the title of each numbered chapter, for its prose and its exercises.
"""

from __future__ import annotations

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from tools.search_sections import has_title, prose

# Of prose from which a reader wants to learn; Carver (1992), "Reading rate: theory,
# research, and practical implications", Journal of Reading 36(2).
WORDS_A_MINUTE = 200
ROUNDED_TO = 5  # minutes
MINUTES = re.compile(r"^[★☆]{3} · (\d+) minutes", re.MULTILINE)

TIME = '<p class="reading-time noprint">{}</p>'


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx; the line comes above that of the exercise notebook."""
    app.connect("doctree-resolved", add_time, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


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
