"""A benchmark that is seldom run can be run."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_grader_without_a_search_can_be_made(tmp_path):
    """What ends the search is found where the benchmark looks for it."""
    make = (
        "import sys; from pathlib import Path; from benchmarks import wrong_class; "
        "wrong_class.copy_without_search(Path(sys.argv[1]))"
    )
    copy = tmp_path / "blind"
    subprocess.run([sys.executable, "-c", make, copy], cwd=ROOT, check=True)
    limits = (
        "from autograder.explain import search; print(search.__file__, search.MOST)"
    )
    said = subprocess.run(
        [sys.executable, "-c", limits], cwd=copy, capture_output=True, text=True
    )
    assert said.stdout.split() == [str(copy / "autograder/explain/search.py"), "0"]
