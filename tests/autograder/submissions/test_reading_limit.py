"""Text that takes too long to read costs its own submission, and stops nothing."""

from __future__ import annotations

import contextlib
import signal
import threading

import pytest

from autograder.errors import SubmissionFault
from autograder.submissions.reading_limit import reading_limit

SECONDS = 0.5


def spin(*_):
    while True:
        pass


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


def test_what_is_nested_too_deeply_is_refused():
    with pytest.raises(SubmissionFault, match="too deeply"), reading_limit():
        raise RecursionError
