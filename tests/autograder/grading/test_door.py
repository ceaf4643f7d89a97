"""What is read of the bytes that a kernel sends as answers, and what is not."""

from __future__ import annotations

import asyncio

import pytest

from autograder.grading.door import FRAME_BYTES, MAX_ANSWER, Door, TooMuch
from autograder.respond import HEADER
from autograder.sandbox.limits import Limits

MB = 2**20
ASKED, OTHER = 7, 8  # the number of the question, and that of another one


def frame(question, data):
    return HEADER.pack(question, len(data)) + data


END = frame(ASKED, b"")


def reading(*parts, limit=MB):
    """What is read when a kernel sends all this and, if ``None`` is last, ends."""

    async def go():
        door = Door(Limits(answer_bytes=limit))
        kernel = door.inside.dup()
        await door.open()
        answers = []
        try:
            for part in parts:
                if part is None:
                    kernel.close()
                else:
                    kernel.sendall(part)
            await asyncio.wait_for(door.read(ASKED, 9, answers), 300)
        finally:
            kernel.close()
            door.close()
        return answers

    return asyncio.run(go())


ONE, TWO = frame(ASKED, b"one"), frame(ASKED, b"2")
EARLY = frame(OTHER, b"early") + frame(OTHER, b"")


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ([ONE, TWO, END, frame(ASKED, b"after the end")], [b"one", b"2"]),
        ([EARLY, ONE, END], [b"one"]),
        ([ONE] * 12 + [END], [b"one"] * 9),  # no more than there are cases
        ([ONE, TWO[:-1], None], [b"one"]),  # the kernel has ended
        ([ONE, END[:3], None], [b"one"]),
    ],
)
def test_answers_to_what_is_asked_are_read_in_their_order(sent, read):
    assert reading(*sent) == read


def test_a_length_beyond_the_limit_is_refused_before_anything_is_waited_for():
    with pytest.raises(TooMuch, match="on the answer to one case"):
        reading(HEADER.pack(OTHER, MAX_ANSWER + 1), limit=2 * MAX_ANSWER)
    with pytest.raises(TooMuch, match="answer limit of 1 MB"):
        reading(HEADER.pack(ASKED, MB), limit=MB)


@pytest.mark.parametrize("question", [ASKED, OTHER])
def test_all_answers_together_have_a_limit_and_short_ones_count_too(question):
    def sent(count):
        return [frame(question, b"x" * 300)] * count + [END]

    limit = 10 * (FRAME_BYTES + 300) + FRAME_BYTES
    reading(*sent(10), limit=limit)
    with pytest.raises(TooMuch, match="answer limit"):
        reading(*sent(11), limit=limit)
