"""Byte-pair encoding, the model and sampling against libraries and brute force."""

import itertools
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from autograder.inputs import fill
from solutions.language_model import (
    LanguageModel,
    bpe_decode,
    bpe_encode,
    filter_logits,
    merge_pair,
    perplexity,
    sample_tokens,
    train_bpe,
)

TEXT = (
    "a rose is a rose is a rose; the rows of roses rise, and those who chose the rose\n"
    "chose those rows. Äußerst größere Straßen führen über größere Flüsse – "
    "日本語 日本。\n"
) * 3


def test_merging_is_replacing_in_a_text_where_each_id_is_a_character(rng):
    for _ in range(50):
        ids = rng.integers(97, 100, 40).tolist()
        pair = tuple(rng.integers(97, 100, 2).tolist())
        text = "".join(map(chr, ids)).replace("".join(map(chr, pair)), "Z")
        assert merge_pair(ids, pair, ord("Z")) == [ord(letter) for letter in text]


def merges_by_definition(text, num_merges):
    """The rule word by word: every pair is counted by looking at every position."""
    ids, merges = list(text.encode()), []
    for number in range(num_merges):
        pairs = [(ids[i], ids[i + 1]) for i in range(len(ids) - 1)]
        most = max((pairs.count(pair) for pair in set(pairs)), default=0)
        if most < 2:
            break
        merges.append(next(pair for pair in pairs if pairs.count(pair) == most))
        characters = "".join(map(chr, ids))
        old = "".join(map(chr, merges[-1]))
        ids = [ord(c) for c in characters.replace(old, chr(256 + number))]
    return merges


def test_merges_are_those_of_the_definition(rng):
    assert train_bpe(TEXT, 40) == merges_by_definition(TEXT, 40)
    drawn = ["".join(rng.choice(list("ab c"), 40)) for _ in range(20)]
    for text in ("", "a", "aa", "aaa", *drawn):
        assert train_bpe(text, 99) == merges_by_definition(text, 99)


def test_encoding_agrees_with_the_tokenizers_library():
    """Its pairs are of characters that stand for bytes; merges are applied by rank."""
    tokenizers = pytest.importorskip("tokenizers")
    merges = train_bpe(TEXT, 60)
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]  # as in GPT-2
    names = {byte: chr(byte) for byte in printable}
    others = (byte for byte in range(256) if byte not in names)
    names |= {byte: chr(256 + n) for n, byte in enumerate(others)}
    tokens = [names[byte] for byte in range(256)]
    pairs = []
    for one, other in merges:
        pairs.append((tokens[one], tokens[other]))
        tokens.append(tokens[one] + tokens[other])
    vocabulary = {token: i for i, token in enumerate(tokens)}
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, pairs))
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(
        add_prefix_space=False, use_regex=False
    )
    theirs.decoder = tokenizers.decoders.ByteLevel()
    for text in (TEXT, "chose äö", "größte Rose", "no pair", "日", "  "):
        ids = theirs.encode(text).ids
        assert bpe_encode(text, merges) == ids
        assert bpe_decode(ids, merges) == theirs.decode(ids) == text


# The model

SIZES = (13, 12, 3, 2, 20)


def ids_and_model(rng):
    model = fill(LanguageModel(*SIZES), rng)
    return torch.from_numpy(rng.integers(0, 13, (4, 9))), model


def test_without_rotation_it_is_the_encoder_stack_of_torch_with_a_causal_mask(rng):
    ids, model = ids_and_model(rng)
    layer = nn.TransformerEncoderLayer(
        12, 3, 20, 0.0, batch_first=True, norm_first=True
    )
    stack = nn.TransformerEncoder(
        layer, 2, norm=nn.LayerNorm(12), enable_nested_tensor=False
    ).double()
    state = {k: v for k, v in model.state_dict().items() if k != "embedding.weight"}
    stack.load_state_dict(
        {
            k.replace("in_proj.", "self_attn.in_proj_").replace(
                "out_proj.", "self_attn.out_proj."
            ): v
            for k, v in state.items()
        }
    )
    for layer in model.layers:
        layer.frequencies.zero_()
    x = F.embedding(ids, model.embedding.weight)
    mask = nn.Transformer.generate_square_subsequent_mask(9, dtype=torch.float64)
    expected = F.linear(stack(x, mask), model.embedding.weight)
    torch.testing.assert_close(model(ids), expected)


# Perplexity


def test_perplexity_is_that_of_the_cross_entropy_of_torch(rng):
    logits, targets = rng.standard_normal((2, 3, 5)), rng.integers(0, 5, (2, 3))
    targets[0, 1], targets[1, 2] = 2, 2
    for pad_id in (None, 2):
        loss = F.cross_entropy(
            torch.from_numpy(logits).flatten(0, 1),
            torch.from_numpy(targets).flatten(),
            ignore_index=-100 if pad_id is None else pad_id,
        )
        assert perplexity(logits, targets, pad_id) == pytest.approx(math.exp(loss))


# Filters


def smallest_set(probabilities, p):
    """By brute force: fewest tokens, then the largest sum, then the first of equals."""
    v = len(probabilities)
    for size in range(1, v + 1):
        sets = list(itertools.combinations(range(v), size))
        best = max(sum(probabilities[i] for i in s) for s in sets)
        if best >= p:
            return next(
                s
                for s in sets
                if sum(probabilities[i] for i in s) == pytest.approx(best)
            )
    return tuple(range(v))


def softmax(logits):
    return torch.from_numpy(logits).softmax(-1).numpy()


@pytest.mark.parametrize("top_p", [0.05, 0.3, 0.62, 0.9, 0.99])
def test_top_p_keeps_the_smallest_set_that_reaches_p(rng, top_p):
    for _ in range(20):
        logits = rng.integers(-3, 4, (1, 6)) / 1.3
        kept = np.flatnonzero(np.isfinite(filter_logits(logits, top_p=top_p)[0]))
        assert tuple(kept) == smallest_set(softmax(logits)[0].tolist(), top_p)


def test_top_k_comes_before_top_p_and_keeps_the_k_largest(rng):
    logits = 100 * rng.standard_normal((7, 50))
    for everything in ({"top_k": 999}, {"top_p": 1.0}):
        kept = filter_logits(logits, **everything)
        np.testing.assert_array_equal(kept, logits)
        assert not np.shares_memory(kept, logits)
    for k, p in itertools.product((1, 5, 50), (0.2, 0.7, 0.95)):
        expected = np.where(logits >= np.sort(logits)[:, [-k]], logits, -np.inf)
        np.testing.assert_array_equal(filter_logits(logits, top_k=k), expected)
        both = filter_logits(logits, top_k=k, top_p=p)
        np.testing.assert_array_equal(both, filter_logits(expected, top_p=p))


# Sampling


@pytest.mark.parametrize("temperature", [0.2, 1.0, 3.0])
def test_evenly_spaced_numbers_choose_tokens_in_proportion(rng, temperature):
    logits, n = rng.standard_normal((1, 9)), 10_000
    uniform = (np.arange(n) + 0.5) / n
    ids = sample_tokens(np.repeat(logits, n, axis=0), uniform, temperature)
    expected = softmax(logits[0] / temperature)
    found = np.bincount(ids, minlength=9) / n
    np.testing.assert_allclose(found, expected, atol=2 / n, rtol=0)
    assert (np.diff(ids) >= 0).all()  # in the order of the vocabulary
