"""Lengths of messages are followed as ZeroMQ itself writes them."""

from __future__ import annotations

import socket

import pytest
import zmq

from autograder.sandbox.frames import Frames, Unacceptable

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01NULL" + bytes(16 + 1 + 31)
READY = b"\x05READY\x0bSocket-Type\x00\x00\x00\x04"
MESSAGES = [
    [b"a"],
    [b"", b"x" * 255, b"y" * 256],
    [b"z" * 70_000] * 7,
    [b""] * 60,
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
                peer.settimeout(0.5)
                peer.sendall(GREETING + command(READY + b"PULL"))
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


OTHER_GREETINGS = {
    "without a version": b"\x01\x00" + frame(2, long=False) * 31,
    "of version 1": b"\xff" + bytes(7) + b"\x01\x7f\x00" + bytes(53),
    "of version 2": b"\xff" + bytes(7) + b"\x01\x7f\x01\x08" + bytes(52),
    "with zeros": bytes(64),
}


@pytest.mark.parametrize("greeting", OTHER_GREETINGS.values(), ids=OTHER_GREETINGS)
@pytest.mark.parametrize("step", [1, 64])
def test_a_peer_speaks_the_version_whose_frames_are_read(greeting, step):
    frames = Frames()
    with pytest.raises(Unacceptable, match="could not be read"):
        for at in range(0, len(greeting), step):
            frames.follow(greeting[at : at + step])


def received(*said):
    """The first message that ZeroMQ takes from a peer that waits between its words."""
    with (
        socket.socket() as listener,
        zmq.Context() as context,
        context.socket(zmq.PULL) as pull,
    ):
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        pull.linger = 0
        pull.connect(f"tcp://127.0.0.1:{listener.getsockname()[1]}")
        peer, _ = listener.accept()
        with peer:
            for words in said:
                peer.sendall(words)
                answer = b""
                while words != said[-1] and not answer.endswith(b"PULL"):
                    answer += peer.recv(4096)
            return pull.recv_multipart() if pull.poll(60_000) else None


def test_zeromq_itself_reads_other_frames_of_a_peer_without_a_version():
    parts = b"\x01\x00" + b"\x01\x01" * 100 + b"\x01\x00"  # length, flags
    assert received(parts) == [b""] * 101  # no more than a few were ours


def test_commands_between_its_parts_do_not_end_a_message():
    part, ping = frame(0, more=True, long=False), command(b"\x04PING\x00\x00")
    start = GREETING + command(READY + b"PUSH")
    end = frame(0, long=False)
    assert received(start, (part + ping) * 80 + end) == [b""] * 81
    with pytest.raises(Unacceptable, match="limit of 64 parts"):
        Frames().follow(start + (part + ping) * 80 + end)
    half = frame(5 * 2**20, more=True) + bytes(5 * 2**20)
    with pytest.raises(Unacceptable, match="limit of 8 MB in one message"):
        Frames().follow(start + half + ping + half)


def test_a_command_is_short_and_stands_alone():
    with pytest.raises(Unacceptable, match="could not be read"):
        Frames().follow(GREETING + b"\x06" + (10**6).to_bytes(8))
    with pytest.raises(Unacceptable, match="could not be read"):
        Frames().follow(GREETING + command(b"\x04PING\x00\x00", more=True))
