"""The grader needs no root: the same result as an ordinary user."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from autograder.sandbox.bubblewrap import NOBODY, bind_arguments

pytestmark = pytest.mark.usefixtures("needs_sandbox")


def test_ordinary_user_can_examine_a_notebook(root, solved):
    if os.geteuid() != 0:
        pytest.skip("all tests run as an ordinary user already")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        notebook = Path(folder, "simplified_attention.ipynb")
        notebook.write_text(json.dumps(solved(attend="def attend(q, X): return q")))
        seen = ["/usr", "/lib", "/lib64", "/bin", "/etc", sys.base_prefix, str(root)]
        shown = {path: path for path in dict.fromkeys(seen) if Path(path).exists()}
        command = [
            *("bwrap", "--die-with-parent", "--perms", "1777", "--tmpfs", "/tmp"),
            *bind_arguments(shown),
            *("--dev-bind", "/dev", "/dev", "--bind", "/proc", "/proc"),
            *("--ro-bind", folder, folder),
            *("--chdir", str(root), "--setenv", "HOME", "/tmp", "--"),
            *NOBODY,
            *(sys.executable, "-m", "autograder", "check", str(notebook), "--json"),
        ]
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    report = json.loads(done.stdout)
    failed = [e["name"] for e in report["exercises"] if e["score"] < e["max_score"]]
    assert failed == ["attend"]
