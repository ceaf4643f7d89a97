"""What a worker process does: examine one submission after the other.

A process of its own, so it imports nothing of the gradebook.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import hashlib
import json
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import nbformat

from autograder.examine import (
    draw_seeds,
    examine,
    expected_answers,
    refused_examination,
)
from autograder.exercise import Topic, load_topic
from autograder.limits import Limits
from autograder.rebuild import Unusable, parse_submission
from autograder.release import points_in
from autograder.sandbox import use_sandbox
from autograder.submissions import Submission

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Job:
    """What a worker needs to know to examine any submission of a chapter."""

    chapter: str
    master: str
    secret: bytes
    limits: Limits

    @property
    def fingerprint(self) -> str:
        """Changes when the released notebook or the limits change."""
        return hashlib.sha256(f"{self.master}{self.limits}".encode()).hexdigest()


_shared: Path | None = None  # what one worker of a run worked out for all


def start_worker(sandbox: str, shared: str) -> None:
    """Leave interrupts to the writer, end when it ends, and enter its sandbox.

    Args:
        sandbox: address of the writer's sandbox.
        shared: a folder for all workers of the writer, empty at first.
    """
    global _shared
    _shared = Path(shared)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(ctypes.CDLL(None), "prctl"):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # That was about the server that forked this process; now about the writer.
    threading.Thread(target=_end_with_writer, daemon=True).start()
    use_sandbox(sandbox)
    import torch  # the writer, which names this module, does without

    torch.set_num_threads(1)  # the other processors have submissions of their own


def _end_with_writer() -> None:
    if (writer := multiprocessing.parent_process()) is not None:
        writer.join()
        os._exit(1)


def examine_submission(job: Job, submission: Submission) -> tuple[dict, str]:
    """Examine one submission in a worker.

    Returns:
        The report, and the JSON text of the executed notebook.
    """
    if submission.unusable:
        return refuse_submission(job, submission.unusable)
    try:
        data = parse_submission(submission.content)
    except Unusable as error:
        return refuse_submission(job, str(error))
    master, topic = _master(job.master), _topic(job)
    done = examine(master, data, topic, _expected(job), job.limits)
    return done.report, json.dumps(done.notebook)


def refuse_submission(job: Job, reason: str) -> tuple[dict, str]:
    """A report of zero points with the reason, and the notebook as it was released."""
    done = refused_examination(_master(job.master), _topic(job), reason)
    return done.report, json.dumps(done.notebook)


@lru_cache(maxsize=4)
def _master(text: str) -> nbformat.NotebookNode:
    return nbformat.reads(text, as_version=4)


@lru_cache(maxsize=4)
def _topic(job: Job) -> Topic:
    """The exercises of the chapter, without those that an instructor took out."""
    topic, released = load_topic(job.chapter), points_in(_master(job.master))
    kept = {n: e for n, e in topic.exercises.items() if n in released}
    return replace(topic, exercises=kept)


@lru_cache(maxsize=4)
def _expected(job: Job) -> dict[str, Any]:
    topic = _topic(job)
    run = hashlib.sha256(job.secret).hexdigest()
    seeds = draw_seeds(topic, job.secret)
    return expected_answers(
        topic, seeds, lambda name, work_out: _share(f"{run}.{name}", work_out)
    )


def _share(name: str, work_out: Callable[[], Any]) -> Any:
    """What ``work_out`` returns, here or in the worker that was first."""
    if _shared is None:
        return work_out()
    path, written = _shared / name, _shared / f"{name}.new"
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # each can do it for itself
            lock = stack.enter_context((_shared / f"{name}.lock").open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX)
            if path.exists():
                return pickle.loads(path.read_bytes())
        result = work_out()
        with contextlib.suppress(OSError):
            written.write_bytes(pickle.dumps(result))
            written.replace(path)
        return result
