"""Grade in forks of a warm process, with nothing around them.

What it would take at least: no kernel, no sandbox, no limits, no judge, no gradebook.
Called by ``benchmarks.grading``.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from pathlib import Path

import nbformat

from autograder.answers import answer
from autograder.exercise import Topic, load_topic
from autograder.grading.execution import draw_seeds
from autograder.notebooks import parse_notebook
from autograder.sandbox.fork_server import import_everything
from autograder.submissions.cells import HandedIn, Role, as_handed_in


def main() -> int:
    """Run every submission of some chapters of a course."""
    course, jobs, *chapters = sys.argv[1:]
    import_everything()
    gc.collect()
    gc.freeze()
    for chapter in chapters:
        grade(Path(course), chapter, int(jobs))
    return 0


def grade(course: Path, chapter: str, jobs: int) -> None:
    """Fork for each submission, run the cells, answer the cases, exit."""
    topic = load_topic(chapter)
    seeds = {n: draw_seeds(exercise) for n, exercise in topic.exercises.items()}
    master = nbformat.read(course / "release" / chapter / f"{chapter}.ipynb", 4)
    running: set[int] = set()
    for path in sorted(course.glob(f"submitted/*/{chapter}/{chapter}.ipynb")):
        if len(running) == jobs:
            running.remove(os.wait()[0])
        child = os.fork()
        if child == 0:
            data = parse_notebook(path.read_bytes())
            run_cells(as_handed_in(master, data, topic.exercises), topic, seeds)
            os._exit(0)
        running.add(child)
    while running:
        running.remove(os.wait()[0])


def run_cells(handed_in: HandedIn, topic: Topic, seeds: dict[str, list[int]]) -> None:
    """Execute the cells that grading executes, in this process."""
    scope: dict = {}
    for cell in handed_in.cells:
        if cell.role in (Role.SETUP, Role.EXERCISE, Role.ADDED):
            with contextlib.suppress(Exception):
                exec(cell.source, scope)
        for name in cell.asks:
            with contextlib.suppress(Exception):
                for case, seed in zip(
                    topic.exercises[name].cases, seeds[name], strict=True
                ):
                    answer(case, scope.get(name), seed)


if __name__ == "__main__":
    sys.exit(main())
