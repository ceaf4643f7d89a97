"""Text that takes too long to read costs its own submission, and stops nothing."""

from __future__ import annotations

import contextlib
import signal
import threading

import nbformat
import pytest

from autograder import installed
from autograder.errors import GraderFault, SubmissionFault
from autograder.grading import examine as examination
from autograder.grading import worker
from autograder.grading.worker import Job, examine_submission
from autograder.sandbox.limits import Limits
from autograder.submissions.absent import Absent
from autograder.submissions.reading_limit import reading_limit
from autograder.submissions.submitted import Submission

SECONDS = 0.5


def spin(*_):
    while True:
        pass


@pytest.fixture
def soon(monkeypatch):
    """The limit of a grader with little patience."""
    monkeypatch.setattr(examination, "reading_limit", lambda: reading_limit(SECONDS))


def test_processor_time_ends_the_work():
    before = signal.getsignal(signal.SIGPROF)
    with (
        pytest.raises(SubmissionFault, match=f"more than {SECONDS:g} s"),
        reading_limit(SECONDS),
    ):
        spin()
    assert signal.getsignal(signal.SIGPROF) == before
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_error_that_follows_from_the_interruption_counts_as_the_limit():
    """As ``compile`` raises SystemError when a signal interrupts it at a bad moment."""
    with pytest.raises(SubmissionFault, match="takes more than"), reading_limit(0.05):
        try:
            while True:
                pass
        except BaseException:
            raise SystemError("AST constructor recursion depth mismatch") from None
    with pytest.raises(SystemError), reading_limit(5):
        raise SystemError("of its own")


def test_waiting_is_no_work():
    with reading_limit(SECONDS):
        threading.Event().wait(3 * SECONDS)


def test_other_threads_do_without_a_limit():
    found = []

    def work():
        with reading_limit(SECONDS):
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


def test_what_is_nested_too_deeply_is_refused(master, solved, topic, monkeypatch):
    def follow(*_):
        raise RecursionError

    monkeypatch.setattr(worker, "other_chapter", follow)
    written = nbformat.writes(nbformat.from_dict(solved())).encode()
    job = Job(topic.name, nbformat.writes(master), b"secret", Limits())
    report, _ = examine_submission(job, Submission("ada", written))
    assert report["refused"] == "its source is nested too deeply to be read"
    with pytest.raises(SubmissionFault), reading_limit():
        follow()


@pytest.mark.parametrize("step", ["parse_notebook", "written_in", "other_chapter"])
def test_a_reader_without_memory_blames_nobody(
    master, solved, topic, monkeypatch, step
):
    def short(*_):
        raise MemoryError

    monkeypatch.setattr(worker, step, short)
    written = nbformat.writes(nbformat.from_dict(solved())).encode()
    job = Job(topic.name, nbformat.writes(master), b"secret", Limits())
    with pytest.raises(GraderFault, match="MemoryError"):  # it is examined again
        examine_submission(job, Submission("ada", written))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_nobody_swallows_the_limit():
    class Careless:
        def __del__(self):
            spin()  # Python drops what is raised here, and goes on

    def expects_anything():
        with contextlib.suppress(Exception):
            spin()
        return "read"

    with pytest.raises(SubmissionFault, match="more than"), reading_limit(SECONDS):
        expects_anything()
    with pytest.raises(SubmissionFault, match="more than"), reading_limit(SECONDS):
        Careless()
        spin()
    with pytest.raises(SubmissionFault, match="more than"), reading_limit(SECONDS):
        Careless()  # the time was up in it, and nothing comes after
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_a_search_for_a_module_does_not_swallow_the_limit(monkeypatch):
    monkeypatch.setattr(installed.PathFinder, "find_spec", spin)
    installed.is_here.cache_clear()
    with pytest.raises(SubmissionFault, match="more than"), reading_limit(SECONDS):
        Absent().left_out_of("import nothing_of_this_name")


@pytest.mark.parametrize("error", [MemoryError(), OSError(24, "Too many open files")])
def test_a_module_is_not_taken_for_installed_because_nobody_could_look(
    monkeypatch, error
):
    def fails(*_):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(installed.PathFinder, "find_spec", fails)
        installed.is_here.cache_clear()
        with pytest.raises(type(error)):
            Absent().left_out_of("import nothing_of_this_name")
    assert "import" not in Absent().left_out_of("import nothing_of_this_name")
    long = "a" * 5000  # no file can be called so
    assert "import" not in Absent().left_out_of(f"import {long}")


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
