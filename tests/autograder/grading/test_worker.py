"""What the process that writes marks does without."""

from __future__ import annotations

import subprocess
import sys


def test_the_process_that_writes_marks_does_not_wait_for_torch():
    code = "import sys, autograder.grading.grade; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
