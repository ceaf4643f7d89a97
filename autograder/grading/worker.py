"""What a worker process does: examine one submission after the other.

It is a separate process and has no use for the gradebook, so nothing of it is imported.
"""

from __future__ import annotations

import gc
import hashlib
import json
import signal
import tempfile
import threading
from dataclasses import dataclass, replace
from functools import lru_cache

import nbformat

from autograder.errors import GraderFault
from autograder.exercise import Topic, load_topic
from autograder.expected import Expected, expect_all
from autograder.files import Unusable
from autograder.grading.examine import Examination, examine, refused_examination
from autograder.grading.kept import with_notes
from autograder.interrupts import end_with_parent
from autograder.notebooks import parse_notebook, points_in
from autograder.sandbox.connection import fork_servers
from autograder.sandbox.limits import Limits
from autograder.submissions.cells import as_handed_in
from autograder.submissions.chapters import chapter_in
from autograder.submissions.submitted import Submission


@dataclass(frozen=True)
class Job:
    """What a worker needs to know to examine any submission of a chapter."""

    chapter: str
    master: str
    limits: Limits

    @property
    def fingerprint(self) -> str:
        """Changes when the released notebook or the limits change."""
        return hashlib.sha256(f"{self.master}{self.limits}".encode()).hexdigest()


@dataclass(frozen=True)
class Workplace:
    """What the workers of one run share.

    Attributes:
        sandbox: address of the writer's sandbox; each has its own if None.
        alone: whether no other submission is examined meanwhile.
    """

    sandbox: str | None = None
    alone: bool = False


def start_worker(folder: str) -> None:
    """Leave interrupts to the writer, end when it ends, and use one processor.

    Args:
        folder: for temporary files; the writer removes it even if it kills the worker.
    """
    tempfile.tempdir = folder
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()
    import torch  # not above: the writer imports this module as well

    torch.set_num_threads(1)  # the other processors have submissions of their own
    gc.freeze()  # what is loaded is not garbage, and need not be looked through


def examine_submission(
    job: Job, submission: Submission, workplace: Workplace = Workplace()
) -> tuple[dict, str]:
    """Examine one submission in a worker.

    Args:
        job: what is known of its chapter.
        submission: what was handed in.
        workplace: what the workers of the run share.

    Returns:
        The report, and the JSON text of the executed notebook.

    Raises:
        GraderFault: it could not be examined, and is not provably to blame.
    """
    try:
        done = _examined(job, submission, workplace)
        notes = [*done.report["notes"], *filter(None, [submission.note])]
        return done.report, json.dumps(with_notes(done.notebook, notes))
    except GraderFault:
        raise
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    # Not below the error: dask sends what is, and not every error can be sent.
    raise GraderFault(said)


def _examined(job: Job, submission: Submission, workplace: Workplace) -> Examination:
    master, topic = _master(job.master), _topic(job)
    try:
        if submission.unusable:
            raise Unusable(submission.unusable)
        data = parse_notebook(submission.content)
        if (other := chapter_in(data, job.chapter)) not in (job.chapter, None):
            raise Unusable(f"it is the notebook of another chapter, {other}")
    except Unusable as error:  # zero points, and the notebook as it was released
        return refused_examination(master, topic, str(error))
    handed_in = as_handed_in(master, data, topic.exercises, submission.modules)
    del data  # it may take much memory
    return examine(
        handed_in,
        topic,
        _expected(job),
        job.limits,
        servers=fork_servers(workplace.sandbox),
        alone=workplace.alone,
    )


@lru_cache(maxsize=4)
def _master(text: str) -> nbformat.NotebookNode:
    return nbformat.v4.reads(text)  # without validating our own, which is slow


@lru_cache(maxsize=4)
def _topic(job: Job) -> Topic:
    """The exercises of the chapter, without those that an instructor took out."""
    topic, released = load_topic(job.chapter), points_in(_master(job.master))
    kept = {n: e for n, e in topic.exercises.items() if n in released}
    return replace(topic, exercises=kept)


@lru_cache(maxsize=4)
def _expected(job: Job) -> dict[str, Expected]:
    return expect_all(_topic(job))
