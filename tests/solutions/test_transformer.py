"""The transformer against torch's own: names, values, gradients, counts."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from solutions.transformer import (
    DecoderLayer,
    Encoder,
    EncoderLayer,
    feed_forward,
    layer_norm,
    transformer_parameter_count,
)

B, N, T, E, HEADS, D_FF = 3, 5, 7, 12, 3, 20
EXACT = {"rtol": 0.0, "atol": 1e-10}

pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor")

ORDERS = pytest.mark.parametrize("norm_first", [False, True], ids=["after", "before"])


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(11)


def tokens(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def scrambled(module):
    """Weights and biases of which none is zero or one, as after training."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return module


def causal(n):
    return torch.ones(n, n, dtype=torch.bool).tril()


def padding(lengths, longest):
    return torch.arange(longest) < torch.tensor(lengths)[:, None]


def flip(mask):
    return None if mask is None else ~mask


def assert_same_values_and_gradients(ours, theirs, our_module, their_module, inputs):
    torch.testing.assert_close(ours, theirs, **EXACT)
    direction = torch.randn_like(theirs)
    names = [name for name, _ in their_module.named_parameters()]
    assert names == [name for name, _ in our_module.named_parameters()]
    for output, module in ((ours, our_module), (theirs, their_module)):
        module.found = torch.autograd.grad(
            (output * direction).sum(), [*inputs, *module.parameters()]
        )
    for name, one, other in zip(
        [*(f"input {i}" for i in range(len(inputs))), *names],
        our_module.found,
        their_module.found,
        strict=True,
    ):
        torch.testing.assert_close(one, other, **EXACT, msg=name)


@pytest.mark.parametrize("shape", [(6,), (3, 6), (2, 3, 4, 6), (3, 1)])
@pytest.mark.parametrize("eps", [1e-5, 0.3])
def test_layer_norm_is_that_of_torch(shape, eps):
    x, weight, bias = torch.randn(shape), *torch.randn(2, shape[-1])
    x, weight, bias = x.double(), weight.double(), bias.double()
    theirs = F.layer_norm(x, shape[-1:], weight, bias, eps)
    ours = layer_norm(x.numpy(), weight.numpy(), bias.numpy(), eps)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10)


@pytest.mark.parametrize("shape", [(6,), (3, 6), (2, 3, 6)])
def test_feed_forward_is_two_linear_maps_of_torch_with_a_relu(shape):
    first, second = nn.Linear(6, 11).double(), nn.Linear(11, 6).double()
    x = torch.randn(shape).double()
    with torch.no_grad():
        theirs = nn.Sequential(first, nn.ReLU(), second)(x)
        arrays = (first.weight.mT, first.bias, second.weight.mT, second.bias)
        ours = feed_forward(x.numpy(), *(array.numpy() for array in arrays))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10)


@ORDERS
def test_whole_stacks_load_the_weights_of_torch_and_give_its_results(norm_first):
    sizes = {"num_encoder_layers": 3, "num_decoder_layers": 3, "dim_feedforward": D_FF}
    options = {"dropout": 0.0, "batch_first": True, "norm_first": norm_first}
    theirs = scrambled(nn.Transformer(E, HEADS, **sizes, **options).double())
    ours = nn.Module()
    arguments = E, HEADS, D_FF, norm_first
    ours.encoder = Encoder(EncoderLayer(*arguments), 3, nn.LayerNorm(E))
    ours.decoder = Encoder(DecoderLayer(*arguments), 3, nn.LayerNorm(E))
    ours.double()
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict(theirs.state_dict())
    source, target = tokens(B, T, E), tokens(B, N, E)
    padded = padding([7, 1, 4], T)
    memory = ours.encoder(source, causal(T), padded)
    result = ours.decoder(target, memory, causal(N), padded)
    expected = theirs(
        source,
        target,
        src_mask=~causal(T),
        tgt_mask=~causal(N),
        src_key_padding_mask=~padded,
        memory_key_padding_mask=~padded,
    )
    assert_same_values_and_gradients(result, expected, ours, theirs, [source, target])


@pytest.mark.parametrize(
    "sizes", [(512, 2048, 6, 6), (8, 5, 2, 3), (6, 7, 1, 0), (6, 7, 0, 1), (4, 3, 0, 0)]
)
def test_the_count_is_that_of_torch(sizes):
    d_model, d_ff, encoder_layers, decoder_layers = sizes
    with torch.device("meta"):
        model = nn.Transformer(d_model, 2, encoder_layers, decoder_layers, d_ff)
    expected = sum(parameter.numel() for parameter in model.parameters())
    assert transformer_parameter_count(*sizes) == expected
