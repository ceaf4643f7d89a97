"""What the pages say about a version of PyTorch holds for the one that is installed.

Each test stands for a statement of the pages that it names. It fails when the installed
PyTorch behaves otherwise: then mend the pages.
"""

import inspect
import re

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.profiler import ProfilerActivity, profile

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


def test_the_layer_returns_the_mean_of_the_heads_weights(x):
    # Said in: pytorch_attention
    layer = self_attention(batch_first=True)
    each = layer(x, x, x, average_attn_weights=False)[1]
    torch.testing.assert_close(layer(x, x, x)[1], each.mean(dim=1))


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


def test_the_layer_reads_the_width_after_the_heads_were_split():
    # Said in: pytorch_attention
    source = inspect.getsource(F.multi_head_attention_forward)
    split, scaled = (
        source.index("bsz * num_heads, head_dim"),
        source.index("math.sqrt("),
    )
    assert split < source.index("_B, _Nt, E = q.shape") < scaled


def test_masks_are_added_in_the_call_that_multiplies(x):
    # Said in: pytorch_attention
    layer, mask = self_attention(batch_first=True), torch.zeros(5, 5)
    assert "aten::baddbmm" in operations(lambda: layer(x, x, x, attn_mask=mask))


def test_the_layer_takes_need_weights_before_attn_mask_and_defaults_to_true():
    # Said in: pytorch_attention
    parameters = inspect.signature(nn.MultiheadAttention.forward).parameters
    names = list(parameters)
    assert names.index("need_weights") < names.index("attn_mask")
    assert parameters["need_weights"].default is True


def operations(call) -> set[str]:
    """The names of all operations that a call carries out."""
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        call()
    return {event.key for event in seen.key_averages()}


def test_the_function_processes_tiles_by_default_and_has_a_plain_backend():
    # Said in: efficient_attention
    x = torch.randn(1, 1, 64, 16)
    by_default = operations(lambda: F.scaled_dot_product_attention(x, x, x))
    assert any("flash_attention" in name for name in by_default)
    with nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH):
        plain = operations(lambda: F.scaled_dot_product_attention(x, x, x))
    assert "aten::_scaled_dot_product_attention_math" in plain


# Transformer layers, losses, embeddings -----------------------------------------------


def test_the_encoder_layer_has_dropout_relu_and_post_norm_by_default():
    # Said in: vision_transformer
    layer = nn.TransformerEncoderLayer(8, 2)
    assert layer.dropout.p == 0.1
    assert layer.activation is F.relu
    assert layer.norm_first is False
    assert layer.self_attn.batch_first is False


def test_the_transformer_is_post_norm_and_ends_each_stack_with_a_norm():
    # Said in: transformer
    model = nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    assert model.encoder.layers[0].norm_first is False
    assert model.decoder.layers[0].norm_first is False
    assert isinstance(model.encoder.norm, nn.LayerNorm)
    assert isinstance(model.decoder.norm, nn.LayerNorm)


def test_the_mean_loss_of_nothing_but_padding_is_nan():
    # Said in: seq2seq
    loss = F.cross_entropy(torch.zeros(3, 4), torch.zeros(3).long(), ignore_index=0)
    assert loss.isnan()


def test_rows_of_an_embedding_are_drawn_with_variance_1():
    # Said in: language_model
    torch.manual_seed(0)
    assert nn.Embedding(1000, 64).weight.var().item() == pytest.approx(1, abs=0.03)
