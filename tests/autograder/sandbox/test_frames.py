"""Lengths of messages are followed as ZeroMQ itself writes them."""

from __future__ import annotations

import socket

import pytest
import zmq

from autograder.sandbox.frames import Frames, Unacceptable

GREETING = bytes(64)
MESSAGES = [
    [b"a"],
    [b"", b"x" * 255, b"y" * 256],
    [b"z" * 70_000] * 7,
    [b""] * 60,
]


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
                peer.settimeout(0.5)
                ready = b"\x05READY\x0bSocket-Type\x00\x00\x00\x04PULL"
                greeting = b"\xff" + bytes(8) + b"\x7f\x03\x00NULL" + bytes(16 + 1 + 31)
                peer.sendall(greeting + bytes([4, len(ready)]) + ready)
                data = b""
                while True:
                    try:
                        data += peer.recv(2**20)
                    except TimeoutError:
                        return data


@pytest.mark.parametrize("step", [1, 2, 7, 64, 65_536, 10**7])
def test_messages_are_counted_however_they_are_cut(written, step):
    frames = Frames()
    for at in range(0, len(written), step):
        frames.follow(written[at : at + step])
    assert frames.messages == len(MESSAGES) + 1  # the first is ZeroMQ's own READY


def frame(length, more=False, long=True):
    if not long:
        return bytes([more, length])
    return bytes([2 | more]) + length.to_bytes(8)


def test_a_message_may_be_long_but_not_longer():
    most = 8 * 2**20
    Frames().follow(GREETING + frame(most))
    with pytest.raises(Unacceptable, match="limit of 8 MB in one message"):
        Frames().follow(GREETING + frame(most + 1))
    with pytest.raises(Unacceptable, match="limit of 8 MB in one message"):
        Frames().follow(GREETING + frame(2**64 - 1))


def test_the_parts_of_a_message_count_together():
    half = frame(5 * 2**20, more=True) + bytes(5 * 2**20)
    with pytest.raises(Unacceptable, match="limit of 8 MB in one message"):
        Frames().follow(GREETING + half + half)
    apart = frame(5 * 2**20) + bytes(5 * 2**20)
    Frames().follow(GREETING + apart * 3)


def test_a_message_has_not_too_many_parts():
    parts = frame(0, more=True, long=False)
    Frames().follow(GREETING + parts * 63 + frame(0, long=False))
    with pytest.raises(Unacceptable, match="limit of 64 parts"):
        Frames().follow(GREETING + parts * 65)


def test_what_is_no_frame_is_not_passed_on():
    with pytest.raises(Unacceptable, match="could not be read"):
        Frames().follow(GREETING + b"GET / HTTP/1.1\r\n")
