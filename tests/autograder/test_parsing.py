"""Python's parser finds no memory for two reasons; only one is about the source."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from autograder import parsing
from autograder.parsing import UNREADABLE, parse

TOO_DEEP = ["-" * 100_000 + "1", "lambda:" * 10_000 + "1"]


@pytest.mark.parametrize("source", TOO_DEEP)
def test_what_is_nested_too_deeply_cannot_be_read(source):
    with pytest.raises(UNREADABLE):
        parse(source)


def test_an_f_string_of_very_many_parts_is_not_read_where_that_takes_the_square(
    monkeypatch,
):
    monkeypatch.setattr(parsing, "_MOST", 10**5)
    assert parse(f"x = f'{'{1}' * 100}'").body
    with pytest.raises(UNREADABLE, match="so many braces"):
        parse(f"x = f'{'{1}' * 300}'")


# A source that is flat, and too long for what memory this process may still have.
SHORT_OF_MEMORY = """
import resource
from autograder.errors import GraderFault, SubmissionFault
from autograder.magics import parsed

source = "x = [1, 2, 3]\\n" * 7_000
with open("/proc/self/statm") as statm:
    size = int(statm.read().split()[0]) * resource.getpagesize()
unlimited = resource.RLIM_INFINITY
resource.setrlimit(resource.RLIMIT_AS, (size + 4 * 2**20, unlimited))
try:
    parsed(source)
    said = "it was read"
except SubmissionFault as fault:
    said = f"its fault: {fault}"
except GraderFault as fault:
    said = f"our fault: {fault}"
resource.setrlimit(resource.RLIMIT_AS, (unlimited, unlimited))
print(said)
"""


@pytest.mark.skipif(
    resource.getrlimit(resource.RLIMIT_AS)[1] != resource.RLIM_INFINITY
    or sys.platform != "linux",
    reason="needs Linux, and a limit of memory that can be changed",
)
def test_a_process_without_memory_blames_nobody():
    done = subprocess.run(
        [sys.executable, "-c", SHORT_OF_MEMORY],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("our fault: this machine has too little memory")
