"""What the search for edits costs when a class is graded.

Two thirds of a class have slips of their own: each of their exercises is the reference
with one small change, so that hardly a known mistake explains it and the search has all
to do. The class is graded by the grader as it is and by a copy whose search tries
nothing, in turn. Run with ``python -m benchmarks.wrong_class [CHAPTER ...]``, as
``make bench`` does at its end.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import random
import re
import shutil
import statistics
import tempfile
from pathlib import Path

import nbformat

from autograder.break_exercise import BreakExercise
from autograder.exercise import load_topic
from autograder.release.course import make_course
from benchmarks.environment import ROOT, environment
from benchmarks.mutants import mutants
from benchmarks.processor import of_grading
from classroom.submissions import hand_in, right_answers, submission

CHAPTERS = ("simplified_attention", "multi_head", "transformer")
STUDENTS, ROUNDS = 30, 3
LIMITS = {"autograder/explain/search.py": "MOST"}  # how far the search goes


def main() -> None:
    """Print a line for each chapter."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapters", nargs="*", default=CHAPTERS)
    chapters = parser.parse_args().chapters
    print(environment())
    print(
        f"{STUDENTS} students, two thirds of them wrong; medians of {ROUNDS} rounds\n"
    )
    print(f"{'processor seconds of grade':28}{'without':>9}{'with':>9}{'more':>8}")
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        blind = copy_without_search(folder / "blind")
        for chapter in chapters:
            course = folder / chapter
            prepare(course, chapter)
            taken: dict[Path, list[float]] = {blind: [], ROOT: []}
            for _ in range(ROUNDS):
                for grader, seconds in taken.items():
                    seconds.append(processor_seconds(grader, course, chapter))
            without, complete = map(statistics.median, taken.values())
            more = complete / without - 1
            print(f"{chapter:28}{without:9.1f}{complete:9.1f}{more:8.0%}", flush=True)


def copy_without_search(target: Path) -> Path:
    """A copy of the grader whose search for edits ends at once."""
    for package in ("autograder", "solutions", "toolkit"):
        shutil.copytree(ROOT / package, target / package)
    for file, limit in LIMITS.items():
        text = (target / file).read_text()
        text, found = re.subn(rf"^{limit} = [\d._]+", f"{limit} = 0", text, flags=re.M)
        if found != 1:
            raise RuntimeError(f"{file} has no line that sets {limit} any more")
        (target / file).write_text(text)
    return target


def prepare(course: Path, chapter: str) -> None:
    """A course in which two of three students have changed every exercise."""
    with contextlib.redirect_stdout(io.StringIO()):
        make_course(course, [chapter])
    master = nbformat.read(course / "release" / chapter / f"{chapter}.ipynb", 4)
    right, chance = right_answers(chapter), random.Random(chapter)
    students = {}
    for number in range(STUDENTS):
        answers = changed(chapter, right, chance) if number % 3 else right
        students[f"student_{number:03}"] = submission(master, answers)
    hand_in(course, chapter, students)


def changed(
    chapter: str, right: dict[str, str], chance: random.Random
) -> dict[str, str]:
    """The answers with one change in each that is not a test and surely ends."""
    answers = dict(right)
    for name, exercise in load_topic(chapter).exercises.items():
        found = (
            [] if isinstance(exercise, BreakExercise) else changes_that_end(right, name)
        )
        if found:
            answers[name] = chance.choice(found)
    return answers


def changes_that_end(right: dict[str, str], name: str) -> list[str]:
    """The changes to an answer that has no loop with a condition."""
    if any(isinstance(node, ast.While) for node in ast.walk(ast.parse(right[name]))):
        return []
    return [ast.unparse(mutant.tree) for mutant in mutants(right[name], name)]


def processor_seconds(grader: Path, course: Path, chapter: str) -> float:
    """What it takes a grader to grade a copy of the course, all processes together."""
    copy = course.with_name("copy")
    shutil.copytree(course, copy)
    parts = of_grading(copy, chapter, grader)
    shutil.rmtree(copy)
    return sum(parts.values())


if __name__ == "__main__":
    main()
