"""Lengths of messages are followed as ZeroMQ itself writes them."""

from __future__ import annotations

import socket

import pytest
import zmq

from autograder.sandbox.frames import UNREADABLE, Frames, Unacceptable

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01NULL" + bytes(16 + 1 + 31)
READY = b"\x05READY\x0bSocket-Type\x00\x00\x00\x04"
MESSAGES = [
    [b"a"],
    [b"", b"x" * 255, b"y" * 256],
    [b"z" * 70_000] * 7,
    [b""] * 60,
    [b"the end"],
]


def command(text, more=False):
    return bytes([4 | more, len(text)]) + text


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """What ZeroMQ writes to a peer that has read its greeting and nothing else."""
    path = str(tmp_path_factory.mktemp("zmq") / "socket")
    with socket.socket(socket.AF_UNIX) as listener, zmq.Context() as context:
        listener.bind(path)
        listener.listen()
        with context.socket(zmq.PUSH) as push:
            push.linger = 0
            push.connect(f"ipc://{path}")
            for message in MESSAGES:
                push.send_multipart(message)
            peer, _ = listener.accept()
            with peer:
                peer.sendall(GREETING + command(READY + b"PULL"))
                data = b""
                while not data.endswith(b"the end"):
                    data += peer.recv(2**20)
                return data


@pytest.mark.parametrize("step", [7, 65_536, 10**7])
def test_messages_are_counted_however_they_are_cut(written, step):
    frames = Frames()
    for at in range(0, len(written), step):
        frames.follow(written[at : at + step])
    assert frames.messages == len(MESSAGES) + 1  # the first is ZeroMQ's own READY


def frame(length, more=False, long=True):
    if not long:
        return bytes([more, length])
    return bytes([2 | more]) + length.to_bytes(8)


MOST = 8 * 2**20
LONG, MANY = "limit of 8 MB in one message", "limit of 64 parts"
HALF = frame(5 * 2**20, more=True) + bytes(5 * 2**20)
PART, PING = frame(0, more=True, long=False), command(b"\x04PING\x00\x00")
REFUSED = {
    "a long message": (GREETING + frame(MOST + 1), LONG),
    "a message of any length": (GREETING + frame(2**64 - 1), LONG),
    "a message of long parts": (GREETING + HALF + HALF, LONG),
    "long parts with a command between them": (GREETING + HALF + PING + HALF, LONG),
    "many parts": (GREETING + PART * 65, MANY),
    "many parts with commands between them": (GREETING + (PART + PING) * 65, MANY),
    "a long command": (GREETING + b"\x06" + (10**6).to_bytes(8), UNREADABLE),
    "a command of parts": (GREETING + command(b"\x04PING", more=True), UNREADABLE),
    "no frame": (GREETING + b"GET / HTTP/1.1\r\n", UNREADABLE),
    # Whose frames ZeroMQ would read in another way.
    "no version": (b"\x01\x00" + frame(2, long=False) * 31, UNREADABLE),
    "version 1": (b"\xff" + bytes(7) + b"\x01\x7f\x00" + bytes(53), UNREADABLE),
    "version 2": (b"\xff" + bytes(7) + b"\x01\x7f\x01\x08" + bytes(52), UNREADABLE),
}


@pytest.mark.parametrize("step", [1, 10**9])
@pytest.mark.parametrize(("sent", "why"), REFUSED.values(), ids=REFUSED)
def test_what_the_grader_must_not_read_is_not_passed_on(sent, why, step):
    step = max(step, len(sent) // 100)
    with pytest.raises(Unacceptable, match=why):
        frames = Frames()
        for at in range(0, len(sent), step):
            frames.follow(sent[at : at + step])


def test_a_message_may_be_nearly_as_long_and_of_nearly_as_many_parts():
    Frames().follow(GREETING + frame(MOST))
    Frames().follow(GREETING + (frame(5 * 2**20) + bytes(5 * 2**20)) * 3)
    Frames().follow(GREETING + PART * 63 + frame(0, long=False))
