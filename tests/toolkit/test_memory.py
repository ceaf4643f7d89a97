"""The count of live tensors against sums done by hand."""

import sys

import pytest
import torch

from toolkit.memory import LiveTensors, peak_bytes, resident_peak


def test_the_peak_is_what_is_alive_at_the_same_time():
    x = torch.ones(10, dtype=torch.float64)

    def one_after_the_other():
        for _ in range(5):
            y = x + 1
            del y

    def all_together():
        return [x + 1 for _ in range(5)]

    assert peak_bytes(one_after_the_other) == 80
    assert peak_bytes(all_together) == 400


def test_a_view_takes_no_memory_of_its_own_and_keeps_its_storage_alive():
    with LiveTensors() as live:
        view = torch.ones(100)[:1]
        more = view.expand(50)
        assert live.peak_bytes == 400
        last = torch.zeros(10)
    assert live.peak_bytes == 440
    assert (more.numel(), last.numel()) == (50, 10)


def test_what_was_there_before_is_not_counted_nor_are_views_of_it():
    before = torch.ones(1000)
    with LiveTensors() as live:
        parts = before.split(10), before[None]
        doubled = 2 * parts[0][0]
    assert live.peak_bytes == 40
    assert doubled.numel() == 10


def test_a_tensor_made_from_a_list_is_counted():
    with LiveTensors() as live:
        made = torch.tensor([[1.0, 2.0]] * 50)
    assert live.peak_numbers == made.numel()


def test_numbers_are_counted_whatever_their_type():
    with LiveTensors() as live:
        kept = torch.zeros(100, dtype=torch.bool), torch.zeros(7, dtype=torch.float16)
    assert live.peak_numbers == 107
    assert live.peak_bytes == 114
    assert len(kept) == 2


def test_attention_of_n_tokens_holds_two_maps_at_its_peak():
    def attention(x):
        return (x @ x.T).softmax(dim=-1) @ x

    n = 50
    x = torch.ones(n, 3)
    assert peak_bytes(attention, x) == 4 * 2 * n * n


@pytest.mark.skipif(sys.platform == "win32", reason="the system does not say")
def test_the_operating_system_sees_a_large_tensor():
    size = 200 * 2**20
    found = resident_peak("import torch", f"x = torch.ones({size // 4})")
    assert 0.9 * size < found < 1.3 * size


@pytest.mark.skipif(sys.platform == "win32", reason="the system does not say")
def test_a_process_that_fails_says_why():
    with pytest.raises(OSError, match="ZeroDivisionError"):
        resident_peak("import torch", "1 / 0")
