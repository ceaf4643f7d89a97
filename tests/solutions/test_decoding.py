"""The reference of `decoding` against torch, exhaustive search, and full passes."""

from itertools import product

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from solutions.decoding import (
    KVCache,
    beam_search,
    cached_attention,
    greedy_decode,
)

START, END = 1, 2


def causal_by_torch(query, key, value):
    tokens = map(torch.from_numpy, (query, key, value))
    return F.scaled_dot_product_attention(*tokens, is_causal=True).numpy()


# greedy_decode


def counting_logits(prefix):
    """After token v comes v + 1."""
    return np.eye(20)[prefix[:, -1] + 1]


@pytest.mark.parametrize(
    ("starts", "longest", "expected"),
    [
        ([5, 8, 6], 10, [[6, 7, 8, 9], [9, 9, 9, 9], [7, 8, 9, 9]]),
        ([5, 8], 2, [[6, 7], [9, 9]]),
        ([9], 2, [[10, 11]]),  # a start that is also the end ends nothing
    ],
)
def test_greedy_goes_on_until_each_row_has_ended_or_is_full(starts, longest, expected):
    ids = greedy_decode(counting_logits, np.array(starts), 9, longest)
    assert ids.tolist() == expected


# beam_search


@pytest.fixture
def random_model(rng):
    table, places = rng.standard_normal((5, 6)), rng.standard_normal((9, 6))
    output = 2 * rng.standard_normal((6, 5))

    def next_log_probs(prefixes):
        features = (table[prefixes] * places[: prefixes.shape[1]]).sum(axis=1)
        logits = torch.from_numpy(np.tanh(features) @ output)
        return logits.log_softmax(dim=-1).numpy()

    return next_log_probs


def log_probability(next_log_probs, ids):
    return sum(
        next_log_probs(np.array([[START, *ids[:t]]]))[0, token]
        for t, token in enumerate(ids)
    )


def all_outputs(max_length):
    """Every sequence that has its first end at its last position, or none at all."""
    words = [0, 1, 3, 4]
    for length in range(max_length):
        for before in product(words, repeat=length):
            yield [*before, END]
    yield from map(list, product(words, repeat=max_length))


@pytest.mark.parametrize("penalty", [0.0, 0.7, 1.0])
def test_a_beam_wide_enough_finds_the_best_of_all_sequences(random_model, penalty):
    def score(ids):
        return log_probability(random_model, ids) / len(ids) ** penalty

    def checked(prefixes):
        assert (prefixes != END).all()  # what has ended is never shown
        return random_model(prefixes)

    best = max(all_outputs(4), key=score)
    ids, found = beam_search(checked, START, END, 5**4, 4, penalty)
    assert ids.tolist() == best
    assert found == pytest.approx(score(best))


# KVCache


def test_cache_holds_what_was_appended_in_order_until_it_is_reset(rng):
    keys, values = rng.standard_normal((2, 3, 7, 4)), rng.standard_normal((2, 3, 7, 5))
    cache = KVCache()
    for part in (slice(0, 3), slice(3, 4), slice(4, 7)):
        all_keys, all_values = cache.append(keys[:, :, part], values[:, :, part])
        assert cache.length == part.stop
        assert np.array_equal(all_keys, keys[:, :, : part.stop])
        assert np.array_equal(all_values, values[:, :, : part.stop])
    cache.reset()
    assert cache.length == 0
    other = rng.standard_normal((1, 1, 3, 2))
    assert np.array_equal(cache.append(other, other)[0], other)


# cached_attention


@pytest.mark.parametrize("counts", [[9], [1] * 9, [4, 3, 1, 1], [1, 8]])
def test_any_chunks_give_what_one_causal_pass_gives(rng, counts):
    query, key = rng.standard_normal((2, 2, 3, 9, 4))
    value = rng.standard_normal((2, 3, 9, 5))
    cache, outputs = KVCache(), []
    for part in np.split(np.arange(9), np.cumsum(counts)[:-1]):
        new = [x[:, :, part] for x in (query, key, value)]
        outputs.append(cached_attention(*new, cache))
    difference = np.concatenate(outputs, axis=2) - causal_by_torch(query, key, value)
    assert np.abs(difference).max() < 1e-12
    assert cache.length == 9
