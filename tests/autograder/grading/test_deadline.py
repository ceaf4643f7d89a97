"""Text that takes too long to read costs its own submission, and stops nothing."""

from __future__ import annotations

import signal
import threading

import nbformat
import pytest

from autograder.errors import SubmissionFault
from autograder.grading import examine as examination
from autograder.grading import worker
from autograder.grading.deadline import deadline
from autograder.grading.submissions import Submission
from autograder.grading.worker import Job, examine_submission
from autograder.sandbox.limits import Limits

SECONDS = 0.5


def spin(*_):
    while True:
        pass


@pytest.fixture
def soon(monkeypatch):
    """The deadline of a grader with little patience."""
    monkeypatch.setattr(examination, "deadline", lambda: deadline(SECONDS))


def test_processor_time_ends_the_work():
    before = signal.getsignal(signal.SIGPROF)
    with (
        pytest.raises(SubmissionFault, match=f"more than {SECONDS:g} s"),
        deadline(SECONDS),
    ):
        spin()
    assert signal.getsignal(signal.SIGPROF) == before
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_waiting_is_no_work():
    with deadline(SECONDS):
        threading.Event().wait(3 * SECONDS)


def test_other_threads_do_without_a_deadline():
    found = []

    def work():
        with deadline(SECONDS):
            found.append("worked")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == ["worked"]


def test_notebook_that_cannot_be_read_in_time_is_refused(
    master, solved, topic, soon, monkeypatch
):
    rebuild = examination.rebuild
    slow = nbformat.writes(nbformat.from_dict(solved()))
    monkeypatch.setattr(
        examination,
        "rebuild",
        lambda master, data: (spin if data["cells"] else rebuild)(master, data),
    )
    job = Job(topic.name, nbformat.writes(master), b"secret", Limits())
    report, kept = examine_submission(job, Submission("ada", slow.encode()))
    assert report["score"] == 0
    assert report["refused"] == f"reading it takes more than {SECONDS:g} s"
    assert nbformat.reads(kept, as_version=4).cells


@pytest.mark.parametrize("error", [RecursionError, MemoryError])
def test_what_is_nested_too_deeply_is_refused(
    master, solved, topic, monkeypatch, error
):
    def follow(*_):
        raise error

    monkeypatch.setattr(worker, "other_chapter", follow)
    written = nbformat.writes(nbformat.from_dict(solved())).encode()
    job = Job(topic.name, nbformat.writes(master), b"secret", Limits())
    report, _ = examine_submission(job, Submission("ada", written))
    assert report["refused"] == "its source is nested too deeply to be read"
    with pytest.raises(SubmissionFault), deadline():
        follow()


def test_marks_stay_where_the_notebook_cannot_be_drawn_in_time(
    examined, solved, soon, monkeypatch
):
    draw, calls = examination.kept_notebook, []

    def slow_at_first(*arguments):
        calls.append(arguments)
        return (spin if len(calls) == 1 else draw)(*arguments)

    monkeypatch.setattr(examination, "kept_notebook", slow_at_first)
    report = examined(solved())
    assert report["score"] == report["max_score"]
    assert any("kept without what was written" in note for note in report["notes"])
    assert len(calls) == 2
