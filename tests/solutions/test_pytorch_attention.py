"""PyTorch's attention layer, rebuilt, against the layer itself."""

import itertools
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from autograder.inputs import fill, tensor
from solutions.pytorch_attention import (
    TorchMultiheadAttention,
    in_projection,
    in_projection_packed,
)

B, N, T, HEADS, E = 2, 3, 5, 4, 8
ERROR = 1e-10  # what the layer may differ from torch's, in double precision


def pair(rng, embed_dim=E, num_heads=HEADS, **options):
    """Our layer and torch's with the same parameters, loaded from ours."""
    ours = fill(TorchMultiheadAttention(embed_dim, num_heads, **options), rng)
    theirs = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True, **options)
    theirs.double().load_state_dict(ours.state_dict(), strict=True)
    return ours, theirs


def inputs(rng, batched=True, kdim=None, vdim=None):
    """Query, key and value that want gradients."""
    shapes = (N, E), (T, kdim or E), (T, vdim or E)
    batch = (B,) if batched else ()
    return [tensor(rng, *batch, *shape).requires_grad_() for shape in shapes]


def masks(kind, rng, batched=True):
    """The two masks of one kind, which leave every query at least one key."""
    batch = B if batched else 1
    padding = torch.zeros(batch, T, dtype=torch.bool)
    padding[0, -1] = True
    if kind == "no":
        return None, None
    if kind.startswith("padding"):
        attn = None
    elif "3-D" in kind:
        attn = torch.from_numpy(rng.random((batch * HEADS, N, T)) < 0.4)
        attn[..., 0] = False
    else:
        attn = torch.ones(N, T, dtype=torch.bool).triu(2)
    padding = padding if "padding" in kind else None
    if "float" in kind:
        numbers = tensor(rng, *attn.shape) if attn is not None else None
        attn = None if attn is None else numbers.masked_fill(attn, -torch.inf)
        if padding is not None:
            padding = tensor(rng, batch, T).masked_fill(padding, -torch.inf)
    if padding is not None and not batched:
        padding = padding[0]
    return padding, attn


def largest_difference(ours, theirs, tokens, **arguments):
    """Between outputs, weights and all gradients of the two layers."""
    found = 0.0
    gradients = []
    for layer in (ours, theirs):
        layer.zero_grad()
        for x in tokens:
            x.grad = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # masks of two types
            output, weights = layer(*tokens, **arguments)
        loss = (output * torch.linspace(-1, 1, output.numel()).view_as(output)).sum()
        if weights is not None:
            loss = loss + (weights**2).sum()
        loss.backward()
        slopes = {name: p.grad for name, p in layer.named_parameters()}
        slopes |= {f"input {i}": x.grad.clone() for i, x in enumerate(tokens)}
        gradients.append((output, weights, slopes))
    (output, weights, slopes), (their_output, their_weights, their_slopes) = gradients
    assert (weights is None) == (their_weights is None)
    assert slopes.keys() == their_slopes.keys()
    pairs = [(output, their_output)] + [(slopes[k], their_slopes[k]) for k in slopes]
    if weights is not None:
        pairs.append((weights, their_weights))
    for one, other in pairs:
        assert one.shape == other.shape
        found = max(found, (one - other).abs().max().item())
    return found


CONSTRUCTIONS = [
    {"bias": bias, "add_bias_kv": kv, "add_zero_attn": zero, "kdim": k, "vdim": v}
    for bias, kv, zero in itertools.product([True, False], repeat=3)
    for k, v in [(None, None), (6, None), (None, 7), (6, 7), (E, E)]
]
MASKS = [
    "no",
    "padding",
    "padding float",
    "2-D",
    "2-D float",
    "3-D",
    "3-D float",
    "2-D padding",
    "2-D float padding",
    "3-D padding",
    "3-D float padding",
]


@pytest.mark.parametrize("options", CONSTRUCTIONS, ids=str)
def test_the_layer_equals_torchs_in_every_combination_of_options(options, rng):
    ours, theirs = pair(rng, **options)
    sizes = {"kdim": options["kdim"], "vdim": options["vdim"]}
    other_widths = sizes in ({"kdim": 6, "vdim": None}, {"kdim": None, "vdim": 7})
    kinds = ["no"] if other_widths else MASKS  # they take the path of 6 and 7
    for kind, batched in itertools.product(kinds, [True, False]):
        tokens = inputs(rng, batched, **sizes)
        padding, attn = masks(kind, rng, batched)
        every_way = [(True, False), (True, True), (False, True)]
        for need, average in every_way if kind == "no" else every_way[:1]:
            error = largest_difference(
                ours,
                theirs,
                tokens,
                key_padding_mask=padding,
                attn_mask=attn,
                need_weights=need,
                average_attn_weights=average,
            )
            assert error < ERROR, (kind, batched, need, average)


def test_projections_agree_with_the_functions_inside_torchs_layer(rng):
    tokens = [x.detach() for x in inputs(rng, kdim=6, vdim=7)]
    weights, bias = [tensor(rng, E, width) for width in (E, 6, 7)], tensor(rng, 3 * E)
    expected = F._in_projection(*tokens, *weights, *bias.chunk(3))
    torch.testing.assert_close(in_projection(*tokens, *weights, bias), expected)
    tokens, packed = [x.detach() for x in inputs(rng)], tensor(rng, 3 * E, E)
    for added in (bias, None):
        found = in_projection_packed(*tokens, packed, added)
        expected = F._in_projection_packed(*tokens, packed, added)
        torch.testing.assert_close(tuple(found), tuple(expected))
