"""Attacks 18 to 28: using up what belongs to everybody.

Each attacker's softmax is wrong and holds the attack; the limits are small.
"""

from __future__ import annotations

from contextlib import suppress

import psutil
import pytest

from autograder.grading.client import SubmissionClient
from autograder.grading.grade import grade
from autograder.sandbox.connection import ForkServers
from autograder.sandbox.limits import Limits
from classroom.forgeries import WRONG
from classroom.submissions import submission
from tests.autograder.attacks.conftest import about, left_behind, processes
from tests.autograder.conftest import scores
from tests.autograder.sandbox.test_kernels import run

MB = 2**20
LIMITS = Limits(
    memory=400 * MB,
    disk=20 * MB,
    files=200,
    file_size=10 * MB,
    threads=40,
    open_files=128,
    cell_seconds=2,
    submission_seconds=20,
    output_bytes=MB,
    message_bytes=8 * MB,
)

# Writes to every open connection; one of them leads to the grader.
RAW = """
import os, socket
def connections():
    found = []
    for name in os.listdir('/proc/self/fd'):
        try:
            one = socket.socket(fileno=os.dup(int(name)))
        except OSError:
            continue
        try:
            one.getpeername()
            found.append(one)
        except OSError:
            pass
    return found
"""

ATTACKS = {
    "18 a fork bomb": (
        "import os\nwhile True: os.fork()\n",
        ("a submission is one process",),
    ),
    "19 an infinite loop": ("while True: pass\n", ("time limit of 2 s",)),
    "20 a loop that catches everything": (
        "import signal\n"
        "for s in range(1, 65):\n"
        "    try: signal.signal(s, signal.SIG_IGN)\n"
        "    except (OSError, ValueError): pass\n"
        "while True:\n"
        "    try:\n"
        "        while True: pass\n"
        "    except BaseException: pass\n",
        ("time limit of 2 s",),
    ),
    "21 a sleep for ever": ("import time\ntime.sleep(1e9)\n", ("time limit of 2 s",)),
    "22 a huge tensor, in a call": (
        "import torch\ndef softmax(scores): return torch.ones(10**10)\n",
        ("calling softmax stopped, perhaps at the memory limit of 400 MB",),
    ),
    "22 memory behind read-only pages": (
        "import ctypes\n"
        "libc = ctypes.CDLL(None)\n"
        "libc.mmap.restype = ctypes.c_void_p\n"
        "libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 4]\n"
        "libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]\n"
        "for n in range(999):\n"
        "    start = libc.mmap(None, 2**24, 3, 0x22, -1, 0)\n"
        "    if start == 2**64 - 1: raise MemoryError(n)\n"
        "    ctypes.memset(start, 1, 2**24); libc.mprotect(start, 2**24, 1)\n",
        ("memory limit of 400 MB",),
    ),
    "23 a full disk": (
        "for n in range(99): open(f'/tmp/{n}', 'wb').write(bytes(2**20))\n",
        ("limit of 20 MB and 200 files in a folder",),
    ),
    "23 one sparse file": (
        "f = open('/tmp/x', 'wb'); f.truncate(10**12)\n",
        ("limit of 10 MB in a file",),
    ),
    "24 endless output": (
        "while True: print('x' * 9999)\n",
        (
            *("output limit of 1 MB", "limit of 8 MB on all it sends"),
            "limit of 8 MB in one message",
            *("memory limit", "ended by signal"),  # whatever it runs out of first
        ),
    ),
    "25 a flood of pictures": (
        "from IPython.display import display\n"
        "while True: display({'image/png': 'x' * 9999, 'text/html': 'x'}, raw=True)\n",
        ("output limit of 1 MB", "limit of 8 MB on all it sends"),
    ),
    "26 all file descriptors": (
        "import os\nx = [os.open('/dev/null', 0) for _ in range(9999)]\n",
        ("limit of 128 open files",),
    ),
    "26 all threads": (
        "import threading, time\n"
        "for _ in range(999):\n"
        "    threading.Thread(target=time.sleep, args=(99,)).start()\n",
        ("limit of 40 threads",),
    ),
    "28 busy threads in torch": (
        "import torch, threading\n"
        "torch.set_num_threads(8)\n"
        "x = torch.randn(800, 800)\n"
        "def work():\n"
        "    while True: x @ x\n"
        "for _ in range(8): threading.Thread(target=work, daemon=True).start()\n"
        "def softmax(scores): return work()\n",
        ("time limit of 2 s",),
    ),
    "a computation that never looks up": (
        "x = 10 ** 10 ** 9\n",
        ("time limit of 2 s", "memory limit of 400 MB"),
    ),
    "an endless recursion": (
        "import sys\nsys.setrecursionlimit(10**9)\ndef f(): return f()\nf()\n",
        ("ended the kernel", "memory limit of 400 MB", "RecursionError"),
    ),
    "frames without end": (
        RAW
        + (
            "import threading\n"
            "part = bytes(8) + b'o' + (2**20).to_bytes(4, 'little') + bytes(2**20)\n"
            "def send(connection):\n"
            "    connection.setblocking(True)\n"
            "    while True: connection.sendall(part)\n"
            "for one in connections():\n"
            "    threading.Thread(target=send, args=(one,)).start()\n"
            "while True: pass\n"
        ),
        ("limit of 8 MB in one message", "limit of 8 MB on all it sends"),
    ),
    "noise on every connection": (
        RAW
        + (
            "for _ in range(200):\n"
            "    for found in connections():\n"
            "        try: found.sendall(os.urandom(9999)); found.shutdown(2)\n"
            "        except OSError: pass\n"
            "        found.close()\n" + WRONG
        ),
        ("time limit of 2 s", "ended the kernel", "differ", "limit of"),
    ),
}


@pytest.fixture(scope="module")
def graded(grade_class, attacking, asked, master, right):
    before = processes()
    students = {"neighbour a": submission(master, right), "honest": attacking()}
    students |= {n: attacking(code) for n, (code, _) in asked(ATTACKS).items()}
    students["neighbour z"] = submission(master, right)
    # Workers of its own, which end: those that stay keep fork servers.
    graded = grade_class(students, LIMITS, by=grade)
    assert not left_behind(before), "something of a submission still runs"
    return graded


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_glutton_loses_its_own_exercise_alone_and_the_limit_is_named(graded, attack):
    report = graded.reports[attack]
    said = about(report)
    limits = (*ATTACKS[attack][1], "time limit of 2 s")  # on a busy machine
    assert any(words in said for words in limits), said
    assert scores(report)["softmax"] == 0
    assert report["score"] == graded.reports["honest"]["score"]


def test_the_neighbours_of_gluttons_have_all_their_points(graded, everything):
    assert graded.marks["neighbour a"] == everything == graded.marks["neighbour z"]


def test_answers_are_limited_by_themselves(examination, attacking):
    large = "import numpy as np\ndef softmax(scores): return np.zeros(50_000)\n"
    data = attacking(large)
    assert "shape" in about(examination(data).report)
    report = examination(data, answer_bytes=MB).report
    assert "calling softmax ended the kernel: answer limit of 1 MB" in about(report)
    assert scores(report)["attend"] > 0


def test_a_hundred_answers_that_end_kernels_end_a_few(
    examination, attacking, topic, monkeypatch
):
    ended = []
    start = SubmissionClient.start

    def counting(client):
        ended.append(client)
        start(client)

    monkeypatch.setattr(SubmissionClient, "start", counting)
    killing = [f"import os; os._exit({n})\ndef softmax(_): pass" for n in range(100)]
    report = examination(attacking(cells=killing)).report
    assert len(ended) == 4 + 2 * len(topic.exercises)
    assert "not examined" in about(report, "softmax")


# What no exercise is needed for.


def test_the_processor_time_of_all_threads_together_is_limited(needs_sandbox):
    code = (
        "import threading, time\n"
        "def work():\n"
        "    while True: pass\n"
        "for _ in range(3): threading.Thread(target=work).start()\n"
        "time.sleep(60)"
    )
    _, ended = run(code, cpu_seconds=1, cell_seconds=30)
    assert ended == "processor time limit of 1 s"


def test_who_dies_of_too_little_memory_is_told_so(needs_sandbox):
    """Not every library notices that it got none."""
    fill = "x = [bytearray(9999) for _ in range(14_000)]"
    _, ended = run(f"import os\n{fill}\nos.abort()", memory=150 * MB)
    assert ended is not None
    assert "ended by signal" in ended
    assert ended.endswith("perhaps at the memory limit of 150 MB")


@pytest.mark.parametrize("size, told", [(120, ""), (165, "MemoryError: ")])
def test_memory_counts_from_where_the_libraries_end(needs_sandbox, size, told):
    (text, alive), ended = run(f"x = b'x' * {size * MB}", "7", memory=150 * MB)
    assert (text, alive, ended) == (told, "7", None)


def test_a_sandbox_that_dies_is_replaced(needs_sandbox):
    here = psutil.Process()
    before = here.children()
    with ForkServers() as servers:
        assert run("print(1)", servers=servers) == (["1\n"], None)
        (sandbox,) = set(here.children()) - set(before)
        dying = [sandbox, *sandbox.children(recursive=True)]
        for process in dying:
            with suppress(psutil.NoSuchProcess):  # the first takes the others with it
                process.kill()
        assert psutil.wait_procs(dying, timeout=300)[1] == []
        assert run("print(2)", servers=servers) == (["2\n"], None)


# Sources that are meant to break the grader itself, before anything is run.

BOMBS = {
    "brackets": "x = " + "(" * 90_000,
    "attributes": "x = a" + ".a" * 45_000,
    "lambdas": "x = " + "lambda: " * 10_000 + "1",
    "formats": 'x = f"' + "{f'" * 30_000,
    "magics": "%time " * 15_000,
    "tabs": "".join(" " * n + "if 1:\n" for n in range(99)) + " " * 99 + "pass",
    "bytes": "\x00" * 99_000,
    "far too long": "x = 1 # " + "x" * 3_000_000,
}


def test_a_source_that_no_parser_survives_costs_no_other_answer(examination, attacking):
    """Python's own parser may end the process at some."""
    data = attacking(cells=BOMBS.values())
    found = scores(examination(data, cell_seconds=20).report)
    honest = scores(examination(attacking()).report)
    assert found == honest
