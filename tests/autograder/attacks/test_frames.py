"""Attacks on the grader through what a kernel sends: what is read stays small.

Each attacker's softmax is wrong and sends what it should not. The grader's own memory
is measured while it reads.
"""

from __future__ import annotations

import pytest

from classroom.forgeries import SENDER
from tests.autograder.attacks.conftest import Cost, about
from tests.autograder.conftest import scores


def in_a_call(code):
    """Code that runs while softmax is asked."""
    lines = "".join(f"    {line}\n" for line in code.splitlines())
    return f"{SENDER}def softmax(scores):\n{lines}    return scores * 0\n"


HEADER = "frames.HEADER.pack(kernel.wire.number, {}, {})"
CALLS = {
    "a length that lies, and too much to come": (
        f"write({HEADER.format(b'a', '2**32 - 1')})"
    ),
    "a million small frames": f"write({HEADER.format(b'a', 0)} * 999_999)",
    "a million frames of a request that nobody made": (
        "write(frames.HEADER.pack(7, b'a', 0) * 999_999)"
    ),
    "answers of eight megabytes": (
        "for n in range(20): send(b'a', b'Va\\x0b\\x01' + bytes(8 * 2**20 - 9))"
    ),
    "outputs of eight megabytes": (
        "for n in range(20):\n"
        "    for kind in (b'o', b'x', b'd'): send(kind, bytes(8 * 2**20 - 9))"
    ),
    "lists in lists": (
        "for n in range(20): send(b'a', b'V' + b'l\\1\\0\\0\\0' * 10**6)"
    ),
    "one byte a second": (
        "import time\n"
        f"write({HEADER.format(b'a', 9)})\n"
        "for n in range(60): write(b'V'); time.sleep(1)"
    ),
    "nothing, from a connection that is shut": (
        "kernel.wire._socket.shutdown(2)\nwhile True: pass"
    ),
}

EXPLAINED = (
    *("differ", "malformed", "expected", "no answer was received", "ended the kernel"),
    *("parts", "nested"),
)
ATTACKS = {name: in_a_call(code) for name, code in CALLS.items()}


@pytest.fixture(scope="module")
def honest(examination, attacking):
    """What the same notebook earns without an attack."""
    return examination(attacking()).report


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_is_sent_costs_the_grader_little_and_earns_nothing(
    examination, attacking, honest, attack
):
    limit = 2 if attack == "one byte a second" else 6  # that one takes all of it
    with Cost() as cost:
        report = examination(attacking(ATTACKS[attack]), cell_seconds=limit).report
    said = about(report)
    assert any(words in said for words in EXPLAINED), said
    assert scores(report)["softmax"] == 0
    assert report["score"] <= honest["score"], said  # it may cost the attacker more
    # A few messages of 8 MB at a time, or all answers to one question.
    assert cost.megabytes < 100, said
