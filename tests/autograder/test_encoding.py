"""Arrays go to bytes and come back; nothing else gets through.

Forged encodings are put together by hand from the format that the module describes.
"""

from __future__ import annotations

import struct
import tracemalloc

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from autograder.encoding import MAX_BYTES, Unreadable, decode, encode
from tests.work import work


def there_and_back(value):
    return decode(encode(value))


@given(
    hnp.arrays(
        st.sampled_from([np.float64, np.float32, np.float16, np.int64, np.uint8, bool]),
        hnp.array_shapes(min_dims=0, max_dims=4, max_side=4),
    )
)
def test_arrays_come_back_bit_for_bit(array):
    value = there_and_back(array)
    assert value.dtype == array.dtype
    assert value.shape == array.shape
    assert value.tobytes() == np.ascontiguousarray(array).tobytes()


@pytest.mark.parametrize(
    "value",
    [
        torch.arange(6.0).reshape(2, 3).T,  # strides
        np.arange(6, dtype=">f8").reshape(2, 3),  # byte order
        torch.tensor([1.0, 2.0], requires_grad=True),
        torch.tensor([1.5], dtype=torch.bfloat16),
        torch.nn.Parameter(torch.ones(2)),
        np.longdouble(1.5),
        True,
        3,
        float("nan"),
    ],
)
def test_numbers_and_arrays_of_any_library_are_read(value):
    back = there_and_back(value)
    plain = value.detach().float() if isinstance(value, torch.Tensor) else value
    np.testing.assert_array_equal(
        back.astype(float), np.asarray(plain, dtype=float), strict=False
    )


def test_nested_results_keep_their_structure():
    value = there_and_back(([1, (2.0, None)], {"name": "text"}))
    assert isinstance(value, list)
    assert len(value) == 2
    assert value[0][1][1] is None
    assert value[1] == {"name": "text"}


def test_a_value_that_is_too_large_is_refused_before_it_is_copied():
    value = ["x" * 400] * 9000 + [np.zeros(MAX_BYTES // 12)]
    tracemalloc.start()
    with pytest.raises(Unreadable, match=f"more than {MAX_BYTES} bytes"):
        encode(value)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2.5 * MAX_BYTES


def test_a_value_that_holds_itself_is_refused():
    loop = []
    loop.append(loop)
    with pytest.raises(Unreadable, match="nested more than 8 deep"):
        encode(loop)
    wide = []
    for _ in range(8):
        wide = [wide] * 9000
    with pytest.raises(Unreadable, match="bytes"):
        encode(wide)


def array(code=11, dimensions=None, shape=(1,), data=bytes(8)):
    count = len(shape) if dimensions is None else dimensions
    return b"a" + bytes([code, count]) + struct.pack(f"<{len(shape)}Q", *shape) + data


def count(number):
    return struct.pack("<I", number)


FORGED = {
    "nothing": b"",
    "a pickle": b"cos\nsystem\n(S'id'\ntR.",
    "something behind the value": b"00",
    "a list without its items": b"l" + count(3) + b"0",
    "a list of four thousand million": b"l" + count(2**32 - 1),
    "lists nested a million deep": (b"l" + count(1)) * 1_000_000 + b"0",
    "an unknown dtype": array(code=12),
    "an array without a shape": b"a\x0b\x05",
    "an array with a number too few": array(shape=(2,)),
    "a size that overflows": array(shape=(2**62, 4)),
    "sizes beside a zero": array(shape=(0, 2**23, 2**23, 2**23), data=b""),
    "too many dimensions": array(shape=(1,) * 17),
    "booleans that are neither": array(code=0, shape=(3,), data=b"\1\2\1"),
    "more than may be sent": array(shape=(MAX_BYTES // 8,), data=bytes(MAX_BYTES)),
}


def cost_of_refusing(data):
    """Lines that run, and bytes of memory."""

    def refuse():
        with pytest.raises(Unreadable):
            decode(data)

    lines = work(refuse)
    tracemalloc.start()
    refuse()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return lines, most


@pytest.mark.parametrize("what", FORGED)
def test_forged_encodings_are_unreadable_at_once_and_in_little_memory(what):
    lines, most = cost_of_refusing(FORGED[what])
    assert lines < 5000
    assert most < 2 * MAX_BYTES


def test_a_value_of_very_many_parts_is_not_read():
    bomb = b"".join(b"l" + count(9999) + (b"l" + count(0)) * 9999 for _ in range(40))
    lines, most = cost_of_refusing((b"l" + count(40) + bomb)[:MAX_BYTES])
    assert lines < 10**6
    assert most < 10 * 2**20


@given(st.binary(max_size=200))
def test_any_bytes_are_a_value_or_unreadable(data):
    try:
        value = decode(data)
    except Unreadable:
        return
    assert encode(decode(encode(value))) == encode(value)


def test_names_are_short_and_printable():
    names = {"\ud800": 1, "\x1b[31mred\u202e": 2, "x" * 10**6: 3}
    found = decode(encode(names))
    assert all(name.isprintable() and len(name) <= 400 for name in found)
    assert sorted(map(float, found.values())) == [1, 2, 3]
