"""What one chapter of a very large course takes: seconds, memory and files.

Runs the commands that an instructor calls on a made-up class, one after the other, and
prints for each how long it took, how much processor time that was, and the most memory
that its processes held together; then how much the course keeps on the disk. The table
of `benchmarks/README.md` about large classes is drawn from such a run:

    python -m benchmarks.scale --students 5000
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import nbformat

from autograder.processors import processors
from autograder.release.course import make_course
from benchmarks.environment import environment
from benchmarks.grading import CHAPTER, measured
from classroom.submissions import hand_in, make_class

DIFFERENT = 500  # notebooks; larger classes hand these in several times
LOOK = 5.0  # seconds between two looks at the memory


@dataclass(frozen=True)
class Step:
    """What one command took.

    Attributes:
        name: of the command.
        seconds: by the clock.
        processor: seconds of processor time of the command and its workers; what runs
            in the sandbox is not counted here.
        peak: the most memory of all its processes together, in MB.
    """

    name: str
    seconds: float
    processor: float
    peak: float


def main() -> int:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=5000)
    parser.add_argument("--jobs", type=int, default=2 * processors())
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="leave the course here"
    )
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        course = options.keep or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="scale-"))
        )
        print(f"{options.students} submissions to {CHAPTER}\n{environment()}")
        print(f"load when it began: {_load()}; {options.jobs} jobs\n", flush=True)
        fill(course, options.students)
        print(f"{'':28}{'seconds':>9}{'ms each':>9}{'cpu ms each':>12}{'peak MB':>9}")
        for name, words in commands(course, options.jobs):
            told = timed(name, words)
            each, cpu = 1000 * told.seconds, 1000 * told.processor
            print(
                f"{told.name:28}{told.seconds:9.1f}{each / options.students:9.1f}"
                f"{cpu / options.students:12.1f}{told.peak:9.0f}",
                flush=True,
            )
        print("\ncpu: of the command and its workers, without the sandbox")
        print(f"load when it ended: {_load()}")
        print(f"without an outcome, or refused: {lost(course, options.students)}\n")
        print(f"{'on the disk':28}{'files':>9}{'MB':>9}{'KB each':>12}")
        for name in ("submitted", "autograded", "reports", "gradebook.db"):
            files, size = on_disk(course / name)
            each = size / 1024 / options.students
            print(f"{name:28}{files:9}{size / 2**20:9.1f}{each:12.1f}")
    return 0


def fill(course: Path, students: int) -> None:
    """A course in which so many students handed in the chapter."""
    with contextlib.redirect_stdout(io.StringIO()):
        make_course(course, [CHAPTER])
    master = nbformat.read(course / "release" / CHAPTER / f"{CHAPTER}.ipynb", 4)
    different = make_class(CHAPTER, master, min(DIFFERENT, students))
    notebooks = [json.dumps(data) for data in different.values()]
    for number in range(students):
        data = json.loads(notebooks[number % len(notebooks)])
        hand_in(course, CHAPTER, {f"student{number:05}": data})


def commands(course: Path, jobs: int) -> list[tuple[str, list[str]]]:
    """What is measured: a name, and the words of the command."""
    at = ["--course", str(course)]
    grade = ["grade", CHAPTER, *at, "--jobs", str(jobs)]
    return [
        ("grade", grade),
        ("grade, nothing new", grade),
        ("report and exports", ["report", CHAPTER, *at]),
    ]


def timed(name: str, words: list[str]) -> Step:
    """Run one command of the grader and see what it takes."""
    before = _processor()
    with measured(LOOK) as result:
        command = [sys.executable, "-m", "autograder", *words]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{name} failed: {done.stderr[-2000:]}")
    return Step(name, result["seconds"], _processor() - before, result["peak"])


def on_disk(path: Path) -> tuple[int, int]:
    """How many files there are, and the bytes that they hold."""
    files = [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]
    return len(files), sum(file.stat().st_size for file in files)


def lost(course: Path, students: int) -> int:
    """How many have no report, or one that says that nothing could be examined."""
    reports = [json.loads(p.read_bytes()) for p in course.glob(f"reports/{CHAPTER}/*")]
    return students - sum(not report["refused"] for report in reports)


def _processor() -> float:
    """Seconds of processor time of processes that were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


if __name__ == "__main__":
    sys.exit(main())
