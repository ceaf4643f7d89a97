"""What is read of what a kernel sends, and that nothing else is its fault."""

from __future__ import annotations

import contextlib
import pickle
import socket
import threading

import pytest

from autograder.errors import GraderFault
from autograder.grading import client as module
from autograder.grading.client import MAX_FRAME, SubmissionClient
from autograder.grading.clock import Clock
from autograder.grading.worker import Job, examine_submission
from autograder.sandbox.connection import ForkServers
from autograder.sandbox.frames import (
    ANSWER,
    CLEAR,
    DISPLAY,
    DONE,
    ERROR,
    HEADER,
    STDERR,
    STDOUT,
)
from autograder.sandbox.limits import Limits
from autograder.submissions.submitted import Submission

MB = 2**20
ASKED, OTHER = 7, 8  # the number of the request, and that of another one


def frame(kind, data=b"", number=ASKED):
    return HEADER.pack(number, kind, len(data)) + data


END = frame(DONE)


@pytest.fixture
def sends(monkeypatch):
    """A client of a kernel that only sends what it is told to, and may then end."""
    monkeypatch.setattr(module.secrets, "randbits", lambda _: ASKED)
    with_kernel = []

    def kernel(data, reports=b"", **limits):
        limits = Limits(**limits)
        ours, lifeline = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

        class Servers(ForkServers):
            def launch(self, kernels, _):
                inside = kernels.dup()

                def run():
                    with inside, lifeline, contextlib.suppress(OSError):
                        inside.sendall(data)
                        if reports:
                            inside.recv(MB)  # the request
                            lifeline.send(reports)
                        else:
                            lifeline.recv(1)  # until it is closed

                with_kernel.append(threading.Thread(target=run))
                with_kernel[-1].start()
                return ours

        return SubmissionClient(limits, Clock(limits, alone=True), Servers())

    yield kernel
    for thread in with_kernel:
        thread.join()


ONE, TWO = frame(ANSWER, b"one"), frame(ANSWER, b"2")
EARLY = frame(ANSWER, b"early", OTHER) + frame(DONE, number=OTHER)


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (ONE + TWO + END + frame(ANSWER, b"after the end"), [b"one", b"2"]),
        (EARLY + ONE + END, [b"one"]),
        (ONE * 12 + END, [b"one"] * 9),  # no more than there are cases
    ],
)
def test_answers_to_what_is_asked_are_read_in_their_order(sends, sent, read):
    with sends(sent) as client:
        assert client.ask("topic", "name", [0] * 8) == (read, None)


SHOWN = {
    "stream": (frame(STDOUT, b"a") + frame(STDOUT, "ü".encode()), "aü"),
    "what is printed as an error": (frame(STDERR, b"b\0\xff"), "b\ufffd"),
    "a text": (frame(DISPLAY, b"\0a\0b"), "ab"),
    "a forged picture": (frame(DISPLAY, b"AAAA"), ""),
    "nothing any more": (frame(STDOUT, b"a") + frame(CLEAR), ""),
    "the last one": (frame(STDOUT, b"a") + frame(CLEAR, b"wait"), "a"),
    "the next one": (2 * (frame(CLEAR, b"wait") + frame(STDOUT, b"a")), "a"),
    "an error": (frame(ERROR, b"E\0why\0Cell In[1], line 7\n why"), "why"),
    "half an error": (frame(ERROR, b"E"), ""),
}


@pytest.mark.parametrize(("sent", "text"), SHOWN.values(), ids=SHOWN)
def test_outputs_are_flat_texts_and_what_has_no_form_is_empty(sends, sent, text):
    shown = []
    with sends(sent + END) as client:
        assert client.run("1", shown) is None
    said = [o.get("text") or o.get("evalue") or o.get("data", {}) for o in shown]
    texts = [s["text/plain"] if isinstance(s, dict) and s else s or "" for s in said]
    assert "".join(texts) == text


def test_the_first_error_of_a_cell_and_its_line_are_remembered(sends):
    first = frame(ERROR, b"ValueError\0x = 1\0Cell In[2], line 7")
    with sends(first + frame(ERROR, b"KeyError\0\0") + END) as client:
        client.run("1", [])
    assert (client.failed, client.failed_in) == ("ValueError: x = 1", 7)


def test_a_long_traceback_is_kept_down_to_its_error(sends):
    """One line for a frame of IPython's, of which torch's modules have many."""
    frames, shown = b"module.py:1789, in Module._call_impl\n" * 400, []
    with sends(frame(ERROR, b"ValueError\0no\0" + frames + b"the end") + END) as client:
        client.run("1", shown)
    assert shown[0].traceback[0].endswith("the end")


def head(kind, length):
    return HEADER.pack(OTHER, kind, length)


@pytest.mark.parametrize(
    ("sent", "why", "limits"),
    [
        (head(ANSWER, MAX_FRAME + 1), "limit of 8 MB in one message", {}),
        (b"\x03" * 99, "could not be read", {}),
        (head(b"?", 0), "could not be read", {}),
        (ONE * 99 + END, "answer limit of 0.01", {"answer_bytes": MB // 64}),
        (EARLY * 9999, "limit of 1 MB on all it sends", {"message_bytes": MB}),
    ],
)
def test_more_than_may_be_is_refused_before_it_is_waited_for(sends, sent, why, limits):
    with sends(sent, **limits) as client:
        assert why in client.ask("topic", "name", [0] * 8)[1]


def test_outputs_beyond_the_limit_are_left_out_and_answers_are_not(sends):
    shown = []
    sent = frame(STDOUT, b"x" * MB) + ONE + END
    with sends(sent, output_bytes=MB) as client:
        assert client.run("1", shown) is None
    assert client.too_long
    assert shown == []


@pytest.mark.parametrize(
    ("reports", "why"),
    [
        (b'{"exit": 3, "limit": null, "perhaps": null}', "code 3"),
        (b'{"exit": -6, "limit": null, "perhaps": "L"}', "perhaps at the L"),
        (b'{"exit": -9, "limit": "L", "perhaps": null}', "L"),
    ],
)
def test_what_a_submission_did_to_its_kernel_is_told(sends, reports, why):
    with sends(ONE, reports) as client:
        answers, ended = client.ask("topic", "name", [0])
    assert answers == [b"one"]
    assert why in ended


@pytest.mark.parametrize(
    ("reports", "why"),
    [
        (b'{"exit": -9, "limit": null, "perhaps": null}', "killed from outside"),
        (b'{"exit": null, "limit": null, "failed": "no room"}', "isolated.*no room"),
    ],
)
def test_that_a_kernel_was_ended_or_never_was_is_no_fault_of_its_own(
    sends, reports, why
):
    with pytest.raises(GraderFault, match=why), sends(b"", reports) as client:
        client.run("1", [])


def test_a_request_that_is_not_read_ends_with_its_time(sends):
    with sends(b"", cell_seconds=0.2) as client:
        source = "x" * 8 * MB
        client.used = lambda: module.Used(0.0, 0.0)
        assert client.run(source, []) == "time limit of 0.2 s"


def test_a_socket_that_only_seems_readable_is_read_later(monkeypatch, sends):
    """As with urgent data, which reading skips."""
    with sends(b"") as client:
        ready = [client._socket], [], []
        with monkeypatch.context() as patch:
            patch.setattr(module.select, "select", lambda *_: ready)
            client._exchange(0)


def test_what_a_worker_raises_can_be_sent_and_says_why(monkeypatch):
    class Special(Exception):
        def __init__(self, one, two):
            super().__init__("two arguments")  # which pickle cannot make again

    def fails(*_):
        raise Special(1, 2)

    monkeypatch.setattr("autograder.grading.worker._master", fails)
    job = Job("masking", "{}", Limits())
    with pytest.raises(GraderFault) as failed:
        examine_submission(job, Submission("ada", b"{}"))
    again = pickle.loads(pickle.dumps(failed.value))
    assert str(again) == "Special: two arguments"
