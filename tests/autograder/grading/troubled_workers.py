"""Workers to which something happens. They import this, and with it no more tests."""

from __future__ import annotations

import os
import signal

from autograder.grading import worker
from autograder.sandbox.bubblewrap import SandboxUnavailable


def killed_at(odd, job, submission, workplace):
    """Examine, in a worker that is killed when it comes to one student."""
    if submission.student == odd:
        os.kill(os.getpid(), signal.SIGKILL)
    return worker.examine_submission(job, submission, workplace)


def without_kernel_at(odd, tries, failures, job, submission, workplace):
    """Examine; for one student, no kernel starts so many times."""
    if submission.student == odd:
        with tries.open("a") as file:
            file.write("x")
        if tries.stat().st_size <= failures:
            raise SandboxUnavailable("no kernel started: test")
    return worker.examine_submission(job, submission, workplace)
