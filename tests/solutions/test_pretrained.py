"""Published weights against the published library, and search against plain loops."""

import math
import os

import pytest
import torch
from tokenizers import Tokenizer
from torch import nn
from torch.testing import assert_close

from solutions.pretrained import (
    break_search,
    convert_bert_layer,
    embed,
    mean_pool,
    search,
)
from solutions.transformer import EncoderLayer
from toolkit import minilm
from toolkit.weights import WeightsUnavailable

SENTENCES = [
    "Attention is a weighted average of values.",
    "A dog near two cats barks.",
    "Tokyo",
    "The softmax turns scores into weights that are positive and sum to one, so that "
    "the output of a layer never leaves the convex hull of the values that it reads.",
    "Où est la bibliothèque? 图书馆在哪里?",
    "unbelievableness, 3.14159 and e-mail@example.org!",
]


@pytest.fixture
def rng():
    return torch.Generator().manual_seed(20247)


@pytest.fixture(scope="module")
def published():
    """Configuration, weights and tokenizer of the real model."""
    try:
        config, state_dict, file = minilm.load(download=False)
    except WeightsUnavailable as error:
        pytest.fail(str(error)) if os.environ.get("CI") else pytest.skip(str(error))
    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.enable_truncation(256)
    tokenizer.enable_padding()
    return config, state_dict, tokenizer


@pytest.fixture
def small_bert():
    """The published library's model, small and with random weights, in float64."""
    from transformers import BertConfig, BertModel  # late: other processes need none

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=40,
        hidden_size=12,
        num_hidden_layers=3,
        num_attention_heads=3,
        intermediate_size=20,
        layer_norm_eps=1e-12,
    )
    model = BertModel(config).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5)
    return model


def layer_of_torch(config, state_dict, index, dtype):
    layer = nn.TransformerEncoderLayer(
        config["hidden_size"],
        config["num_attention_heads"],
        config["intermediate_size"],
        dropout=0.0,
        activation="gelu",
        layer_norm_eps=config["layer_norm_eps"],
        batch_first=True,
    )
    layer.to(dtype).load_state_dict(convert_bert_layer(state_dict, index))
    return layer.eval()


def layers_of_torch(config, state_dict):
    """All layers, called with a mask that is True for real tokens."""

    def called(layer):
        return lambda x, mask: layer(x, src_key_padding_mask=~mask)

    return [
        called(layer_of_torch(config, state_dict, index, torch.float32))
        for index in range(config["num_hidden_layers"])
    ]


def with_our_mask(layer):
    """The course's own layer, called as the other ones are."""
    return lambda x, mask: layer(x, padding_mask=mask)


def ours(config, state_dict, tokenizer, layers):
    """Tokenizer and model, as ``embed`` takes them."""

    def tokenize(texts):
        encoded = tokenizer.encode_batch(list(texts))
        ids = torch.tensor([text.ids for text in encoded])
        return ids, torch.tensor([text.attention_mask for text in encoded]).bool()

    def model(ids, mask):
        x = (
            state_dict["embeddings.word_embeddings.weight"][ids]
            + state_dict["embeddings.position_embeddings.weight"][: ids.shape[1]]
            + state_dict["embeddings.token_type_embeddings.weight"][0]
        )
        x = nn.functional.layer_norm(
            x,
            (config["hidden_size"],),
            state_dict["embeddings.LayerNorm.weight"],
            state_dict["embeddings.LayerNorm.bias"],
            config["layer_norm_eps"],
        )
        for layer in layers:
            x = layer(x, mask)
        return x

    return tokenize, model


def theirs(config, state_dict, tokenizer, texts):
    """The published computation: BertModel, mean over the mask, length 1."""
    from transformers import BertConfig, BertModel

    model = BertModel(BertConfig(**config)).eval()
    missing = model.load_state_dict(state_dict, strict=False).missing_keys
    assert not missing
    encoded = tokenizer.encode_batch(texts)
    ids = torch.tensor([text.ids for text in encoded])
    mask = torch.tensor([text.attention_mask for text in encoded])
    with torch.no_grad():
        hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state
    weights = mask.unsqueeze(-1).float()
    mean = (hidden * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
    return nn.functional.normalize(mean, p=2, dim=1)


@pytest.mark.parametrize("prefix", ["", "bert."])
def test_a_converted_layer_computes_what_the_published_one_does(
    small_bert, rng, prefix
):
    weights = {prefix + name: v for name, v in small_bert.state_dict().items()}
    config = small_bert.config.to_dict()
    x = torch.randn(2, 5, 12, generator=rng, dtype=torch.float64)
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    additive = torch.zeros(2, 1, 1, 5).double().masked_fill(~mask[:, None, None], -1e30)
    for index in range(3):
        layer = layer_of_torch(config, weights, index, torch.float64)
        expected = small_bert.encoder.layer[index](x, attention_mask=additive)
        expected = expected[0] if isinstance(expected, tuple) else expected
        result = layer(x, src_key_padding_mask=~mask)
        assert_close(result[mask], expected[mask], rtol=1e-10, atol=1e-10)


def test_a_layer_that_is_not_there_is_a_key_error(small_bert):
    with pytest.raises(KeyError, match=r"encoder\.layer\.3\."):
        convert_bert_layer(small_bert.state_dict(), 3)


def test_pooling_agrees_with_plain_loops(rng):
    hidden = torch.randn(3, 5, 4, generator=rng, dtype=torch.float64)
    mask = torch.rand(3, 5, generator=rng) < 0.6
    mask[:, 0] = True
    for b, pooled in enumerate(mean_pool(hidden, mask).tolist()):
        tokens = [
            row.tolist() for row, real in zip(hidden[b], mask[b], strict=True) if real
        ]
        mean = [math.fsum(column) / len(tokens) for column in zip(*tokens, strict=True)]
        assert pooled == pytest.approx([x / math.hypot(*mean) for x in mean])


def test_padding_changes_no_vector_whatever_it_holds(rng):
    hidden = torch.randn(2, 6, 4, generator=rng, dtype=torch.float64)
    mask = torch.arange(6) < torch.tensor([[4], [4]])
    expected = mean_pool(hidden[:, :4], mask[:, :4])
    for filler in (0.0, 1e9, torch.nan, torch.inf):
        filled = hidden.masked_fill(~mask.unsqueeze(-1), filler)
        assert_close(mean_pool(filled, mask), expected)


def test_a_text_without_tokens_is_zero_in_value_and_gradient(rng):
    hidden = torch.randn(2, 3, 4, generator=rng, dtype=torch.float64)
    hidden.requires_grad_()
    mask = torch.tensor([[False] * 3, [True] * 3])
    pooled = mean_pool(hidden, mask)
    pooled.sum().backward()
    assert (pooled[0] == 0).all()
    assert (hidden.grad[0] == 0).all()
    assert hidden.grad.isfinite().all()


def test_embedding_keeps_no_graph(rng):
    table = nn.Embedding(10, 4)

    def tokenizer(texts):
        ids = torch.tensor([[len(text), 1] for text in texts])
        return ids, torch.ones(ids.shape, dtype=torch.bool)

    vectors = embed(["a", "abc"], tokenizer, lambda ids, mask: table(ids))
    assert not vectors.requires_grad
    assert_close(vectors.norm(dim=-1), torch.ones(2))


def test_search_agrees_with_sorting_all_cosines(rng):
    query = torch.randn(5, generator=rng, dtype=torch.float64)
    corpus = torch.randn(9, 5, generator=rng, dtype=torch.float64)
    corpus *= torch.rand(9, 1, generator=rng) * 9

    def cosine(row):
        dot = math.fsum(a * b for a, b in zip(query.tolist(), row, strict=True))
        return dot / math.hypot(*query.tolist()) / math.hypot(*row)

    expected = sorted(((cosine(r), i) for i, r in enumerate(corpus.tolist())))[::-1]
    indices, scores = search(query, corpus, 4)
    assert indices.tolist() == [i for _, i in expected[:4]]
    assert scores.tolist() == pytest.approx([score for score, _ in expected[:4]])


def test_lengths_do_not_matter_to_a_search(rng):
    query, corpus = torch.randn(5, generator=rng), torch.randn(9, 5, generator=rng)
    scaled = corpus * torch.rand(9, 1, generator=rng)
    assert torch.equal(search(query, corpus, 9)[0], search(7 * query, scaled, 9)[0])


def test_real_embeddings_equal_the_published_librarys_with_padding(published):
    config, state_dict, tokenizer = published
    layers = layers_of_torch(config, state_dict)
    vectors = embed(SENTENCES, *ours(config, state_dict, tokenizer, layers))
    expected = theirs(config, state_dict, tokenizer, SENTENCES)
    assert vectors.shape == (len(SENTENCES), 384)
    assert_close(vectors, expected, rtol=0, atol=1e-5)


def test_the_encoder_layer_of_this_course_runs_the_published_weights(published):
    config, state_dict, tokenizer = published
    layers = []
    for index in range(config["num_hidden_layers"]):
        layer = EncoderLayer(
            384, 12, 1536, activation=nn.functional.gelu, eps=config["layer_norm_eps"]
        )
        layer.load_state_dict(convert_bert_layer(state_dict, index))
        layers.append(with_our_mask(layer.eval()))
    vectors = embed(SENTENCES, *ours(config, state_dict, tokenizer, layers))
    expected = theirs(config, state_dict, tokenizer, SENTENCES)
    assert_close(vectors, expected, rtol=0, atol=1e-5)


def test_sentences_of_like_meaning_are_nearer_than_sentences_of_like_words(published):
    config, state_dict, tokenizer = published
    layers = layers_of_torch(config, state_dict)
    texts = [
        "How do I cook rice?",
        "Instructions for boiling grain",
        "How do I paint walls?",
    ]
    vectors = embed(texts, *ours(config, state_dict, tokenizer, layers))
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]


def test_break_search_has_a_far_best_match_at_the_end():
    query, corpus, k = break_search()
    cosines = torch.cosine_similarity(corpus, query[None])
    indices, scores = search(query, corpus, k)
    torch.testing.assert_close(scores, cosines.sort(descending=True).values[:k])
    assert cosines.min() < 0
    assert k == len(corpus)
    assert indices.tolist() != sorted(indices.tolist())
    assert indices[0] != (corpus - query).norm(dim=-1).argmin()
