"""What the pages say about a version of PyTorch holds for the one that is installed.

Each test stands for a statement of the pages that it names. It fails when the installed
PyTorch behaves otherwise: then mend the pages.
"""

import re

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.book.contents import ROOT, pages_of_the_book

NAMED = re.compile(r"(?<!before )PyTorch\s+(\d+\.\d+)")


def pinned() -> str:
    """The version of PyTorch that the book is built with, such as 2.13."""
    requirements = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    return re.search(r"^torch==(\d+\.\d+)", requirements, re.M)[1]


def self_attention(**options) -> nn.MultiheadAttention:
    torch.manual_seed(0)
    return nn.MultiheadAttention(8, 2, **options)


@pytest.fixture
def x() -> torch.Tensor:
    """Two sequences of five tokens."""
    return torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(1))


def test_all_pages_name_the_version_that_the_book_is_built_with():
    named = {}
    for page in pages_of_the_book():
        source = (ROOT / f"{page}.md").read_text(encoding="utf-8")
        named |= dict.fromkeys(NAMED.findall(source), page)
    assert set(named) == {pinned()}, named


# Masks --------------------------------------------------------------------------------


def test_a_fully_masked_query_gives_0_or_nan(x):
    # Said in: pytorch_attention
    nothing = torch.zeros(5, 5, dtype=torch.bool)
    assert (F.scaled_dot_product_attention(x, x, x, nothing) == 0).all()
    layer = self_attention(batch_first=True, bias=False)
    for mask in ({"attn_mask": ~nothing}, {"key_padding_mask": ~nothing[:2]}):
        assert layer(x, x, x, **mask)[0].isnan().all()
        assert (layer(x, x, x, **mask, need_weights=False)[0] == 0).all()


def test_is_causal_aligns_the_triangle_with_the_first_key(x):
    # Said in: decoding
    one = F.scaled_dot_product_attention(x[:, -1:], x, torch.eye(5), is_causal=True)
    assert one.tolist() == [[[1.0, 0, 0, 0, 0]]] * 2


# The layer of several heads -----------------------------------------------------------


def test_the_layer_expects_the_batch_second(x):
    # Said in: pytorch_attention
    changed = x.clone()
    changed[1] = 0.0
    for first in (True, False):
        layer = self_attention(batch_first=first)
        left_alone = torch.allclose(
            layer(x, x, x)[0][0], layer(changed, changed, changed)[0][0]
        )
        assert left_alone is first


# Transformer layers, losses, embeddings -----------------------------------------------


def test_the_encoder_layer_has_dropout_relu_and_post_norm_by_default():
    # Said in: vision_transformer
    layer = nn.TransformerEncoderLayer(8, 2)
    assert layer.dropout.p == 0.1
    assert layer.activation is F.relu
    assert layer.norm_first is False
    assert layer.self_attn.batch_first is False


def test_the_mean_loss_of_nothing_but_padding_is_nan():
    # Said in: seq2seq
    loss = F.cross_entropy(torch.zeros(3, 4), torch.zeros(3).long(), ignore_index=0)
    assert loss.isnan()
