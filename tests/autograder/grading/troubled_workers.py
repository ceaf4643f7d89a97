"""Workers to which something happens. They import this, and with it no more tests."""

from __future__ import annotations

import os
import signal
import time
from multiprocessing.connection import Connection

from autograder.grading import worker


def killed_at(odd, job, submission, workplace):
    """Examine, in a worker that is killed when it comes to one student."""
    if submission.student == odd:
        os.kill(os.getpid(), signal.SIGKILL)
    return worker.examine_submission(job, submission, workplace)


def long_text_of_which_half_is_sent(started):
    """A long text, from a worker that never comes to the end of it."""

    def half(connection, data, write=os.write):
        if len(data) > 1000:  # no header
            write(connection.fileno(), data[: len(data) // 2])
            started.touch()
            time.sleep(10**6)
        else:
            write(connection.fileno(), data)

    Connection._send = half
    return "x" * 10**7
