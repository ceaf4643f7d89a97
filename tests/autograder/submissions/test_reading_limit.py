"""A page that takes too long to make costs its own submission, and stops nothing."""

from __future__ import annotations

import contextlib
import signal

import pytest

from autograder.errors import SubmissionFault
from autograder.submissions.reading_limit import reading_limit


def spin():
    while True:
        pass


def expects_anything():
    with contextlib.suppress(Exception):
        spin()


class Careless:
    def __del__(self):
        spin()  # Python drops what is raised here, and goes on


def leaves_something_careless():
    Careless()
    spin()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("work", [spin, expects_anything, leaves_something_careless])
def test_processor_time_ends_the_work(work):
    before = signal.getsignal(signal.SIGPROF)
    with (
        pytest.raises(SubmissionFault, match=r"more than 0\.3 s"),
        reading_limit(0.3),
    ):
        work()
    assert signal.getsignal(signal.SIGPROF) == before
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
