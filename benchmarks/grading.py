"""Seconds a submission: stock nbgrader, this grader, and a bare fork.

All three grade the same made-up class, one after another in one run. The bare fork
(``benchmarks.bare_fork``) runs the same cells and cases in a child of a process that
has imported everything, with no kernel, no sandbox, no judge and no gradebook: a floor
that no grader can go below.
Run with ``make bench``, which keeps what it prints in ``benchmarks/measured.txt``.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import io
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import psutil
from nbgrader.api import Gradebook

from autograder.course import make_course, settings_of
from benchmarks.classroom import hand_in, make_class

CHAPTERS = ("simplified_attention", "qkv_projections", "masking")


def main() -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=30, help="in each chapter")
    parser.add_argument("--jobs", type=int, default=2 * os.cpu_count())
    parser.add_argument(
        "--sizes", type=int, nargs="*", help="only ours, growing classes"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        compare(Path(folder) / "compared", options.students, options.jobs)
        growth(Path(folder) / "growing", options.sizes, options.jobs)
    return 0


def compare(folder: Path, students: int, jobs: int) -> None:
    """Stock nbgrader, ours and the bare fork on the same submissions."""
    course = folder / "ours"
    prepare(course, CHAPTERS, students)
    shutil.copytree(course, folder / "stock")
    count = students * len(CHAPTERS)
    print(f"{datetime.date.today()}, {os.cpu_count()} processors\n")
    rows = {
        "stock nbgrader": lambda: stock(folder / "stock"),
        "this grader": lambda: ours(course, CHAPTERS, jobs),
        "bare fork": lambda: bare_forks(course, jobs),
    }
    print(f"{count} submissions to {len(CHAPTERS)} chapters, {jobs} jobs\n")
    print(f"{'':16}{'s/submission':>13}{'ratio':>8}{'peak MB':>9}")
    seconds = {}
    for name, run in rows.items():
        with measured() as result:
            run()
        seconds[name] = result["seconds"] / count
        ratio = seconds["stock nbgrader"] / seconds[name]
        print(f"{name:16}{seconds[name]:13.3f}{ratio:8.1f}{result['peak']:9.0f}")
    cost = seconds["this grader"] / seconds["bare fork"]
    print(f"\nthis grader / bare fork: {cost:.2f}")
    here, there = scores(course), scores(folder / "stock")
    differing = [key for key in here if here[key] != there.get(key)]
    print(f"scores that differ from stock nbgrader: {len(differing)} of {len(here)}")
    for key in differing:
        print(f"  {key}: ours {here[key]:g}, stock {there.get(key)}")


def growth(folder: Path, sizes: list[int], jobs: int) -> None:
    """Seconds for classes of growing size."""
    if not sizes:
        return
    print(f"\nthis grader alone, {CHAPTERS[0]}, {jobs} jobs\n")
    print(f"{'submissions':>11}{'seconds':>9}{'s/submission':>14}{'peak MB':>9}")
    for size in sizes:
        course = folder / str(size)
        prepare(course, CHAPTERS[:1], size)
        with measured() as result:
            ours(course, CHAPTERS[:1], jobs)
        each = result["seconds"] / size
        print(f"{size:11}{result['seconds']:9.1f}{each:14.3f}{result['peak']:9.0f}")


def prepare(course: Path, chapters: tuple[str, ...], students: int) -> None:
    """A course with a class in each chapter; no attacks, which stock cannot take."""
    with contextlib.redirect_stdout(io.StringIO()):
        make_course(course, list(chapters))
    for chapter in chapters:
        master = nbformat.read(course / "release" / chapter / f"{chapter}.ipynb", 4)
        hand_in(course, chapter, make_class(chapter, master, students, attacks=False))


def stock(course: Path) -> None:
    """``nbgrader autograde`` as an instructor calls it."""
    for chapter in CHAPTERS:
        subprocess.run(
            [sys.executable, "-m", "nbgrader", "autograde", chapter],
            cwd=course,
            check=True,
            capture_output=True,
        )


def ours(course: Path, chapters: tuple[str, ...], jobs: int) -> None:
    """``autograder grade`` as an instructor calls it."""
    subprocess.run(
        [sys.executable, "-m", "autograder", "grade", *chapters]
        + ["--course", str(course), "--jobs", str(jobs)],
        check=True,
        capture_output=True,
    )


def bare_forks(course: Path, jobs: int) -> None:
    """Run the same cells and cases with nothing around them."""
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run(
        [sys.executable, "-m", "benchmarks.bare_fork", str(course), str(jobs)]
        + list(CHAPTERS),
        env=os.environ | one_thread,
        check=True,
        capture_output=True,
    )


def scores(course: Path) -> dict[tuple[str, str], float]:
    """Scores in the gradebook by student and chapter."""
    settings = settings_of(course)
    with Gradebook(settings.gradebook, settings.course_id) as book:
        return {
            (submission.student.id, chapter): submission.score
            for chapter in CHAPTERS
            for submission in book.assignment_submissions(chapter)
        }


@contextlib.contextmanager
def measured() -> Iterator[dict[str, float]]:
    """Wall seconds, and the peak of the memory of all child processes in MB."""
    result = {"peak": 0.0}
    stop = threading.Event()
    watcher = threading.Thread(target=watch_memory, args=(result, stop.is_set))
    watcher.start()
    start = time.perf_counter()
    try:
        yield result
    finally:
        result["seconds"] = time.perf_counter() - start
        stop.set()
        watcher.join()


def watch_memory(result: dict[str, float], stopped: Callable[[], bool]) -> None:
    """Keep the largest sum of proportional set sizes seen."""
    this = psutil.Process()
    while not stopped():
        total = 0
        for process in this.children(recursive=True):
            with contextlib.suppress(psutil.Error):
                total += process.memory_full_info().pss
        result["peak"] = max(result["peak"], total / 2**20)
        time.sleep(1)  # looking is slow, and what it takes is taken from all three


if __name__ == "__main__":
    sys.exit(main())
