"""Misconceptions about the transformer, as code that can be recognised."""

from copy import deepcopy

import numpy as np
from torch import nn

from autograder.exercise import edit, mistake
from autograder.exercises.transformer import (
    DecoderLayer,
    Encoder,
    EncoderLayer,
    feed_forward,
    layer_norm,
    transformer_parameter_count,
)

# layer_norm

VARIANCE = "(centred**2).mean(axis=-1, keepdims=True)"


@edit(layer_norm, VARIANCE, "x.var(axis=-1, ddof=1, keepdims=True)")
def variance_of_a_sample():
    """You divided the sum of squares by D - 1, as for a sample. Layer norm divides by
    D: the features of a token are all there are, not a sample of more."""


@edit(layer_norm, "np.sqrt(variance + eps)", "(np.sqrt(variance) + eps)")
def eps_outside_the_root():
    """You added eps to the standard deviation. It belongs to the variance, under the
    square root: where features hardly differ the two results are far apart."""


@edit(layer_norm, "variance + eps", "variance")
def eps_left_out():
    """You left eps out. A token whose features are all equal has variance 0, and 0/0 is
    NaN; with eps the result is the bias."""


def normalised_over(axis):
    """A layer norm over the wrong axis."""

    def over(x, weight, bias, eps=1e-5):
        centred = x - x.mean(axis=axis, keepdims=True)
        variance = (centred**2).mean(axis=axis, keepdims=True)
        return centred / np.sqrt(variance + eps) * weight + bias

    return over


@mistake(layer_norm)
def over_the_batch(x, weight, bias, eps=1e-5):
    """You normalised over the first axis, so a token depends on the other sequences of
    its batch. Layer norm uses the features of one token alone: the last axis."""
    return normalised_over(0)(x, weight, bias, eps)


@mistake(layer_norm)
def over_the_sequence(x, weight, bias, eps=1e-5):
    """You normalised each feature over the tokens, so a token depends on its
    neighbours and on padding. Layer norm uses the features of one token alone: the last
    axis."""
    return normalised_over(-2)(x, weight, bias, eps)


@edit(layer_norm, "x - x.mean(axis=-1, keepdims=True)", "x")
def not_centred():
    """You never subtracted the mean: you divide by the root of the mean square. That is
    RMSNorm, which many newer models use; layer norm centres first."""


@edit(layer_norm, "centred / np", "x / np")
def mean_left_in():
    """You computed the variance around the mean, and then divided the token as it was.
    The mean has to be subtracted from what is divided too."""


@edit(layer_norm, "np.sqrt(variance + eps)", "(variance + eps)")
def root_forgotten():
    """You divided by the variance. The result has variance 1 only if you divide by its
    square root, and with it every layer sees inputs of one size."""


@edit(layer_norm, " + bias", "")
def bias_left_out():
    """You left out the bias, the learned offset of each feature. Without it every
    feature is centred at zero, whatever the next layer needs."""


# feed_forward


@edit(feed_forward, "np.maximum(x @ W_1 + b_1, 0.0)", "x @ W_1 + b_1")
def no_relu():
    """There is no nonlinearity between your two maps. Together they are a single linear
    map, and the hidden layer gains nothing, however wide it is."""


@edit(feed_forward, "hidden @ W_2 + b_2", "np.maximum(hidden @ W_2 + b_2, 0.0)")
def relu_at_the_end_too():
    """You applied relu after the second map as well. The output is added to the token,
    and has to be able to lower a feature: it ends with a linear map."""


@mistake(feed_forward)
def relu_at_the_end(x, W_1, b_1, W_2, b_2):
    """You applied relu after the second map and not between the two. Two linear maps in
    a row are one, so the wide middle is wasted."""
    return np.maximum((x @ W_1 + b_1) @ W_2 + b_2, 0.0)


@edit(feed_forward, "np.maximum(x @ W_1 + b_1, 0.0)", "np.maximum(x @ W_1, 0.0) + b_1")
def bias_after_the_relu():
    """You added the first bias after relu. It belongs in front: it sets how much is
    needed to switch a hidden unit on."""


@mistake(feed_forward)
def gelu_between(x, W_1, b_1, W_2, b_2):
    """You applied gelu between the two maps. Later models do; this layer is the one of
    2017, with relu, which sets every negative value to exactly zero."""
    z = x @ W_1 + b_1
    bent = 1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3))
    return (0.5 * z * bent) @ W_2 + b_2


@edit(feed_forward, "return hidden", "return x + hidden")
def token_added():
    """You added the token to the result. The residual connection belongs to the layer
    around this function, which would then add the token twice."""


# EncoderLayer

STEPS = """
        if self.norm_first:
            x = x + attend(self.norm1(x))
            return x + feed_forward(self.norm2(x))
        x = self.norm1(x + attend(x))
        return self.norm2(x + feed_forward(x))
"""


@edit(EncoderLayer, STEPS, STEPS.replace("x + ", ""))
def NoResiduals():
    """Your layer has no residual connections: what a sublayer gives replaces its input.
    The input has to be added, so that a sublayer only learns a change and the gradient
    has a way around it."""


@edit(EncoderLayer, STEPS, STEPS.replace("x + attend", "attend"))
def NoResidualAroundAttention():
    """The residual around the attention is missing. Each token would be replaced by a
    mixture of others and forget what it was."""


@edit(EncoderLayer, STEPS, STEPS.replace("x + feed", "feed"))
def NoResidualAroundFeedForward():
    """The residual around the feed-forward network is missing. What the attention
    gathered reaches the next layer only through the two linear maps."""


@edit(EncoderLayer, "if self.norm_first", "if not self.norm_first")
def OrdersExchanged():
    """You exchanged the two orders: with norm_first you normalise after the sum,
    without it before the sublayer. The shapes are the same, the numbers and the
    gradients are not."""


@edit(
    EncoderLayer,
    STEPS,
    STEPS.replace(
        "x = x + attend(self.norm1(x))", "y = self.norm1(x); x = y + attend(y)"
    ).replace(
        "return x + feed_forward(self.norm2(x))",
        "y = self.norm2(x); return y + feed_forward(y)",
    ),
)
def ResidualNormalised():
    """With norm_first you add the normalised token and not the token itself. The
    residual has to pass untouched, or the direct way through the stack is gone."""


@edit(
    EncoderLayer,
    STEPS,
    STEPS.replace("self.norm1(x + attend(x))", "x + self.norm1(attend(x))").replace(
        "self.norm2(x + feed_forward(x))", "x + self.norm2(feed_forward(x))"
    ),
)
def OutputNormalised():
    """You normalise what a sublayer gives and then add the token. Post-norm normalises
    the sum of both; pre-norm normalises what goes into the sublayer."""


MASKS = """
            "attn_mask": None if mask is None else ~mask,
            "key_padding_mask": None if padding_mask is None else ~padding_mask,
"""


@edit(EncoderLayer, MASKS, '\n"attn_mask": mask,\n"key_padding_mask": padding_mask,\n')
def MasksNotAdapted():
    """You handed the book's masks to torch's layer as they are. There True means
    `ignore`, so yours attends to exactly what should be hidden."""


@edit(EncoderLayer, "None if mask is None else ~mask", "None")
def MaskIgnored():
    """The attention mask is accepted and never used. It has to reach the attention
    together with the padding mask, or each token sees what it should not."""


@edit(EncoderLayer, "self.activation(self.linear1(x))", "self.linear1(x)")
def NoActivation():
    """There is no nonlinearity between the two linear maps. Together they are then one
    linear map, and the second gap of plain attention stays open."""


@edit(EncoderLayer, "self.activation(self.linear1(x))", "F.relu(self.linear1(x))")
def ReluWhateverIsGiven():
    """Your layer applies relu, whatever `activation` is. The argument is a function:
    keep it in `__init__`, and call it between the two linear maps."""


@edit(EncoderLayer, ", batch_first=True", "")
def SequenceFirst():
    """Your attention takes the first axis for the tokens and mixes the sequences of the
    batch with each other. Set batch_first: the sequence is the second axis here."""


# DecoderLayer

DECODER_STEPS = """
        if self.norm_first:
            x = x + attend(self.norm1(x))
            x = x + look_up(self.norm2(x))
            return x + feed_forward(self.norm3(x))
        x = self.norm1(x + attend(x))
        x = self.norm2(x + look_up(x))
        return self.norm3(x + feed_forward(x))
"""
LOOK_UP = "x, memory, memory, key_padding_mask=padding"


@edit(DecoderLayer, LOOK_UP, "memory, x, x")
def QueriesFromTheMemory():
    """You took the queries from the memory, and keys and values from the tokens. Each
    token of the output asks the memory: it gives the query, and there is one result
    for each query."""


@edit(DecoderLayer, LOOK_UP, "x, x, x")
def MemoryIgnored():
    """Your second attention looks at the tokens again and never at the memory. The
    output would not depend on the input of the model at all."""


@edit(
    DecoderLayer,
    LOOK_UP,
    "x, self.norm2(memory), self.norm2(memory), key_padding_mask=padding",
)
def MemoryNormalised():
    """You normalise the memory as well. It was normalised at the end of the encoder;
    norm2 is for the queries, or for the sum."""


@edit(DecoderLayer, "self.multihead_attn(\n", "self.self_attn(\n")
def OneAttentionForBoth():
    """You use self_attn for the memory as well. The two attentions learn different
    things, and each has weights of its own."""


@edit(
    DecoderLayer,
    DECODER_STEPS,
    DECODER_STEPS.replace("attend", "third")
    .replace("look_up", "attend")
    .replace("third", "look_up"),
)
def CrossAttentionFirst():
    """You query the memory before the tokens have exchanged anything. Self-attention
    comes first, so that a query can depend on the whole output so far."""


@edit(DecoderLayer, DECODER_STEPS, DECODER_STEPS.replace("x + look_up", "look_up"))
def NoResidualAroundCrossAttention():
    """The residual around the attention to the memory is missing. What the tokens knew
    of each other is replaced by what they found in the memory."""


@edit(
    DecoderLayer,
    "hidden = None if mask is None else ~mask",
    "memory_padding_mask = None if memory_padding_mask is None else "
    "~memory_padding_mask; hidden = mask",
)
def DecoderMasksNotAdapted():
    """You handed the book's masks to torch's layers as they are. There True means
    `ignore`, so yours attend to exactly what should be hidden."""


@edit(DecoderLayer, "attn_mask=hidden, ", "")
def DecoderMaskIgnored():
    """The mask is accepted and never used. In training, each token would see the
    answer that it should predict."""


@edit(
    DecoderLayer,
    "attn_mask=hidden, need",
    "is_causal=True, attn_mask=torch.ones(x.shape[1], x.shape[1]).triu(1).bool(), need",
)
def CausalByItself():
    """You build a causal mask yourself and ignore the one that you were given. The
    layer hides what it is told to hide; the caller decides."""


# Encoder


@edit(
    Encoder,
    "nn.ModuleList(deepcopy(layer) for _ in range(num_layers))",
    "nn.ModuleList([deepcopy(layer)] * num_layers)",
)
def SharedLayer():
    """All your layers are one and the same, so they share their weights, and a deep
    stack learns no more than one layer. Copy the pattern once for each layer."""


@edit(Encoder, "deepcopy(layer) for", "deepcopy(layer) if _ else layer for")
def PatternIsFirstLayer():
    """The layer that you were given is itself the first of the stack. Whoever changes
    it later, or builds a second stack from it, changes this one too: copy it every
    time."""


@edit(
    Encoder,
    "nn.ModuleList(deepcopy(layer) for _ in range(num_layers))",
    "[deepcopy(layer) for _ in range(num_layers)]",
)
def PlainList():
    """Your layers are in a plain list, where torch does not look for parameters: no
    optimiser would train them and no file would hold them. Use nn.ModuleList."""


@mistake(Encoder)
class NormAfterEachLayer(nn.Module):
    """You apply the final norm after every layer. It comes once, after the last one: in
    between, the residual has to pass untouched."""

    def __init__(self, layer, num_layers, norm=None):
        super().__init__()
        self.layers = nn.ModuleList(deepcopy(layer) for _ in range(num_layers))
        self.norm = norm

    def forward(self, x, *arguments, **named):
        for layer in self.layers:
            x = layer(x, *arguments, **named)
            x = x if self.norm is None else self.norm(x)
        return x


@edit(Encoder, "layer(x, *arguments, **named)", "layer(x, *arguments)")
def NamedArgumentsLost():
    """You pass on what is given by position and drop what is given by name. Masks are
    mostly given by name, and your layers never see them."""


@edit(
    Encoder,
    "            x = layer(x, *arguments, **named)\n",
    "            x = layer(x, *arguments, **named)\n            named = {}\n",
)
def NamedArgumentsForTheFirstOnly():
    """Only the first layer gets the arguments given by name. Every layer has an
    attention of its own, and each needs the masks."""


@mistake(Encoder)
class MasksAlonePassedOn(nn.Module):
    """Your stack takes the masks of an encoder layer and nothing else, so it cannot be
    built of layers that need a memory. Take whatever is given, and pass it on."""

    def __init__(self, layer, num_layers, norm=None):
        super().__init__()
        self.layers = nn.ModuleList(deepcopy(layer) for _ in range(num_layers))
        self.norm = norm

    def forward(self, x, mask=None, padding_mask=None):
        for layer in self.layers:
            x = layer(x, mask=mask, padding_mask=padding_mask)
        return x if self.norm is None else self.norm(x)


@edit(Encoder, "x = layer(", "x = x + layer(")
def ResidualsTwice():
    """You add the input of each layer to its output. The layers have residual
    connections of their own; a stack only passes tokens on."""


# transformer_parameter_count


@edit(transformer_parameter_count, "(d_model * d_model + d_model)", "d_model * d_model")
def attention_without_biases():
    """You forgot the biases of the attention. Each of its four maps has one of
    d_model numbers."""


@edit(transformer_parameter_count, "4 * (", "3 * (")
def no_output_projection():
    """You counted three maps for an attention: queries, keys and values. The output
    projection, which mixes the heads, is the fourth."""


FEED_FORWARD = "d_model * d_ff + d_ff + d_ff * d_model + d_model"


@edit(transformer_parameter_count, FEED_FORWARD, "2 * d_model * d_ff")
def feed_forward_without_biases():
    """You forgot the biases of the feed-forward network: d_ff numbers in the middle and
    d_model at the end."""


@edit(transformer_parameter_count, FEED_FORWARD, "2 * d_model * d_ff + 2 * d_model")
def both_biases_narrow():
    """You gave both biases of the feed-forward network d_model numbers. The first one
    is added in the wide middle and has d_ff."""


ENDS = "encoder_layers * encoder_layer + norm + decoder_layers * decoder_layer + norm"


@edit(transformer_parameter_count, ENDS, ENDS.replace(" + norm", ""))
def no_final_norms():
    """You forgot the norm at the end of each stack. Both stacks have one, even without
    a layer."""


@edit(transformer_parameter_count, "2 * attention + feed", "attention + feed")
def no_cross_attention_counted():
    """You counted one attention for a decoder layer. It has two: one among its own
    tokens and one to the memory."""


@edit(
    transformer_parameter_count,
    "2 * attention + feed_forward + 3 * norm",
    "encoder_layer",
)
def decoder_like_encoder():
    """You counted a decoder layer like an encoder layer. It has one more attention, to
    the memory, and one more norm."""
