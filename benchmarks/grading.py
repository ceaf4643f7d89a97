"""Seconds a submission on equal work: stock nbgrader, this grader, and a bare fork.

In every round each contestant grades a fresh copy of the same made-up class, in another
order each time. Stock nbgrader is measured as it comes, and on the same work as ours:
without the demonstrations, which ours skips, and with a key in place of the solutions,
so that ``check`` computes no right answers in the kernel of each student. The bare fork
(``benchmarks.bare_fork``) runs the same cells and cases in children of a process that
has imported everything, with no kernel, no sandbox, no judge and no gradebook: a floor
that no grader can go below.
Run with ``make bench``, which keeps what it prints in ``benchmarks/measured.txt``.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
import psutil
from nbgrader.api import Gradebook
from tqdm import tqdm

from autograder.processors import processors
from autograder.release.course import make_course
from autograder.release.settings import settings_of
from benchmarks.environment import environment
from benchmarks.stock import autograde, without_solutions
from classroom.submissions import hand_in, make_class

CHAPTER = "simplified_attention"
EQUAL = "stock, equal work"
STOCK_SIZES = (2, 10)  # of classes that tell what each submission more takes it


@dataclass
class Contestant:
    """One way to grade a class.

    Attributes:
        name: what the table calls it.
        course: the course whose copies it grades.
        run: grades the copy in a folder.
        seconds: of each round.
        peak: the most memory that its processes held together, in MB.
    """

    name: str
    course: Path
    run: Callable[[Path], None]
    seconds: list[float] = field(default_factory=list)
    peak: float = 0.0


def main() -> int:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    # On two processors, five rounds of forty take 24 minutes, and the rest of
    # ``make bench`` five: most of it is stock nbgrader as it comes.
    parser.add_argument("--students", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2 * processors())
    parser.add_argument(
        "--sizes", type=int, nargs="*", default=[], help="of ours, growing classes"
    )
    options = parser.parse_args()
    print(environment(), flush=True)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        compare(Path(folder), options.students, options.rounds, options.jobs)
        growth(Path(folder) / "growing", options.sizes, options.jobs)
    return 0


def compare(folder: Path, students: int, rounds: int, jobs: int) -> None:
    """All contestants on the same class, in interleaved rounds."""
    as_it_comes, equal = folder / "as_it_comes", folder / "equal"
    prepare(as_it_comes, students)
    prepare(equal, students, demonstrations=False)
    give_keys(equal)
    field_of = [
        Contestant("stock nbgrader", as_it_comes, stock),
        Contestant(EQUAL, equal, stock_with_key),
        Contestant(
            f"{EQUAL}, {jobs} processes",
            equal,
            lambda course: stock_in_parallel(course, jobs),
        ),
        Contestant("this grader, 1 job", equal, lambda course: ours(course, 1)),
        Contestant(
            f"this grader, {jobs} jobs", equal, lambda course: ours(course, jobs)
        ),
        Contestant(
            f"bare fork, {jobs} jobs", equal, lambda course: bare_forks(course, jobs)
        ),
    ]
    given: dict[str, dict[str, float]] = {}
    progress = tqdm(total=rounds * len(field_of), unit="run", disable=None)
    for number in range(rounds):
        turn = number % len(field_of)
        for one in field_of[turn:] + field_of[:turn]:
            course = folder / "copy"
            shutil.copytree(one.course, course)
            with measured() as result:
                one.run(course)
            one.seconds.append(result["seconds"] / students)
            one.peak = max(one.peak, result["peak"])
            if one.name == "stock nbgrader" or one.name.startswith("this grader"):
                given[one.name] = scores(course)
            shutil.rmtree(course)
            progress.update()
    progress.close()
    report(field_of, students, rounds)
    stock_scores, *others = given.values()
    wrong = sum(other != stock_scores for other in others)
    print(f"gradings with other scores than stock nbgrader: {wrong} of {len(others)}")


def report(contestants: list[Contestant], students: int, rounds: int) -> None:
    """The table, with medians over the rounds; ratios are taken within each round."""
    sequential = next(c for c in contestants if c.name == EQUAL)
    fork = contestants[-1]
    print(f"\n{students} submissions to {CHAPTER}, {rounds} interleaved rounds\n")
    print(
        f"{'':32}{'s/submission':>13}{'lowest':>9}{'highest':>9}{'speed-up':>10}"
        f"{'/ fork':>8}{'peak MB':>9}"
    )
    for one in contestants:
        faster = _median_ratio(sequential.seconds, one.seconds)
        cost = _median_ratio(one.seconds, fork.seconds)
        print(
            f"{one.name:32}{statistics.median(one.seconds):13.3f}"
            f"{min(one.seconds):9.3f}{max(one.seconds):9.3f}{faster:10.1f}{cost:8.1f}"
            f"{one.peak:9.0f}"
        )
    print(f"\nspeed-up: over “{EQUAL}”, sequential, in the same round; median")


def _median_ratio(one: list[float], other: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(one, other, strict=True))


def growth(folder: Path, sizes: list[int], jobs: int) -> None:
    """Seconds for classes of growing size, and what each submission more takes."""
    if not sizes:
        return
    print(f"\nthis grader alone, {CHAPTER}, {jobs} jobs\n")
    print(f"{'submissions':>11}{'seconds':>9}{'s/submission':>14}{'peak MB':>9}")
    seconds = {}
    for size in sizes:
        result = once(folder, size, lambda course: ours(course, jobs))
        seconds[size] = result["seconds"]
        each = result["seconds"] / size
        print(
            f"{size:11}{result['seconds']:9.1f}{each:14.3f}{result['peak']:9.0f}",
            flush=True,
        )
    if len(seconds) > 1:
        marginal(folder, seconds, jobs)


def marginal(folder: Path, seconds: dict[int, float], jobs: int) -> None:
    """What each submission more takes, without what any run takes once."""

    def slope(taken: dict[int, float]) -> float:
        few, many = min(taken), max(taken)
        return (taken[many] - taken[few]) / (many - few)

    def measure(run: Callable[[Path], None], sizes: Sequence[int]) -> float:
        return slope({size: once(folder, size, run)["seconds"] for size in sizes})

    sequential = measure(stock_with_key, STOCK_SIZES)
    # In each of its processes, the same classes: so many more in the same time.
    parallel = measure(
        lambda course: stock_in_parallel(course, jobs),
        [size * jobs for size in STOCK_SIZES],
    )
    fork = measure(
        lambda course: bare_forks(course, jobs), (min(seconds), max(seconds))
    )
    print(f"\n{'each submission more':32}{'seconds':>13}{'speed-up':>10}{'/ fork':>8}")
    for name, each in (
        (EQUAL, sequential),
        (f"{EQUAL}, {jobs} processes", parallel),
        (f"this grader, {jobs} jobs", slope(seconds)),
        (f"bare fork, {jobs} jobs", fork),
    ):
        print(f"{name:32}{each:13.3f}{sequential / each:10.1f}{each / fork:8.1f}")


def once(folder: Path, size: int, run: Callable[[Path], None]) -> dict[str, float]:
    """Seconds and memory of one way to grade a class of this size, on equal work."""
    course = folder / str(size)
    prepare(course, size, demonstrations=False)
    give_keys(course)
    with measured() as result:
        run(course)
    shutil.rmtree(course)
    return result


def prepare(course: Path, students: int, demonstrations: bool = True) -> None:
    """A course with a class; no attacks, which stock nbgrader cannot take."""
    with contextlib.redirect_stdout(io.StringIO()):
        make_course(course, [CHAPTER])
        if not demonstrations:
            leave_out_demonstrations(course / "source" / CHAPTER)
            make_course(course, [CHAPTER])
    master = nbformat.read(course / "release" / CHAPTER / f"{CHAPTER}.ipynb", 4)
    hand_in(course, CHAPTER, make_class(CHAPTER, master, students))


def leave_out_demonstrations(source: Path) -> None:
    """Take the cells out of a source notebook that only demonstrate."""
    path = source / f"{CHAPTER}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = [
        cell for cell in notebook.cells if "demo" not in cell.metadata.get("tags", [])
    ]
    nbformat.write(notebook, path)


def give_keys(course: Path) -> None:
    """Put the key that students get beside each submission."""
    key = course / "release" / CHAPTER / f"{CHAPTER}.key"
    for folder in course.glob(f"submitted/*/{CHAPTER}"):
        shutil.copy(key, folder)


def stock(course: Path) -> None:
    """``nbgrader autograde`` as an instructor calls it."""
    subprocess.run(autograde(CHAPTER), cwd=course, check=True, capture_output=True)


def stock_with_key(course: Path) -> None:
    """The same where ``check`` has the key and no solutions."""
    subprocess.run(
        [*without_solutions(course), *autograde(CHAPTER)],
        check=True,
        capture_output=True,
    )


def stock_in_parallel(course: Path, processes: int) -> None:
    """The same in several processes, each with a share of the class and a gradebook."""
    students = sorted((course / "submitted").iterdir())
    parts = []
    for number in range(min(processes, len(students))):
        part = course.with_name(f"part-{number}")
        (part / "submitted").mkdir(parents=True)
        for name in ("source", "release", "nbgrader_config.py", "gradebook.db"):
            link_or_copy(course / name, part / name)
        for student in students[number::processes]:
            student.rename(part / "submitted" / student.name)
        command = [*without_solutions(part), *autograde(CHAPTER)]
        parts.append(
            (
                part,
                subprocess.Popen(
                    command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                ),
            )
        )
    failed = [part for part, process in parts if process.wait()]
    for part, _ in parts:
        shutil.rmtree(part)
    if failed:
        raise RuntimeError(f"stock nbgrader failed in {len(failed)} of its processes")


def link_or_copy(source: Path, target: Path) -> None:
    """Have a file or folder of a course in a part of it as well."""
    copy = shutil.copytree if source.is_dir() else shutil.copy
    copy(source, target)


def ours(course: Path, jobs: int) -> None:
    """``autograder grade`` as an instructor calls it."""
    subprocess.run(
        [sys.executable, "-m", "autograder", "grade", CHAPTER]
        + ["--course", str(course), "--jobs", str(jobs)],
        check=True,
        capture_output=True,
    )


def bare_forks(course: Path, jobs: int) -> None:
    """Run the same cells and cases with nothing around them."""
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run(
        [sys.executable, "-m", "benchmarks.bare_fork", str(course), str(jobs), CHAPTER],
        env=os.environ | one_thread,
        check=True,
        capture_output=True,
    )


def scores(course: Path) -> dict[str, float]:
    """Scores in the gradebook by student."""
    settings = settings_of(course)
    with Gradebook(settings.gradebook, settings.course_id) as book:
        found = book.assignment_submissions(CHAPTER)
        return {submission.student.id: submission.score for submission in found}


@contextlib.contextmanager
def measured(look: float = 1.0) -> Iterator[dict[str, float]]:
    """Wall seconds, and the peak of the memory of all child processes in MB.

    The memory is looked at every ``look`` seconds.
    """
    result = {"peak": 0.0}
    stop = threading.Event()
    watcher = threading.Thread(target=watch_memory, args=(result, stop, look))
    watcher.start()
    start = time.perf_counter()
    try:
        yield result
    finally:
        result["seconds"] = time.perf_counter() - start
        stop.set()
        watcher.join()


def watch_memory(result: dict[str, float], stop: threading.Event, look: float) -> None:
    """Keep the largest sum of proportional set sizes seen."""
    this = psutil.Process()
    while not stop.wait(look):  # looking is slow, and what it takes is taken from all
        total = 0
        for process in this.children(recursive=True):
            with contextlib.suppress(psutil.Error):
                total += process.memory_full_info().pss
        result["peak"] = max(result["peak"], total / 2**20)


if __name__ == "__main__":
    sys.exit(main())
