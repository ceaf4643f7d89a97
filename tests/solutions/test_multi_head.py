"""Multi-head attention against torch's own layer, plain loops and what must hold."""

import itertools
import math
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from autograder.inputs import fill, tensor
from solutions.multi_head import (
    MultiHeadAttention,
    break_split_heads,
    in_projection,
    in_projection_packed,
    merge_heads,
    projection_parameter_count,
    split_heads,
)

B, N, T, HEADS, E = 2, 3, 5, 4, 8
ERROR = 1e-10  # what the layer may differ from torch's, in double precision


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Tensors this small are slower with two, much slower on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def pair(rng, embed_dim=E, num_heads=HEADS, **options):
    """Our layer and torch's with the same parameters, loaded from ours."""
    ours = fill(MultiHeadAttention(embed_dim, num_heads, **options), rng)
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
        for need, average in [(True, True), (True, False), (False, True)]:
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


def test_masks_of_two_types_are_combined_as_torch_combines_them(rng):
    ours, theirs = pair(rng)
    padding, _ = masks("padding", rng)
    _, attn = masks("3-D float", rng)
    arguments = {"key_padding_mask": padding, "attn_mask": attn}
    assert largest_difference(ours, theirs, inputs(rng), **arguments) < ERROR


@pytest.mark.parametrize("num_heads", [1, 2, 3, 4, 6, 12])
def test_any_number_of_heads_agrees_with_torch_in_self_attention(num_heads, rng):
    ours, theirs = pair(rng, 12, num_heads)
    x = tensor(rng, B, N, 12).requires_grad_()
    assert largest_difference(ours, theirs, [x, x, x]) < ERROR


@pytest.mark.parametrize("options", CONSTRUCTIONS, ids=str)
def test_a_state_dict_fits_both_ways(options, rng):
    ours = MultiHeadAttention(E, HEADS, **options)
    theirs = nn.MultiheadAttention(E, HEADS, **options)
    expected = {name: p.shape for name, p in theirs.state_dict().items()}
    assert {name: p.shape for name, p in ours.state_dict().items()} == expected
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict(theirs.state_dict(), strict=True)
    theirs.load_state_dict(ours.state_dict(), strict=True)


@pytest.mark.parametrize("options", CONSTRUCTIONS, ids=str)
def test_the_first_values_of_all_parameters_are_torchs(options):
    torch.manual_seed(3)
    ours = MultiHeadAttention(E, HEADS, **options).state_dict()
    torch.manual_seed(3)
    theirs = nn.MultiheadAttention(E, HEADS, **options).state_dict()
    for name in theirs:
        torch.testing.assert_close(ours[name], theirs[name], rtol=0, atol=0)


def layer_by_loops(layer, query, key, value):
    """The formula of the paper, head by head, query by query, without a batch."""
    width, d = E, E // HEADS
    w_q, w_k, w_v = layer.in_proj_weight.detach().split(width)
    b_q, b_k, b_v = layer.in_proj_bias.detach().split(width)
    joined = torch.zeros(len(query), width, dtype=torch.float64)
    maps = torch.zeros(HEADS, len(query), len(key), dtype=torch.float64)
    for head in range(HEADS):
        rows = slice(head * d, (head + 1) * d)
        for i, token in enumerate(query):
            q = w_q[rows] @ token + b_q[rows]
            scores = [
                float(q @ (w_k[rows] @ other + b_k[rows])) / math.sqrt(d)
                for other in key
            ]
            total = sum(math.exp(score) for score in scores)
            for j, score in enumerate(scores):
                maps[head, i, j] = math.exp(score) / total
                joined[i, rows] += maps[head, i, j] * (w_v[rows] @ value[j] + b_v[rows])
    return (
        joined @ layer.out_proj.weight.detach().T + layer.out_proj.bias.detach(),
        maps,
    )


def test_the_layer_agrees_with_the_formula_in_plain_loops(rng):
    layer = fill(MultiHeadAttention(E, HEADS), rng)
    query, key, value = (x.detach() for x in inputs(rng, batched=False))
    output, weights = layer(query, key, value, average_attn_weights=False)
    expected_output, expected_weights = layer_by_loops(layer, query, key, value)
    torch.testing.assert_close(output, expected_output)
    torch.testing.assert_close(weights, expected_weights)


@pytest.mark.parametrize("number", [bool, float])
@pytest.mark.parametrize("need_weights", [True, False])
def test_a_query_that_may_see_nothing_reads_the_bias_and_sends_no_gradient(
    number, need_weights, rng
):
    layer = fill(MultiHeadAttention(E, HEADS), rng)
    query, key, value = inputs(rng)
    padding = torch.zeros(B, T, dtype=torch.bool)
    padding[1, :3] = True
    attn = torch.zeros(N, T, dtype=torch.bool)
    attn[0] = True  # query 0 of both sequences, by one mask alone
    attn[2, 3:] = True  # query 2 of the second sequence, by both masks together
    if number is float:
        padding, attn = (
            torch.zeros(m.shape).double().masked_fill(m, -torch.inf)
            for m in (padding, attn)
        )
    output, weights = layer(query, key, value, padding, attn, need_weights, False)
    nothing = torch.tensor([[True, False, False], [True, False, True]])
    bias = layer.out_proj.bias.expand(3, -1)
    torch.testing.assert_close(output[nothing], bias)
    assert output.isfinite().all()
    if need_weights:
        sums = weights.sum(-1)
        expected = (~nothing).double()[:, None].expand(B, HEADS, N)
        torch.testing.assert_close(sums, expected)
    output.square().sum().backward()
    for x in (query, key, value, *layer.parameters()):
        assert x.grad.isfinite().all()
    assert (query.grad[nothing] == 0).all()
    assert (query.grad[~nothing] != 0).any()


def test_where_torch_gives_nan_for_a_row_the_other_rows_agree(rng):
    ours, theirs = pair(rng)
    tokens = [x.detach() for x in inputs(rng)]
    attn = torch.zeros(N, T, dtype=torch.bool)
    attn[1] = True
    output, _ = ours(*tokens, attn_mask=attn)
    expected, _ = theirs(*tokens, attn_mask=attn)
    assert expected[:, 1].isnan().all()
    torch.testing.assert_close(output[:, [0, 2]], expected[:, [0, 2]])


def test_hidden_keys_have_no_influence_at_all(rng):
    layer = fill(MultiHeadAttention(E, HEADS), rng)
    query, key, value = (x.detach() for x in inputs(rng))
    padding = torch.zeros(B, T, dtype=torch.bool)
    padding[0, 3:] = True
    output, weights = layer(query, key, value, padding)
    key[0, 3:], value[0, 3:] = 1e3, -1e3
    changed, changed_weights = layer(query, key, value, padding)
    torch.testing.assert_close(changed, output)
    torch.testing.assert_close(changed_weights, weights)
    assert (weights[0, :, 3:] == 0).all()


def test_the_output_is_a_sum_over_heads_of_what_each_puts_through_its_columns(rng):
    layer = fill(MultiHeadAttention(E, HEADS), rng)
    query, key, value = (x.detach() for x in inputs(rng))
    output, weights = layer(query, key, value, average_attn_weights=False)
    _, _, v = in_projection_packed(
        query, key, value, layer.in_proj_weight, layer.in_proj_bias
    )
    read = weights @ split_heads(v, HEADS)  # (B, h, N, d)
    columns = layer.out_proj.weight.split(E // HEADS, dim=1)
    parts = [read[:, i] @ columns[i].T for i in range(HEADS)]
    torch.testing.assert_close(sum(parts) + layer.out_proj.bias, output)


def test_exchanging_two_heads_everywhere_changes_nothing(rng):
    layer = fill(MultiHeadAttention(E, HEADS), rng)
    query, key, value = (x.detach() for x in inputs(rng))
    output, weights = layer(query, key, value, average_attn_weights=False)
    order = torch.arange(E).view(HEADS, -1)[[1, 0, 2, 3]].flatten()
    with torch.no_grad():
        for third in range(3):
            rows = slice(third * E, (third + 1) * E)
            layer.in_proj_weight[rows] = layer.in_proj_weight[rows][order]
            layer.in_proj_bias[rows] = layer.in_proj_bias[rows][order]
        layer.out_proj.weight.copy_(layer.out_proj.weight[:, order])
    swapped, swapped_weights = layer(query, key, value, average_attn_weights=False)
    torch.testing.assert_close(swapped, output)
    torch.testing.assert_close(swapped_weights, weights[:, [1, 0, 2, 3]])


def test_layer_is_the_same_in_training_and_evaluation_and_leaves_its_inputs(rng):
    layer = fill(MultiHeadAttention(E, HEADS, add_bias_kv=True), rng)
    tokens = [x.detach() for x in inputs(rng)]
    before = [x.clone() for x in tokens]
    padding, attn = masks("3-D float padding", rng)
    first = layer.train()(*tokens, padding, attn)
    second = layer.eval()(*tokens, padding, attn)
    for one, other in zip(first, second, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)
    for x, copy in zip(tokens, before, strict=True):
        assert torch.equal(x, copy)


def test_splitting_gives_head_i_the_i_th_slice_of_every_token(rng):
    x = tensor(rng, B, N, 6)
    heads = split_heads(x, 3)
    for b, head, n in itertools.product(range(B), range(3), range(N)):
        assert torch.equal(heads[b, head, n], x[b, n, 2 * head : 2 * head + 2])
    assert torch.equal(heads, torch.stack(x.split(2, dim=-1), dim=1))


@pytest.mark.parametrize("num_heads", [1, 2, 3, 4, 6, 12])
def test_merging_undoes_splitting(num_heads, rng):
    x = tensor(rng, 12, N, B).mT.transpose(0, 2)  # (N, B, 12), not contiguous
    assert torch.equal(merge_heads(split_heads(x, num_heads)), x)


def test_projections_agree_with_the_functions_inside_torchs_layer(rng):
    query, key, value = (x.detach() for x in inputs(rng, kdim=6, vdim=7))
    weights, bias = [tensor(rng, E, width) for width in (E, 6, 7)], tensor(rng, 3 * E)
    expected = F._in_projection(query, key, value, *weights, *bias.chunk(3))
    for one, other in zip(
        in_projection(query, key, value, *weights, bias), expected, strict=True
    ):
        torch.testing.assert_close(one, other)
    query, key, value = (x.detach() for x in inputs(rng))
    packed = tensor(rng, 3 * E, E)
    for added in (bias, None):
        expected = F._in_projection_packed(query, key, value, packed, added)
        for one, other in zip(
            in_projection_packed(query, key, value, packed, added),
            expected,
            strict=True,
        ):
            torch.testing.assert_close(one, other)


@pytest.mark.parametrize("embed_dim", [1, 6, 12, 512])
def test_the_count_is_that_of_torchs_layer_whatever_the_number_of_heads(embed_dim):
    for num_heads in (h for h in (1, 2, 3, 4, 6) if embed_dim % h == 0):
        layer = nn.MultiheadAttention(embed_dim, num_heads)
        expected = sum(p.numel() for p in layer.parameters())
        assert projection_parameter_count(embed_dim, num_heads) == expected


def attend(*shapes, **arguments):
    layer = MultiHeadAttention(E, HEADS, **arguments.pop("options", {})).double()
    return layer(*(torch.ones(s).double() for s in shapes), **arguments)


@pytest.mark.parametrize(
    ("call", "at_odds"),
    [
        (lambda: split_heads(torch.ones(2, 3, 10), 3), "10.*3"),
        (lambda: split_heads(torch.ones(2, 3, 6), 0), "6.*0"),
        (lambda: split_heads(torch.ones(2, 3, 6), -3), "6.*-3"),
        (lambda: MultiHeadAttention(10, 3), "10.*3"),
        (lambda: MultiHeadAttention(6, -3), "6.*-3"),
    ],
)
def test_heads_that_do_not_divide_the_features_are_named(call, at_odds):
    with pytest.raises(ValueError, match=at_odds):
        call()


def test_break_split_heads_has_different_sizes_and_values():
    x, num_heads = break_split_heads()
    B, N, E = x.shape
    assert len({num_heads, E // num_heads}) == 2
    assert N > 1 and num_heads > 1
    assert len(x.unique()) == x.numel()
    assert torch.equal(torch.cat(list(split_heads(x, num_heads)[0]), dim=-1), x[0])
