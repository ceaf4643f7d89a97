"""Where the processor time of a submission goes: kernel, worker, or writer.

Two classes are graded, and what the larger one took more is divided by the number of
submissions that it has more, so that what each run takes once does not count. Run with
``python -m benchmarks.processor``; ``make bench`` keeps what it prints.
"""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from benchmarks.environment import ROOT, environment
from benchmarks.grading import CHAPTER, bare_forks, give_keys, prepare

SANDBOX = "sandbox: kernels and wardens"
WORKERS = "workers: read, ask, judge, explain"
WRITER = "writer: gradebook and reports"
SIZES = (10, 110)
JOBS = 4
LOOK = 0.01  # seconds between two looks at the processes


def main() -> int:
    """Measure and print the table."""
    print(environment(), flush=True)
    ours, fork = each_more(of_grading), each_more(of_bare_forks)
    total = sum(ours.values())
    print(f"\n{'each submission more':44}{'processor ms':>14}{'share':>8}")
    for part, seconds in ours.items():
        print(f"{part:44}{1000 * seconds:14.0f}{seconds / total:8.0%}")
    print(f"{'bare fork':44}{1000 * sum(fork.values()):14.0f}")
    return 0


def each_more(measure: Callable[[Path], dict[str, float]]) -> dict[str, float]:
    """Processor seconds of each part that one more submission takes."""
    few, many = (of_class(size, measure) for size in SIZES)
    return {part: (many[part] - few[part]) / (SIZES[1] - SIZES[0]) for part in many}


def of_class(
    size: int, measure: Callable[[Path], dict[str, float]]
) -> dict[str, float]:
    """Processor seconds of each part, for a class of this size."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        course = Path(folder) / "course"
        prepare(course, size, demonstrations=False)
        give_keys(course)
        return measure(course)


def of_grading(
    course: Path, chapter: str = CHAPTER, grader: Path = ROOT
) -> dict[str, float]:
    """Processor seconds of ``autograder grade``, by the kind of its processes.

    Each counts with what it had used when it was last looked at, so a kernel with up to
    ``LOOK`` seconds too little.

    Args:
        course: what is graded; it is written to.
        chapter: which submissions.
        grader: the folder that holds the packages of the grader.
    """
    writer = psutil.Popen(
        [sys.executable, "-m", "autograder", "grade", chapter]
        + ["--course", str(course), "--jobs", str(JOBS)],
        env=os.environ | {"PYTHONPATH": str(grader)},
        cwd=grader,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    kinds: dict[int, str] = {}
    taken: dict[int, float] = {}
    while writer.poll() is None:
        for process in [writer, *writer.children(recursive=True)]:
            with contextlib.suppress(psutil.Error):
                if process.pid not in kinds:
                    kinds[process.pid] = _kind(process, writer)
                times = process.cpu_times()
                taken[process.pid] = times.user + times.system
        time.sleep(LOOK)
    if writer.returncode:
        raise RuntimeError(f"grade ended with status {writer.returncode}")
    parts = dict.fromkeys((SANDBOX, WORKERS, WRITER), 0.0)
    for pid, seconds in taken.items():
        parts[kinds[pid]] += seconds
    return parts


def _kind(process: psutil.Process, writer: psutil.Process) -> str:
    if process.pid == writer.pid:
        return WRITER
    return WORKERS if "multiprocessing" in " ".join(process.cmdline()) else SANDBOX


def of_bare_forks(course: Path) -> dict[str, float]:
    """Processor seconds of the same cells and cases with nothing around them."""
    before = _of_descendants()
    bare_forks(course, JOBS)
    return {"fork": _of_descendants() - before}


def _of_descendants() -> float:
    """Processor seconds of all descendants that have ended and were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
