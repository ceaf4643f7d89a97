"""Arrays go to bytes and come back; nothing else gets through."""

from __future__ import annotations

import base64
import json
import time

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from autograder.answers import (
    MAX_DEPTH,
    Unreadable,
    answer,
    builtin_type,
    decode,
    encode,
)
from autograder.exercise import Case


def there_and_back(value):
    return decode(json.dumps({"value": encode(value)}))


@given(
    hnp.arrays(
        st.sampled_from([np.float64, np.float32, np.float16, np.int64, np.uint8, bool]),
        hnp.array_shapes(min_dims=0, max_dims=4, max_side=4),
    )
)
def test_arrays_come_back_bit_for_bit(array):
    value = there_and_back(array).value
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
        2.5,
        float("nan"),
        float("inf"),
    ],
)
def test_numbers_and_arrays_of_any_library_are_read(value):
    back = there_and_back(value).value
    plain = value.detach().float() if isinstance(value, torch.Tensor) else value
    np.testing.assert_array_equal(
        back.astype(float), np.asarray(plain, dtype=float), strict=False
    )


def test_nested_results_keep_their_structure():
    value = there_and_back(([1, (2.0, None)], {"name": "text"})).value
    assert isinstance(value, list)
    assert len(value) == 2
    assert value[0][1][1] is None
    assert value[1] == {"name": "text"}


@pytest.mark.parametrize(
    "value", [object(), {1: 2}, {1, 2}, iter([1]), 1j, np.array(["a"]), b"x", len]
)
def test_what_is_no_array_is_unreadable(value):
    with pytest.raises(Unreadable):
        encode(value)


class Lying:
    def __array__(self, *args, **kwargs):
        raise ValueError("the expected one")


class LyingArray(np.ndarray):
    def astype(self, *args, **kwargs):
        raise ValueError("the expected one")


def case_of(run):
    return Case("title", 1, run)


def test_error_while_reading_a_result_is_not_the_functions_own():
    outcome = decode(answer(case_of(lambda f, rng: f()), lambda: Lying(), 0))
    assert outcome.raised is None
    assert outcome.unreadable


def test_array_that_lies_about_itself_is_read_by_its_bytes():
    value = np.ones(2).view(LyingArray)
    outcome = decode(answer(case_of(lambda f, rng: f()), lambda: value, 0))
    np.testing.assert_array_equal(outcome.value, np.ones(2))


def test_exception_is_reported_by_its_built_in_type():
    class Special(ValueError):
        pass

    assert builtin_type(Special()) == "ValueError"
    assert builtin_type(np.linalg.LinAlgError()) == "ValueError"
    assert builtin_type(KeyError()) == "KeyError"


def test_exit_costs_only_the_case():
    def leave():
        raise SystemExit(0)

    assert decode(answer(case_of(lambda f, rng: f()), leave, 0)).raised == "SystemExit"


def test_same_seed_gives_same_inputs_and_leaves_torchs_generator_alone():
    case = case_of(lambda f, rng: [rng.standard_normal(3), torch.rand(2)])
    torch.manual_seed(5)
    first = torch.rand(1)
    torch.manual_seed(5)
    one, two = answer(case, None, 7), answer(case, None, 7)
    assert one == two != answer(case, None, 8)
    assert torch.rand(1) == first


def forged(dtype="<f8", shape=(1,), data=b"\0" * 8):
    return {
        "dtype": dtype,
        "shape": list(shape) if isinstance(shape, tuple) else shape,
        "data": base64.b64encode(data).decode() if isinstance(data, bytes) else data,
    }


def deep(levels):
    value = 1.0
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not json",
        "[]",
        "{}",
        "[" * 100_000,
        '{"value": NaN}',
        '{"value": 1}',
        '{"value": {"items": 3}}',
        json.dumps({"value": forged(dtype="|O8")}),
        json.dumps({"value": forged(dtype="|V8")}),
        json.dumps({"value": forged(dtype="<M8[s]")}),
        json.dumps({"value": forged(dtype=["<f8"])}),
        json.dumps({"value": forged(shape=(2,))}),
        json.dumps({"value": forged(shape=(-1,))}),
        json.dumps({"value": forged(shape=(True,))}),
        json.dumps({"value": forged(shape=(2**62, 2**62))}),
        json.dumps({"value": forged(shape=(1,) * 40)}),
        json.dumps({"value": forged(shape="11")}),
        json.dumps({"value": forged(data="####")}),
        json.dumps({"value": forged(data="cos\nsystem\n(S'id'\ntR.")}),
        json.dumps({"value": deep(MAX_DEPTH + 5)}),
    ],
)
def test_forged_encodings_are_unreadable_and_never_raise(text):
    outcome = decode(text)
    assert outcome.unreadable
    assert outcome.value is None
    assert outcome.raised is None


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_any_json_is_decoded_without_an_exception(data):
    decode(json.dumps(data))
    decode(json.dumps({"value": data}))
    decode(json.dumps({"raised": data, "detail": data}))


def test_invented_exception_names_become_plain_exceptions():
    assert decode('{"raised": "FullMarks"}').raised == "Exception"
    assert decode('{"raised": "print"}').raised == "Exception"


def test_messages_are_one_short_printable_line():
    raised = json.dumps({"raised": "ValueError", "detail": "a\x1b[31m\n\nb" * 500})
    detail = decode(raised).detail
    assert "\x1b" not in detail
    assert "\n" not in detail
    assert len(detail) <= 400


def test_names_in_an_answer_are_short_and_printable():
    names = {"\ud800": 1, "\x1b[31mred\u202e": 2, "x" * 10**6: 3}
    text = json.dumps({"value": {"items": {n: encode(v) for n, v in names.items()}}})
    found = decode(text).value
    assert all(name.isprintable() and len(name) <= 400 for name in found)
    assert sorted(map(float, found.values())) == [1, 2, 3]


def test_an_answer_of_very_many_parts_is_not_read():
    value = [[[] for _ in range(9999)] for _ in range(500)]
    text = json.dumps({"value": value}, separators=(",", ":"))
    start = time.monotonic()
    assert "parts" in (decode(text).unreadable or "")
    assert time.monotonic() - start < 1
