"""Cases for the chapter on the transformer.

The stacks are built from small layers of our own, so that a slip in one exercise costs
nothing in the next.
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from autograder.exercise import Exercise
from autograder.inputs import fill, tensor

_TORCH_LAYERS = (
    "Transformer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
)

layer_norm = Exercise(
    "layer_norm",
    core=True,
    right="Each token has mean 0 and variance 1 before scale and offset, whatever the "
    "others are.",
    hints=(
        "Each token is normalised alone. Which axis holds the features of one token?",
        "Subtract the mean first. The mean of the squares of what is left is the "
        "variance; both need keepdims, so that they line up with x.",
        "Start with centred = x - x.mean(axis=-1, keepdims=True). The epsilon goes "
        "under the square root.",
    ),
)
feed_forward = Exercise(
    "feed_forward",
    core=True,
    right="Each token passes through the same two maps alone, with the relu between "
    "them.",
    hints=(
        "Follow the shapes: (..., D) becomes (..., F) and returns to (..., D). Where "
        "is the nonlinearity?",
        "Every hidden unit is one column of W_1 with one entry of b_1. Its value is "
        "cut off at zero before W_2 sees it; the output is not.",
        "relu is np.maximum(..., 0). Begin with x @ W_1 + b_1.",
    ),
)
EncoderLayer = Exercise(
    "EncoderLayer",
    forbidden=_TORCH_LAYERS,
    core=True,
    right="Attention mixes the tokens, the feed-forward network takes each alone, and "
    "both add to the residual stream.",
    hints=(
        "Read the drawing from bottom to top, and write one line for each sublayer: "
        "what goes in, what is added, where the norm stands. Do it for both orders.",
        "Write two small helpers, one for the attention with its masks and one for "
        "linear2(activation(linear1(x))). The two orders are then two lines each.",
        "nn.MultiheadAttention needs batch_first=True, returns a pair, and marks with "
        "True what it ignores. Pass ~mask where there is a mask, and None otherwise.",
    ),
)
DecoderLayer = Exercise(
    "DecoderLayer",
    forbidden=_TORCH_LAYERS,
    hints=(
        "Start from your encoder layer. One sublayer is added in the middle, with a "
        "norm of its own: which tokens does its output replace, and so which tokens "
        "give its queries?",
        "The mask belongs to the attention among the tokens, memory_padding_mask to "
        "the attention to the memory. Torch's names for them are attn_mask and "
        "key_padding_mask.",
        "The new call is self.multihead_attn(query, memory, memory, ...). With "
        "norm_first, norm2 normalises the query, and the memory stays as it is.",
    ),
)
Encoder = Exercise(
    "Encoder",
    forbidden=_TORCH_LAYERS,
    hints=(
        "Each layer receives the output of the one before it. What does it receive "
        "besides, and does that change on the way?",
        "Copies with parameters of their own come from copy.deepcopy, once for each "
        "layer; torch finds them in an nn.ModuleList.",
        "def forward(self, x, *arguments, **named) collects whatever is given; "
        "layer(x, *arguments, **named) passes it on.",
    ),
)
transformer_parameter_count = Exercise(
    "transformer_parameter_count",
    hints=(
        "Count the tensors of one attention, one feed-forward network and one norm "
        "first. How many of each does a layer have?",
        "An attention is four square maps with biases. An encoder layer has one "
        "attention and two norms, a decoder layer two attentions and three norms.",
        "Do not forget the norm at the end of each stack. Print the shapes in "
        "nn.Transformer(8, 2, 1, 0, 5).state_dict() to see where you differ.",
    ),
)

LOOSE = {"rtol": 1e-4, "atol": 1e-5}  # room for steps in single precision


def some(rng, n):
    """(n, n) mask: each query may attend to the first key, never to the last one."""
    mask = torch.from_numpy(rng.random((n, n)) > 0.5)
    mask[:, 0], mask[:, -1] = True, False
    return mask


def padding(longest, *lengths):
    """(B, longest) mask of sequences that all are shorter than the longest."""
    return torch.arange(longest) < torch.tensor(lengths)[:, None]


def names_and_shapes(module):
    """What a saved file of the module would hold."""
    return {name: list(value.shape) for name, value in module.state_dict().items()}


# layer_norm


def norm_inputs(rng, *shape):
    """Tokens so widely spread that eps does not matter, off centre; weight, bias."""
    sign, spread = rng.choice([-1.0, 1.0], shape[:-1]), rng.uniform(20, 60, shape[:-1])
    apart = np.linspace(-2, 2, shape[-1]) + rng.uniform(-1, 1, shape)
    x = apart * (sign * spread)[..., None]
    x = x + 40 * rng.standard_normal((*shape[:-1], 1))
    return x, rng.standard_normal(shape[-1]), rng.standard_normal(shape[-1])


@layer_norm.case(title="a batch of sequences", points=2)
def norm_batch(layer_norm, rng):
    return layer_norm(*norm_inputs(rng, 3, 5, 6))


@layer_norm.case(title="as many sequences as tokens as features", points=1)
def norm_cube(layer_norm, rng):
    return layer_norm(*norm_inputs(rng, 4, 4, 4))


@layer_norm.case(title="two features, and a single token without a batch", points=1)
def norm_single(layer_norm, rng):
    return layer_norm(*norm_inputs(rng, 2, 3, 2)), layer_norm(*norm_inputs(rng, 7))


@layer_norm.case(title="a tiny variance, where eps decides", points=1)
def norm_tiny(layer_norm, rng):
    x, weight, bias = norm_inputs(rng, 2, 3, 6)
    return layer_norm(1e-4 * x, weight, bias), layer_norm(0.1 * x, weight, bias, 9.0)


@layer_norm.case(title="a token whose features are all equal", points=1)
def norm_constant(layer_norm, rng):
    x, weight, bias = norm_inputs(rng, 2, 3, 5)
    x[1, 1] = 4.0
    return layer_norm(x, weight, bias)


# feed_forward


def feed_forward_weights(rng, d, f):
    """W_1, b_1, W_2, b_2, of which none is small."""
    shapes = (d, f), (f,), (f, d), (d,)
    return [rng.standard_normal(shape) for shape in shapes]


@feed_forward.case(title="a batch of sequences", points=2)
def feed_forward_batch(feed_forward, rng):
    return feed_forward(
        rng.standard_normal((3, 5, 4)), *feed_forward_weights(rng, 4, 16)
    )


@feed_forward.case(title="as many hidden units as features", points=1)
def feed_forward_square(feed_forward, rng):
    return feed_forward(
        rng.standard_normal((2, 3, 5)), *feed_forward_weights(rng, 5, 5)
    )


@feed_forward.case(title="a token for which every hidden unit is off", points=1)
def feed_forward_off(feed_forward, rng):
    W_1, b_1, W_2, b_2 = feed_forward_weights(rng, 4, 7)
    x = rng.uniform(0.5, 1.5, (2, 4))
    W_1[:] = np.where(rng.random(7) < 0.5, 1, -1) * abs(W_1)
    x[1] = 0.0
    return feed_forward(x, W_1, -abs(b_1), W_2, b_2)


# EncoderLayer


@EncoderLayer.case(title="normalised after each sum", points=2, **LOOSE)
def encoder_layer_after(EncoderLayer, rng):
    layer = fill(EncoderLayer(6, 2, 10), rng)
    return layer(tensor(rng, 3, 5, 6))


@EncoderLayer.case(title="normalised before each sublayer", points=2, **LOOSE)
def encoder_layer_before(EncoderLayer, rng):
    layer = fill(EncoderLayer(6, 3, 9, norm_first=True), rng)
    return layer(tensor(rng, 2, 4, 6))


@EncoderLayer.case(title="both masks, in training and in evaluation", points=2, **LOOSE)
def encoder_layer_masks(EncoderLayer, rng):
    layer = fill(EncoderLayer(8, 2, 5, True), rng)
    x, mask, padded = tensor(rng, 3, 5, 8), some(rng, 5), padding(5, 4, 2, 3)
    trained = layer.train()(x, mask, padded)
    with torch.no_grad():
        return trained, layer.eval()(x, mask=mask, padding_mask=padded)


@EncoderLayer.case(title="each mask alone, normalised after", points=1, **LOOSE)
def encoder_layer_each_mask(EncoderLayer, rng):
    layer = fill(EncoderLayer(6, 2, 7), rng)
    x, padded = tensor(rng, 3, 4, 6), padding(4, 2, 3, 1)
    return layer(x, mask=some(rng, 4)), layer(x, padding_mask=padded)


@EncoderLayer.case(
    title="a different activation and a different eps", points=1, **LOOSE
)
def encoder_layer_activation(EncoderLayer, rng):
    x = 0.3 * tensor(rng, 2, 5, 4)
    after = fill(EncoderLayer(4, 2, 9, False, F.gelu, 0.1), rng, scale=1.2)
    before = fill(EncoderLayer(4, 2, 6, True, torch.tanh, eps=0.3), rng)
    return after(x), before(x)


@EncoderLayer.case(title="names and shapes of torch's layer", points=1, **LOOSE)
def encoder_layer_names(EncoderLayer, rng):
    heads, head_dim, d_ff = (int(n) for n in rng.integers(2, 30, 3))
    return names_and_shapes(EncoderLayer(heads * head_dim, heads, d_ff))


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
    title="a mask and a padded memory, in training and in evaluation",
    points=2,
    **LOOSE,
)
def decoder_layer_masks(DecoderLayer, rng):
    layer = fill(DecoderLayer(8, 2, 5, True), rng)
    x, memory = tensor(rng, 3, 5, 8), tensor(rng, 3, 4, 8)
    mask, padded = some(rng, 5), padding(4, 3, 1, 2)
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
    masked = layer(x, memory, mask=some(rng, 4))
    return masked, layer(x, memory, memory_padding_mask=padding(4, 2, 3, 1))


@DecoderLayer.case(
    title="a different activation and a different eps", points=1, **LOOSE
)
def decoder_layer_activation(DecoderLayer, rng):
    x, memory = 0.3 * tensor(rng, 2, 5, 4), tensor(rng, 2, 3, 4)
    after = fill(DecoderLayer(4, 2, 9, False, F.gelu, 0.1), rng, scale=1.2)
    before = fill(DecoderLayer(4, 2, 6, True, torch.tanh, eps=0.3), rng)
    return after(x, memory), before(x, memory)


@DecoderLayer.case(title="names and shapes of torch's layer", points=1, **LOOSE)
def decoder_layer_names(DecoderLayer, rng):
    heads, head_dim, d_ff = (int(n) for n in rng.integers(2, 30, 3))
    return names_and_shapes(DecoderLayer(heads * head_dim, heads, d_ff))


# Encoder


class AddingLayer(nn.Module):
    """A small layer with the forward of ``EncoderLayer``: allowed tokens added up."""

    def __init__(self, width):
        super().__init__()
        self.mix = nn.Linear(width, width)

    def forward(self, x, mask=None, padding_mask=None):
        """Add the sum of the allowed tokens, seen through a map."""
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


@Encoder.case(
    title="masks reach every layer, in training and in evaluation", points=2, **LOOSE
)
def encoder_masks(Encoder, rng):
    encoder = fill(Encoder(AddingLayer(4), 3, norm=nn.LayerNorm(4)), rng)
    x, mask, padded = tensor(rng, 3, 5, 4), some(rng, 5), padding(5, 4, 2, 3)
    both = encoder.train()(x, mask, padded)
    with torch.no_grad():
        encoder.eval()
        masked, without = encoder(x, mask=mask), encoder(x, padding_mask=padded)
    return both, masked, without


@Encoder.case(title="a stack of decoder layers, with a memory", points=2, **LOOSE)
def encoder_of_decoder_layers(Encoder, rng):
    decoder = fill(Encoder(LookingLayer(4), 3), rng)
    x, memory = tensor(rng, 3, 5, 4), tensor(rng, 3, 6, 4)
    mask, padded = some(rng, 5), padding(6, 5, 2, 3)
    return decoder(x, memory, mask, memory_padding_mask=padded)


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


@Encoder.case(title="names and shapes, with a norm and without", points=1, **LOOSE)
def encoder_names(Encoder, rng):
    width, count = int(rng.integers(3, 300)), int(rng.integers(2, 7))
    with_norm = Encoder(AddingLayer(width), count, nn.LayerNorm(width))
    plain = Encoder(AddingLayer(width), count)
    plain, with_norm = names_and_shapes(plain), names_and_shapes(with_norm)
    return {"with a norm": with_norm, "without a norm": plain}


# transformer_parameter_count


@transformer_parameter_count.case(title="sizes drawn at random", points=2)
def count_drawn(transformer_parameter_count, rng):
    return transformer_parameter_count(*(int(n) for n in rng.integers(2, 40, 4)))


@transformer_parameter_count.case(title="a decoder of one layer alone", points=1)
def count_decoder(transformer_parameter_count, rng):
    d_model, d_ff = (int(size) for size in rng.integers(2, 900, 2))
    return transformer_parameter_count(d_model, d_ff, 0, 1)


@transformer_parameter_count.case(title="six and six layers, 512 wide", points=1)
def count_default(transformer_parameter_count, rng):
    return transformer_parameter_count(512, 2048, 6, 6)
