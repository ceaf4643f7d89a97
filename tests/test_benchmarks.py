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
        "from autograder import known_pairs, slips; "
        "from autograder.steps import altered; "
        "print(slips.__file__, slips.WORK, known_pairs.WORK, altered.MOST)"
    )
    said = subprocess.run(
        [sys.executable, "-c", limits], cwd=copy, capture_output=True, text=True
    )
    assert said.stdout.split() == [str(copy / "autograder/slips.py"), *"000"]


WORST = """
from benchmarks.mutants import Mutant, worst

def told(kind, name, said):
    return kind, name, Mutant(1, "a -> b", None), said

line = told("symptom", "f", ": IndexError: An axis does not exist.")
rare = told("symptom", "f", ": Every value is the right one times 3.")
often = [told("symptom", n, f": In {n} of the cases, too small.") for n in "1234"]
nothing = told("nothing", "g", "3 of 3 values differ")
named = told("mistake", "f", "scale_missing: You left out the root.")
mutants = [line, rare, *often, nothing, named, nothing]
assert worst(mutants, 9) == [nothing, often[0], rare]
assert worst(mutants, 1) == [nothing]
"""


def test_worst_messages_are_none_at_all_and_then_those_that_serve_many():
    root = Path(__file__).parents[1]
    subprocess.run([sys.executable, "-c", WORST], cwd=root, check=True)
