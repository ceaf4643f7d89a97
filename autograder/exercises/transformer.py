"""Cases for the chapter on the transformer.

The stacks are built from small layers of our own, so that a slip in one exercise costs
nothing in the next.
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from autograder.break_exercise import BreakExercise
from autograder.exercise import Exercise
from autograder.inputs import fill, tensor
from autograder.specification import real, reals

_TORCH_LAYERS = (
    "Transformer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
)

_LIBRARY_NORMS = (
    *("layer_norm", "LayerNorm", "native_layer_norm"),
    *("group_norm", "GroupNorm", "instance_norm", "InstanceNorm1d"),
    *("batch_norm", "BatchNorm1d", "rms_norm", "RMSNorm"),
    *("local_response_norm", "LocalResponseNorm"),
)

layer_norm = Exercise("layer_norm", forbidden=_LIBRARY_NORMS)
EncoderLayer = Exercise("EncoderLayer", forbidden=_TORCH_LAYERS)
DecoderLayer = Exercise("DecoderLayer", forbidden=_TORCH_LAYERS)
Encoder = Exercise("Encoder", forbidden=_TORCH_LAYERS)
Decoder = Exercise("Decoder", forbidden=_TORCH_LAYERS)
transformer_parameter_count = Exercise("transformer_parameter_count")

LOOSE = {"rtol": 1e-4, "atol": 1e-5}  # room for steps in single precision


def drawn(*rows):
    """The mask that these rows draw, an x where attention is allowed."""
    return torch.tensor([[character == "x" for character in row] for row in rows])


def some(rng, *shape):
    """A mask that hides about a third, and nothing on the diagonal or in column 0."""
    mask = torch.from_numpy(rng.random(shape) > 0.35)
    mask[..., 0] = True
    return mask | torch.eye(*shape, dtype=torch.bool) if shape[0] == shape[-1] else mask


# Masks are written out: how to make them is an exercise of another chapter.
CAUSAL = {
    3: ("x..", "xx.", "xxx"),
    4: ("x...", "xx..", "xxx.", "xxxx"),
    5: ("x....", "xx...", "xxx..", "xxxx.", "xxxxx"),
}


def gradients(module, loss, *inputs):
    """Gradient of every parameter by name, and of the inputs."""
    loss.backward()
    by_name = {name: p.grad for name, p in sorted(module.named_parameters())}
    return by_name, [x.grad for x in inputs]


def names_and_shapes(module):
    """What a saved file of the module would hold."""
    return {name: list(value.shape) for name, value in module.state_dict().items()}


# layer_norm


def norm_inputs(rng, *shape):
    """Tokens so widely spread that eps does not matter, off centre; weight, bias."""
    sign, spread = rng.choice([-1.0, 1.0], shape[:-1]), rng.uniform(20, 60, shape[:-1])
    apart = np.linspace(-2, 2, shape[-1]) + rng.uniform(-1, 1, shape)
    x = torch.from_numpy(apart * (sign * spread)[..., None])
    x = x + 40 * tensor(rng, *shape[:-1], 1)
    return x, tensor(rng, shape[-1]), tensor(rng, shape[-1])


@layer_norm.case(title="a batch of sequences", points=2, **LOOSE)
def norm_batch(layer_norm, rng):
    return layer_norm(*norm_inputs(rng, 3, 5, 6))


@layer_norm.case(title="as many sequences as tokens as features", points=1, **LOOSE)
def norm_cube(layer_norm, rng):
    return layer_norm(*norm_inputs(rng, 4, 4, 4))


@layer_norm.case(
    title="two features, and a single token without a batch", points=1, **LOOSE
)
def norm_single(layer_norm, rng):
    return layer_norm(*norm_inputs(rng, 2, 3, 2)), layer_norm(*norm_inputs(rng, 7))


@layer_norm.case(title="a tiny variance, where eps decides", points=1, **LOOSE)
def norm_tiny(layer_norm, rng):
    x, weight, bias = norm_inputs(rng, 2, 3, 6)
    return layer_norm(1e-4 * x, weight, bias), layer_norm(0.1 * x, weight, bias, 9.0)


@layer_norm.case(title="a token whose features are all equal", points=1, **LOOSE)
def norm_constant(layer_norm, rng):
    x, weight, bias = norm_inputs(rng, 2, 3, 5)
    x[1, 1] = 4.0
    return layer_norm(x, weight, bias)


@layer_norm.case(title="gradients of tokens, weight and bias", points=1, **LOOSE)
def norm_gradient(layer_norm, rng):
    inputs = [value.requires_grad_() for value in norm_inputs(rng, 2, 3, 6)]
    (layer_norm(*inputs) * tensor(rng, 2, 3, 6)).sum().backward()
    return [value.grad for value in inputs]


@layer_norm.case(
    title="a transposed input is read correctly and left unchanged", points=1, **LOOSE
)
def norm_unchanged(layer_norm, rng):
    x, _, _ = norm_inputs(rng, 2, 6, 3)
    inputs = x.mT, tensor(rng, 6), tensor(rng, 6)
    with torch.no_grad():
        return layer_norm(*inputs), inputs


@layer_norm.case(
    title="single precision, with a mean far from zero", points=1, rtol=0.02, atol=0.02
)
def norm_far_from_zero(layer_norm, rng):
    apart = rng.permuted(np.tile(np.arange(-5, 6), (2, 3, 1)), axis=-1)[..., :8]
    # Means are exact, and of squares nothing but the square of the mean is left.
    x = torch.from_numpy(rng.choice([-1.0, 1.0], (2, 3, 1)) * 2**15 + apart).float()
    return layer_norm(x, tensor(rng, 8).float(), tensor(rng, 8).float())


# EncoderLayer


@EncoderLayer.case(title="normalised after each sum", points=2, **LOOSE)
def encoder_layer_after(EncoderLayer, rng):
    layer = fill(EncoderLayer(6, 2, 10), rng)
    return layer(tensor(rng, 3, 5, 6))


@EncoderLayer.case(title="normalised before each sublayer", points=2, **LOOSE)
def encoder_layer_before(EncoderLayer, rng):
    layer = fill(EncoderLayer(6, 3, 9, norm_first=True), rng)
    return layer(tensor(rng, 2, 4, 6))


@EncoderLayer.case(
    title="a mask for all and a padding mask, in training and in evaluation",
    points=2,
    **LOOSE,
)
def encoder_layer_masks(EncoderLayer, rng):
    layer = fill(EncoderLayer(8, 2, 5, True), rng)
    x, mask, padded = (
        tensor(rng, 3, 5, 8),
        some(rng, 5, 5),
        drawn("xxxxx", "xx...", "xxx.."),
    )
    trained = layer.train()(x, mask, padded)
    with torch.no_grad():
        return trained, layer.eval()(x, mask=mask, padding_mask=padded)


@EncoderLayer.case(title="each mask alone, normalised after", points=1, **LOOSE)
def encoder_layer_each_mask(EncoderLayer, rng):
    layer = fill(EncoderLayer(6, 2, 7), rng)
    x, padded = tensor(rng, 3, 4, 6), drawn("xx..", "xxxx", "x...")
    return layer(x, mask=drawn(*CAUSAL[4])), layer(x, padding_mask=padded)


@EncoderLayer.case(title="another activation and another eps", points=1, **LOOSE)
def encoder_layer_activation(EncoderLayer, rng):
    x = 0.3 * tensor(rng, 2, 5, 4)
    after = fill(EncoderLayer(4, 2, 9, False, F.gelu, 0.1), rng, scale=1.2)
    before = fill(EncoderLayer(4, 2, 6, True, torch.tanh, eps=0.3), rng)
    return after(x), before(x)


@EncoderLayer.case(
    title="gradients of tokens and parameters, both orders", points=1, **LOOSE
)
def encoder_layer_gradients(EncoderLayer, rng):
    found = []
    for norm_first in (False, True):
        layer = fill(EncoderLayer(4, 2, 6, norm_first), rng)
        x = tensor(rng, 2, 3, 4).requires_grad_()
        loss = (layer(x, mask=drawn(*CAUSAL[3])) * tensor(rng, 2, 3, 4)).sum()
        found.append(gradients(layer, loss, x))
    return found


@EncoderLayer.case(title="names and shapes of torch's layer", points=1, **LOOSE)
def encoder_layer_names(EncoderLayer, rng):
    heads, head_dim, d_ff = (int(n) for n in rng.integers(2, 30, 3))
    return names_and_shapes(EncoderLayer(heads * head_dim, heads, d_ff))


@EncoderLayer.case(title="tokens and masks are left unchanged", points=1, **LOOSE)
def encoder_layer_unchanged(EncoderLayer, rng):
    x, mask, padded = tensor(rng, 2, 6, 4).mT, some(rng, 4, 4), drawn("xxxx", "xxx.")
    answers = []
    for norm_first in (False, True, False):  # what is inverted twice is as it was
        layer = fill(EncoderLayer(6, 2, 5, norm_first), rng)
        with torch.no_grad():
            answers.append(layer(x, mask, padded))
    return answers, x, mask, padded


# DecoderLayer


@DecoderLayer.case(title="normalised after each sum", points=2, **LOOSE)
def decoder_layer_after(DecoderLayer, rng):
    layer = fill(DecoderLayer(6, 2, 10), rng)
    return layer(tensor(rng, 3, 5, 6), tensor(rng, 3, 4, 6))


@DecoderLayer.case(title="normalised before each sublayer", points=2, **LOOSE)
def decoder_layer_before(DecoderLayer, rng):
    layer = fill(DecoderLayer(6, 3, 9, norm_first=True), rng)
    return layer(tensor(rng, 2, 4, 6), tensor(rng, 2, 7, 6))


@DecoderLayer.case(
    title="a causal mask and a padded memory, in training and in evaluation",
    points=2,
    **LOOSE,
)
def decoder_layer_masks(DecoderLayer, rng):
    layer = fill(DecoderLayer(8, 2, 5, True), rng)
    x, memory = tensor(rng, 3, 5, 8), tensor(rng, 3, 4, 8)
    mask, padded = drawn(*CAUSAL[5]), drawn("xxxx", "x...", "xx..")
    trained = layer.train()(x, memory, mask, padded)
    with torch.no_grad():
        evaluated = layer.eval()(x, memory, mask=mask, memory_padding_mask=padded)
    return trained, evaluated


@DecoderLayer.case(
    title="each mask alone, with as many tokens as the memory has", points=1, **LOOSE
)
def decoder_layer_each_mask(DecoderLayer, rng):
    layer = fill(DecoderLayer(6, 2, 7), rng)
    x, memory = tensor(rng, 3, 4, 6), tensor(rng, 3, 4, 6)
    padded = drawn("xx..", "xxxx", "x...")
    masked = layer(x, memory, mask=some(rng, 4, 4))
    return masked, layer(x, memory, memory_padding_mask=padded)


@DecoderLayer.case(title="another activation and another eps", points=1, **LOOSE)
def decoder_layer_activation(DecoderLayer, rng):
    x, memory = 0.3 * tensor(rng, 2, 5, 4), tensor(rng, 2, 3, 4)
    after = fill(DecoderLayer(4, 2, 9, False, F.gelu, 0.1), rng, scale=1.2)
    before = fill(DecoderLayer(4, 2, 6, True, torch.tanh, eps=0.3), rng)
    return after(x, memory), before(x, memory)


@DecoderLayer.case(
    title="gradients of tokens, memory and parameters, both orders",
    points=1,
    **LOOSE,
)
def decoder_layer_gradients(DecoderLayer, rng):
    found = []
    for norm_first in (False, True):
        layer = fill(DecoderLayer(4, 2, 6, norm_first), rng)
        x = tensor(rng, 2, 3, 4).requires_grad_()
        memory = tensor(rng, 2, 5, 4).requires_grad_()
        loss = (layer(x, memory, mask=drawn(*CAUSAL[3])) * tensor(rng, 2, 3, 4)).sum()
        found.append(gradients(layer, loss, x, memory))
    return found


@DecoderLayer.case(title="names and shapes of torch's layer", points=1, **LOOSE)
def decoder_layer_names(DecoderLayer, rng):
    heads, head_dim, d_ff = (int(n) for n in rng.integers(2, 30, 3))
    return names_and_shapes(DecoderLayer(heads * head_dim, heads, d_ff))


@DecoderLayer.case(
    title="tokens, memory and masks are left unchanged", points=1, **LOOSE
)
def decoder_layer_unchanged(DecoderLayer, rng):
    x, memory = tensor(rng, 2, 6, 4).mT, tensor(rng, 2, 6, 3).mT
    mask, padded = some(rng, 4, 4), drawn("xxx", "xx.")
    answers = []
    for norm_first in (False, True, False):  # what is inverted twice is as it was
        layer = fill(DecoderLayer(6, 2, 5, norm_first), rng)
        with torch.no_grad():
            answers.append(layer(x, memory, mask, padded))
    return answers, x, memory, mask, padded


# Encoder


class AddingLayer(nn.Module):
    """A small layer with the forward of ``EncoderLayer``: allowed tokens added up."""

    def __init__(self, width):
        super().__init__()
        self.mix = nn.Linear(width, width)

    def forward(self, x, mask=None, padding_mask=None):
        """Add what the allowed tokens say together."""
        allowed = torch.ones(x.shape[0], x.shape[1], x.shape[1], dtype=torch.bool)
        if mask is not None:
            allowed = allowed & mask
        if padding_mask is not None:
            allowed = allowed & padding_mask[:, None]
        return x + torch.tanh(self.mix(0.3 * allowed.to(x.dtype) @ x))


class LookingLayer(nn.Module):
    """A small layer with the forward of ``DecoderLayer``."""

    def __init__(self, width):
        super().__init__()
        self.inner = AddingLayer(width)
        self.read = nn.Linear(width, width)

    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        """Mix the tokens, then add the mean of the memory, seen through a gate."""
        x = self.inner(x, mask=mask)
        if memory_padding_mask is not None:
            memory = memory * memory_padding_mask[..., None]
        return x + torch.tanh(self.read(memory.mean(1, keepdim=True) * x))


@Encoder.case(title="four layers and a final norm", points=2, **LOOSE)
def encoder_norm(Encoder, rng):
    encoder = fill(Encoder(AddingLayer(5), 4, nn.LayerNorm(5)), rng)
    return encoder(tensor(rng, 3, 4, 5))


@Encoder.case(title="three layers without a final norm", points=1, **LOOSE)
def encoder_plain(Encoder, rng):
    encoder = fill(Encoder(AddingLayer(4), 3), rng)
    return encoder(tensor(rng, 2, 5, 4))


@Encoder.case(
    title="masks reach every layer, in training and in evaluation", points=2, **LOOSE
)
def encoder_masks(Encoder, rng):
    encoder = fill(Encoder(AddingLayer(4), 3, norm=nn.LayerNorm(4)), rng)
    x, mask, padded = (
        tensor(rng, 3, 5, 4),
        drawn(*CAUSAL[5]),
        drawn("xxxxx", "xx...", "xxx.."),
    )
    both = encoder.train()(x, mask, padded)
    with torch.no_grad():
        encoder.eval()
        masked, without = encoder(x, mask=mask), encoder(x, padding_mask=padded)
    return both, masked, without


@Encoder.case(
    title="each layer starts as a copy of the one given, which stays outside",
    points=1,
    **LOOSE,
)
def encoder_copies(Encoder, rng):
    pattern, x = fill(AddingLayer(4), rng), tensor(rng, 2, 3, 4)
    encoder = Encoder(pattern, 3)
    with torch.no_grad():
        pattern.mix.weight.zero_()
    before = encoder(x)
    fill(encoder, rng)
    found = {"a new stack": before, "a changed one": encoder(x)}
    return {**found, "the weight of the layer given": pattern.mix.weight}


@Encoder.case(title="every layer learns on its own", points=1, **LOOSE)
def encoder_gradients(Encoder, rng):
    encoder = fill(Encoder(AddingLayer(4), 3, nn.LayerNorm(4)), rng)
    x = tensor(rng, 2, 3, 4).requires_grad_()
    return gradients(encoder, (encoder(x) * tensor(rng, 2, 3, 4)).sum(), x)


@Encoder.case(title="names and shapes, with a norm and without", points=1, **LOOSE)
def encoder_names(Encoder, rng):
    width, count = int(rng.integers(3, 300)), int(rng.integers(2, 7))
    with_norm = Encoder(AddingLayer(width), count, nn.LayerNorm(width))
    plain = Encoder(AddingLayer(width), count)
    plain, with_norm = names_and_shapes(plain), names_and_shapes(with_norm)
    return {"with a norm": with_norm, "without a norm": plain}


# Decoder


@Decoder.case(title="four layers and a final norm", points=2, **LOOSE)
def decoder_norm(Decoder, rng):
    decoder = fill(Decoder(LookingLayer(5), 4, nn.LayerNorm(5)), rng)
    return decoder(tensor(rng, 3, 4, 5), tensor(rng, 3, 6, 5))


@Decoder.case(title="three layers without a final norm", points=1, **LOOSE)
def decoder_plain(Decoder, rng):
    decoder = fill(Decoder(LookingLayer(4), 3), rng)
    return decoder(tensor(rng, 2, 5, 4), tensor(rng, 2, 5, 4))


@Decoder.case(
    title="masks reach every layer, in training and in evaluation", points=2, **LOOSE
)
def decoder_masks(Decoder, rng):
    decoder = fill(Decoder(LookingLayer(4), 3, norm=nn.LayerNorm(4)), rng)
    x, memory = tensor(rng, 3, 5, 4), tensor(rng, 3, 6, 4)
    mask, padded = drawn(*CAUSAL[5]), drawn("xxxxxx", "xx....", "xxx...")
    both = decoder.train()(x, memory, mask, padded)
    with torch.no_grad():
        decoder.eval()
        masked = decoder(x, memory, mask=mask)
        return both, masked, decoder(x, memory, memory_padding_mask=padded)


@Decoder.case(
    title="each layer starts as a copy of the one given, which stays outside",
    points=1,
    **LOOSE,
)
def decoder_copies(Decoder, rng):
    pattern = fill(LookingLayer(4), rng)
    x, memory = tensor(rng, 2, 3, 4), tensor(rng, 2, 5, 4)
    decoder = Decoder(pattern, 3)
    with torch.no_grad():
        pattern.read.weight.zero_()
    before = decoder(x, memory)
    fill(decoder, rng)
    found = {"a new stack": before, "a changed one": decoder(x, memory)}
    return {**found, "the weight of the layer given": pattern.read.weight}


@Decoder.case(title="every layer learns on its own", points=1, **LOOSE)
def decoder_gradients(Decoder, rng):
    decoder = fill(Decoder(LookingLayer(4), 3, nn.LayerNorm(4)), rng)
    x = tensor(rng, 2, 3, 4).requires_grad_()
    memory = tensor(rng, 2, 5, 4).requires_grad_()
    loss = (decoder(x, memory) * tensor(rng, 2, 3, 4)).sum()
    return gradients(decoder, loss, x, memory)


@Decoder.case(title="names and shapes, with a norm and without", points=1, **LOOSE)
def decoder_names(Decoder, rng):
    width, count = int(rng.integers(3, 300)), int(rng.integers(2, 7))
    with_norm = Decoder(LookingLayer(width), count, nn.LayerNorm(width))
    plain = Decoder(LookingLayer(width), count)
    plain, with_norm = names_and_shapes(plain), names_and_shapes(with_norm)
    return {"with a norm": with_norm, "without a norm": plain}


# transformer_parameter_count


@transformer_parameter_count.case(title="sizes drawn at random", points=2)
def count_drawn(transformer_parameter_count, rng):
    return transformer_parameter_count(*(int(n) for n in rng.integers(2, 40, 4)))


@transformer_parameter_count.case(title="an encoder of one layer alone", points=1)
def count_encoder(transformer_parameter_count, rng):
    d_model, d_ff = (int(size) for size in rng.integers(2, 900, 2))
    return transformer_parameter_count(d_model, d_ff, 1, 0)


@transformer_parameter_count.case(title="a decoder of one layer alone", points=1)
def count_decoder(transformer_parameter_count, rng):
    d_model, d_ff = (int(size) for size in rng.integers(2, 900, 2))
    return transformer_parameter_count(d_model, d_ff, 0, 1)


@transformer_parameter_count.case(title="six and six layers, 512 wide", points=1)
def count_default(transformer_parameter_count, rng):
    return transformer_parameter_count(512, 2048, 6, 6)


# break_layer_norm ---------------------------------------------------------------------


break_layer_norm = BreakExercise(
    name="break_layer_norm",
    target=layer_norm,
    parameters=[
        reals("x", "... D"),
        reals("weight", "D"),
        reals("bias", "D"),
        real("eps", 1e-6, 10.0),
    ],
    make=torch.tensor,
)
break_layer_norm.version("right where all weights are 1, or all biases 0")
break_layer_norm.version("right for a single token")
break_layer_norm.version("right where the features of each token sum to zero")
break_layer_norm.version("right while eps is small beside the variance")
break_layer_norm.version("right with the usual eps of 1e-5")
break_layer_norm.small(most=9, points=2)
