"""Attacks on the grader through what a kernel sends: what is read stays small.

Each attacker's softmax is wrong and sends what it should not. The grader's own memory
is measured while it reads.
"""

from __future__ import annotations

import pytest

from classroom.forgeries import FORGER, SENDER
from tests.autograder.attacks.conftest import Cost, about
from tests.autograder.conftest import scores

MB = 2**20

# Sends the four parts of a message as they are, signed with the session's key, to
# whoever listens for outputs and to who waits for the reply.
RAW = (
    FORGER
    + """
import re
own = kernel.get_parent()
head = {"msg_id": "x", "msg_type": "stream", "version": "5.3"}
text = {"name": "stdout", "text": "x"}
def raw(header=head, parent=own["header"], metadata={}, content=text, times=1):
    parts = [p if isinstance(p, bytes) else session.pack(p)
             for p in (header, parent, metadata, content)]
    for n in range(times):
        signed = [session.sign(parts), *parts]
        kernel.iopub_socket.send_multipart([b"x", b"<IDS|MSG>", *signed])
bomb = b'{"a": [' + b"[]," * 2_500_000 + b"[]]}"
date = "2026-01-01T00:00:00.123456+00:00"
"""
)

ASKED = """
import inspect
def number_of_the_question():
    frame = inspect.currentframe()
    while 'question' not in frame.f_locals: frame = frame.f_back
    return frame.f_locals['question']
"""


def in_a_call(code):
    """Code that runs while softmax is asked."""
    lines = "".join(f"    {line}\n" for line in code.splitlines())
    return f"def softmax(scores):\n{lines}    return scores * 0\n"


MESSAGES = {
    "a bomb in the content": "raw(content=bomb, times=3)",
    "dates in many headers": (
        "raw(header={**head, 'a': [date] * 90}, times=500)\n"
        "raw(header={**head, 'msg_id': date, 'msg_type': date}, times=500)"
    ),
    "a message larger than any": "raw(content=b'x' * 9_000_000)",
    "many messages of empty parts": (
        "for n in range(90_000): kernel.iopub_socket.send_multipart([b''] * 7)"
    ),
}

ANSWERS = {
    "a length that lies, and too much to come": (
        "write(respond.HEADER.pack(question, 2**32 - 1) + b'V')"
    ),
    "a million small frames": "write(respond.HEADER.pack(question, 0) * 999_999)",
    "answers of eight megabytes": (
        "for n in range(20): send(question, b'Va\\x0b\\x01' + bytes(8 * 2**20 - 9))"
    ),
    "lists in lists": (
        "for n in range(20): send(question, b'V' + b'l\\1\\0\\0\\0' * 10**6)"
    ),
    "one byte a second": (
        "import time\n"
        "write(respond.HEADER.pack(question, 9))\n"
        "for n in range(60): write(b'V'); time.sleep(1)"
    ),
}

EXPLAINED = (
    *("differ", "malformed", "expected", "no answer was received", "ended the kernel"),
    *("parts", "nested"),
)
ATTACKS = {n: RAW + in_a_call(c) for n, c in MESSAGES.items()}
ATTACKS |= {
    name: SENDER + ASKED + in_a_call(f"question = number_of_the_question()\n{code}")
    for name, code in ANSWERS.items()
}


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
