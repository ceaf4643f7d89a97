"""Misconceptions about the transformer, as code that can be recognised."""

from copy import deepcopy

import torch
import torch.nn.functional as F
from torch import nn

from autograder.exercise import mistake
from autograder.exercises.transformer import (
    Decoder,
    DecoderLayer,
    Encoder,
    EncoderLayer,
    layer_norm,
    transformer_parameter_count,
)


def flip(mask):
    return None if mask is None else ~mask


# layer_norm


def centred_over(x, dims):
    return x - x.mean(dims, keepdim=True)


def normalised_over(x, dims, eps, correction=0):
    variance = x.var(dims, correction=correction, keepdim=True)
    return centred_over(x, dims) / (variance + eps).sqrt()


@mistake(
    layer_norm,
    "You divided the sum of squares by D - 1. The variance here is that of the D "
    "features themselves and not an estimate from a sample, so it divides by D.",
)
def variance_of_a_sample(x, weight, bias, eps=1e-5):
    return normalised_over(x, -1, eps, correction=1) * weight + bias


@mistake(
    layer_norm,
    "You added eps to the standard deviation. It belongs to the variance, under the "
    "root; for tokens that hardly vary the difference is large.",
)
def eps_outside_the_root(x, weight, bias, eps=1e-5):
    deviation = x.std(-1, correction=0, keepdim=True)
    return centred_over(x, -1) / (deviation + eps) * weight + bias


@mistake(
    layer_norm,
    "You left eps out. A token whose features are all equal then divides zero by "
    "zero, and one NaN spreads to everything that attends to it.",
)
def eps_left_out(x, weight, bias, eps=1e-5):
    return normalised_over(x, -1, 0.0) * weight + bias


@mistake(
    layer_norm,
    "You use your own eps and not the one that was given. Published models differ in "
    "it, and for tokens of small variance it decides the result.",
)
def eps_ignored(x, weight, bias, eps=1e-5):
    return normalised_over(x, -1, 1e-5) * weight + bias


@mistake(
    layer_norm,
    "You took mean and variance over all tokens of the batch for each feature, which "
    "is batch normalisation. Layer norm looks at one token alone, so a token never "
    "depends on what else is in the batch.",
)
def over_the_batch(x, weight, bias, eps=1e-5):
    dims = tuple(range(x.ndim - 1))
    return normalised_over(x, dims, eps) * weight + bias


@mistake(
    layer_norm,
    "You took mean and variance over all the tokens of a sequence. Each token is "
    "normalised on its own, otherwise padding and later tokens leak into it.",
)
def over_the_sequence(x, weight, bias, eps=1e-5):
    dims = (-2, -1) if x.ndim > 1 else -1
    return normalised_over(x, dims, eps) * weight + bias


@mistake(
    layer_norm,
    "You normalised along the tokens. The features of each token are the last axis, "
    "and they are what gets mean 0 and variance 1.",
)
def along_the_tokens(x, weight, bias, eps=1e-5):
    return normalised_over(x, -2 if x.ndim > 1 else -1, eps) * weight + bias


@mistake(
    layer_norm,
    "You did not subtract the mean and divided by the root of the mean square. That "
    "is RMS norm, a relative that some models use; layer norm centres first.",
)
def not_centred(x, weight, bias, eps=1e-5):
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * weight + bias


@mistake(
    layer_norm,
    "You divided by the right deviation and did not subtract the mean. The result has "
    "variance 1 and keeps whatever offset the token had.",
)
def mean_left_in(x, weight, bias, eps=1e-5):
    variance = x.var(-1, correction=0, keepdim=True)
    return x / (variance + eps).sqrt() * weight + bias


@mistake(
    layer_norm,
    "You divided by the variance. Its square root has the unit of the features, and "
    "only that gives variance 1.",
)
def root_forgotten(x, weight, bias, eps=1e-5):
    variance = x.var(-1, correction=0, keepdim=True)
    return centred_over(x, -1) / (variance + eps) * weight + bias


@mistake(
    layer_norm,
    "You only centred the token. Its spread has to become 1 as well, otherwise a "
    "large token stays large.",
)
def spread_left_in(x, weight, bias, eps=1e-5):
    return centred_over(x, -1) * weight + bias


@mistake(
    layer_norm,
    "You left out the weight. The learned factor lets the layer undo the "
    "normalisation where a feature should be large.",
)
def weight_left_out(x, weight, bias, eps=1e-5):
    return normalised_over(x, -1, eps) + bias


@mistake(
    layer_norm,
    "You left out the bias. The learned offset moves each feature away from mean 0 "
    "where that helps.",
)
def bias_left_out(x, weight, bias, eps=1e-5):
    return normalised_over(x, -1, eps) * weight


@mistake(
    layer_norm,
    "You left out weight and bias. Both are learned and belong to the layer; without "
    "them every token would be forced to mean 0 and variance 1.",
)
def weight_and_bias_left_out(x, weight, bias, eps=1e-5):
    return normalised_over(x, -1, eps) + 0 * (weight + bias)


@mistake(
    layer_norm,
    "You added the bias before multiplying with the weight, so the offset is scaled "
    "as well. First the factor, then the offset.",
)
def bias_before_weight(x, weight, bias, eps=1e-5):
    return (normalised_over(x, -1, eps) + bias) * weight


@mistake(
    layer_norm,
    "You multiplied with 1 + weight. Some models store the factor that way; here the "
    "weight is the factor itself and starts at one.",
)
def one_plus_weight(x, weight, bias, eps=1e-5):
    return normalised_over(x, -1, eps) * (1 + weight) + bias


@mistake(
    layer_norm,
    "Your values are right, but mean and variance are cut off from the gradient. They "
    "depend on the token, and leaving that out trains towards tokens that keep "
    "growing.",
)
def statistics_detached(x, weight, bias, eps=1e-5):
    mean = x.mean(-1, keepdim=True).detach()
    deviation = (x.var(-1, correction=0, keepdim=True) + eps).sqrt().detach()
    return (x - mean) / deviation * weight + bias


@mistake(
    layer_norm,
    "You normalised the tensor that you were given in place. The residual connection "
    "still needs the token as it was, and would add the wrong one.",
)
def normalised_in_place(x, weight, bias, eps=1e-5):
    x -= x.mean(-1, keepdim=True)
    x /= (x.square().mean(-1, keepdim=True) + eps).sqrt()
    return x * weight + bias


# EncoderLayer


class RightEncoderLayer(nn.Module):
    """Right, so that each mistake changes one thing."""

    dropout = 0.0

    def __init__(
        self, d_model, num_heads, d_ff, norm_first=False, activation=F.relu, eps=1e-5
    ):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(
            d_model, num_heads, dropout=self.dropout, batch_first=True
        )
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm1 = nn.LayerNorm(d_model, eps=eps)
        self.norm2 = nn.LayerNorm(d_model, eps=eps)
        self.norm_first = norm_first
        self.activation = activation

    def attend(self, x, mask, padding_mask):
        return self.self_attn(
            x,
            x,
            x,
            attn_mask=flip(mask),
            key_padding_mask=flip(padding_mask),
            need_weights=False,
        )[0]

    def feed_forward(self, x):
        return self.linear2(self.activation(self.linear1(x)))

    def forward(self, x, mask=None, padding_mask=None):
        if self.norm_first:
            x = x + self.attend(self.norm1(x), mask, padding_mask)
            return x + self.feed_forward(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask, padding_mask))
        return self.norm2(x + self.feed_forward(x))


@mistake(
    EncoderLayer,
    "Your layer has no residual connections: what a sublayer gives replaces its "
    "input. The input has to be added, so that a sublayer only learns a change and "
    "the gradient has a way around it.",
)
class NoResiduals(RightEncoderLayer):
    def forward(self, x, mask=None, padding_mask=None):
        if self.norm_first:
            x = self.attend(self.norm1(x), mask, padding_mask)
            return self.feed_forward(self.norm2(x))
        x = self.norm1(self.attend(x, mask, padding_mask))
        return self.norm2(self.feed_forward(x))


@mistake(
    EncoderLayer,
    "The residual around the attention is missing. Each token would be replaced by a "
    "mixture of others and forget what it was.",
)
class NoResidualAroundAttention(RightEncoderLayer):
    def forward(self, x, mask=None, padding_mask=None):
        if self.norm_first:
            x = self.attend(self.norm1(x), mask, padding_mask)
            return x + self.feed_forward(self.norm2(x))
        x = self.norm1(self.attend(x, mask, padding_mask))
        return self.norm2(x + self.feed_forward(x))


@mistake(
    EncoderLayer,
    "The residual around the feed-forward network is missing. What the attention "
    "gathered reaches the next layer only through the two linear maps.",
)
class NoResidualAroundFeedForward(RightEncoderLayer):
    def forward(self, x, mask=None, padding_mask=None):
        if self.norm_first:
            x = x + self.attend(self.norm1(x), mask, padding_mask)
            return self.feed_forward(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask, padding_mask))
        return self.norm2(self.feed_forward(x))


@mistake(
    EncoderLayer,
    "You exchanged the two orders: with norm_first you normalise after the sum, "
    "without it before the sublayer. The shapes are the same, the numbers and the "
    "gradients are not.",
)
class OrdersExchanged(RightEncoderLayer):
    def forward(self, x, mask=None, padding_mask=None):
        if not self.norm_first:
            x = x + self.attend(self.norm1(x), mask, padding_mask)
            return x + self.feed_forward(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask, padding_mask))
        return self.norm2(x + self.feed_forward(x))


@mistake(
    EncoderLayer,
    "You normalise after each sum, whatever norm_first says. With norm_first the norm "
    "stands before the sublayer, and the sum itself is left alone.",
)
class AlwaysAfter(RightEncoderLayer):
    def forward(self, x, mask=None, padding_mask=None):
        x = self.norm1(x + self.attend(x, mask, padding_mask))
        return self.norm2(x + self.feed_forward(x))


@mistake(
    EncoderLayer,
    "You normalise before each sublayer, whatever norm_first says. Without norm_first "
    "the norm comes last, after the input was added.",
)
class AlwaysBefore(RightEncoderLayer):
    def forward(self, x, mask=None, padding_mask=None):
        x = x + self.attend(self.norm1(x), mask, padding_mask)
        return x + self.feed_forward(self.norm2(x))


@mistake(
    EncoderLayer,
    "With norm_first you add the normalised token and not the token itself. The "
    "residual has to pass untouched, or the direct way through the stack is gone.",
)
class ResidualNormalised(RightEncoderLayer):
    def forward(self, x, mask=None, padding_mask=None):
        if not self.norm_first:
            return super().forward(x, mask, padding_mask)
        x = self.norm1(x)
        x = x + self.attend(x, mask, padding_mask)
        x = self.norm2(x)
        return x + self.feed_forward(x)


@mistake(
    EncoderLayer,
    "You normalise what a sublayer gives and then add the token. After-norm "
    "normalises the sum of both; before-norm normalises what goes into the sublayer.",
)
class OutputNormalised(RightEncoderLayer):
    def forward(self, x, mask=None, padding_mask=None):
        if self.norm_first:
            return super().forward(x, mask, padding_mask)
        x = x + self.norm1(self.attend(x, mask, padding_mask))
        return x + self.norm2(self.feed_forward(x))


@mistake(
    EncoderLayer,
    "With norm_first only the queries are normalised; keys and values come from the "
    "bare tokens. All three are made from the normalised token.",
)
class OnlyQueriesNormalised(RightEncoderLayer):
    def forward(self, x, mask=None, padding_mask=None):
        if not self.norm_first:
            return super().forward(x, mask, padding_mask)
        ignore = {"attn_mask": flip(mask), "key_padding_mask": flip(padding_mask)}
        x = x + self.self_attn(self.norm1(x), x, x, **ignore)[0]
        return x + self.feed_forward(self.norm2(x))


@mistake(
    EncoderLayer,
    "With norm_first you normalise the result once more. The layer ends with a plain "
    "sum; the one norm at the end of the whole stack belongs to the encoder.",
)
class NormAtTheEndToo(RightEncoderLayer):
    def forward(self, x, mask=None, padding_mask=None):
        x = super().forward(x, mask, padding_mask)
        return self.norm2(x) if self.norm_first else x


@mistake(
    EncoderLayer,
    "You use norm1 in both places. Each sublayer has a norm of its own, with its own "
    "learned weight and bias.",
)
class OneNormForBoth(RightEncoderLayer):
    def forward(self, x, mask=None, padding_mask=None):
        if self.norm_first:
            x = x + self.attend(self.norm1(x), mask, padding_mask)
            return x + self.feed_forward(self.norm1(x))
        x = self.norm1(x + self.attend(x, mask, padding_mask))
        return self.norm1(x + self.feed_forward(x))


@mistake(
    EncoderLayer,
    "You exchanged norm1 and norm2. norm1 belongs to the attention and norm2 to the "
    "feed-forward network; saved weights are loaded by these names.",
)
class NormsExchanged(RightEncoderLayer):
    def forward(self, x, mask=None, padding_mask=None):
        if self.norm_first:
            x = x + self.attend(self.norm2(x), mask, padding_mask)
            return x + self.feed_forward(self.norm1(x))
        x = self.norm2(x + self.attend(x, mask, padding_mask))
        return self.norm1(x + self.feed_forward(x))


@mistake(
    EncoderLayer,
    "You run the feed-forward network before the attention. The layer first lets the "
    "tokens look at each other and then works on each one alone.",
)
class FeedForwardFirst(RightEncoderLayer):
    def forward(self, x, mask=None, padding_mask=None):
        if self.norm_first:
            x = x + self.feed_forward(self.norm2(x))
            return x + self.attend(self.norm1(x), mask, padding_mask)
        x = self.norm2(x + self.feed_forward(x))
        return self.norm1(x + self.attend(x, mask, padding_mask))


@mistake(
    EncoderLayer,
    "You feed both sublayers with the same input and add both results. The "
    "feed-forward network comes second and works on what the attention has gathered.",
)
class Parallel(RightEncoderLayer):
    def forward(self, x, mask=None, padding_mask=None):
        if not self.norm_first:
            return super().forward(x, mask, padding_mask)
        attended = self.attend(self.norm1(x), mask, padding_mask)
        return x + attended + self.feed_forward(self.norm2(x))


@mistake(
    EncoderLayer,
    "You handed the book's masks to torch's layer as they are. There True means "
    "`ignore`, so yours attends to exactly what should be hidden.",
)
class MasksNotAdapted(RightEncoderLayer):
    def forward(self, x, mask=None, padding_mask=None):
        return super().forward(x, flip(mask), flip(padding_mask))


@mistake(
    EncoderLayer,
    "You adapted the padding mask and not the attention mask. In torch's layer True "
    "means `ignore` for both of them.",
)
class MaskNotAdapted(RightEncoderLayer):
    def forward(self, x, mask=None, padding_mask=None):
        return super().forward(x, flip(mask), padding_mask)


@mistake(
    EncoderLayer,
    "You adapted the attention mask and not the padding mask. In torch's layer True "
    "means `ignore` for both of them.",
)
class PaddingMaskNotAdapted(RightEncoderLayer):
    def forward(self, x, mask=None, padding_mask=None):
        return super().forward(x, mask, flip(padding_mask))


@mistake(
    EncoderLayer,
    "You accept the masks and never use them. Both have to reach the attention, "
    "otherwise tokens see padding and the future.",
)
class MasksIgnored(RightEncoderLayer):
    def forward(self, x, mask=None, padding_mask=None):
        return super().forward(x)


@mistake(
    EncoderLayer,
    "The attention mask is accepted and never used. It has to reach the attention "
    "together with the padding mask.",
)
class MaskIgnored(RightEncoderLayer):
    def forward(self, x, mask=None, padding_mask=None):
        return super().forward(x, None, padding_mask)


@mistake(
    EncoderLayer,
    "The padding mask is accepted and never used. Filler tokens would then take part "
    "in every average, and a sentence would depend on how much its batch was padded.",
)
class PaddingMaskIgnored(RightEncoderLayer):
    def forward(self, x, mask=None, padding_mask=None):
        return super().forward(x, mask)


@mistake(
    EncoderLayer,
    "Your masks are used in training only. A model that sees padding or the future "
    "when it is evaluated is another model than the one that was trained.",
)
class MasksInTrainingOnly(RightEncoderLayer):
    def forward(self, x, mask=None, padding_mask=None):
        if not self.training:
            mask = padding_mask = None
        return super().forward(x, mask, padding_mask)


@mistake(
    EncoderLayer,
    "There is no nonlinearity between the two linear maps. Together they are then one "
    "linear map, and the second gap of plain attention stays open.",
)
class NoActivation(RightEncoderLayer):
    def feed_forward(self, x):
        return self.linear2(self.linear1(x))


@mistake(
    EncoderLayer,
    "You always use relu. The activation is an argument of the layer; BERT and vision "
    "transformers use gelu.",
)
class ActivationIgnored(RightEncoderLayer):
    def feed_forward(self, x):
        return self.linear2(F.relu(self.linear1(x)))


@mistake(
    EncoderLayer,
    "You apply the activation after the second linear map as well. The network ends "
    "with a linear map, so that what it adds to the token can have either sign.",
)
class ActivationTwice(RightEncoderLayer):
    def feed_forward(self, x):
        return self.activation(super().feed_forward(x))


@mistake(
    EncoderLayer,
    "You apply the activation after the second linear map instead of between the two. "
    "Two linear maps in a row are one, so the wide middle would be wasted.",
)
class ActivationLast(RightEncoderLayer):
    def feed_forward(self, x):
        return self.activation(self.linear2(self.linear1(x)))


@mistake(
    EncoderLayer,
    "You did not hand eps on to the norms. Published models differ in it, and with "
    "another eps their weights give other results.",
)
class NormEpsIgnored(RightEncoderLayer):
    def __init__(
        self, d_model, num_heads, d_ff, norm_first=False, activation=F.relu, eps=1e-5
    ):
        super().__init__(d_model, num_heads, d_ff, norm_first, activation)


@mistake(
    EncoderLayer,
    "Dropout is active in your layer, so two calls differ. The layers of this chapter "
    "have none; torch's default of 0.1 has to be switched off to compare them.",
)
class DropoutInAttention(RightEncoderLayer):
    dropout = 0.1


@mistake(
    EncoderLayer,
    "Dropout is active around your feed-forward network, so two calls differ. The "
    "layers of this chapter have none.",
)
class DropoutAfterFeedForward(RightEncoderLayer):
    def feed_forward(self, x):
        return F.dropout(super().feed_forward(x), 0.1, self.training)


@mistake(
    EncoderLayer,
    "Your attention takes the first axis for the tokens and mixes the sequences of "
    "the batch with each other. Set batch_first: the sequence is the second axis "
    "here.",
)
class SequenceFirst(RightEncoderLayer):
    def __init__(
        self, d_model, num_heads, d_ff, norm_first=False, activation=F.relu, eps=1e-5
    ):
        super().__init__(d_model, num_heads, d_ff, norm_first, activation, eps)
        self.self_attn.batch_first = False


@mistake(
    EncoderLayer,
    "You ignored num_heads and use a single head. The weights have the same shapes, "
    "but one softmax over the whole width is another function than several over "
    "slices.",
)
class OneHead(RightEncoderLayer):
    def __init__(
        self, d_model, num_heads, d_ff, norm_first=False, activation=F.relu, eps=1e-5
    ):
        super().__init__(d_model, 1, d_ff, norm_first, activation, eps)


@mistake(
    EncoderLayer,
    "Your parts have other names than torch's. The names are part of the exercise: a "
    "state dict is loaded by name, and only then can published weights be used.",
)
class OwnNames(RightEncoderLayer):
    def __init__(
        self, d_model, num_heads, d_ff, norm_first=False, activation=F.relu, eps=1e-5
    ):
        super().__init__(d_model, num_heads, d_ff, norm_first, activation, eps)
        self.attention = self.self_attn
        del self.self_attn

    def attend(self, x, mask, padding_mask):
        ignore = {"attn_mask": flip(mask), "key_padding_mask": flip(padding_mask)}
        return self.attention(x, x, x, **ignore)[0]


@mistake(
    EncoderLayer,
    "You added into the tensor that you were given. Whoever still needs the tokens "
    "finds them changed, and autograd finds its notes overwritten.",
)
class EncoderInPlace(RightEncoderLayer):
    def forward(self, x, mask=None, padding_mask=None):
        if self.norm_first:
            x += self.attend(self.norm1(x), mask, padding_mask)
            x += self.feed_forward(self.norm2(x))
            return x
        x += self.attend(x, mask, padding_mask)
        x = self.norm1(x)
        return self.norm2(x + self.feed_forward(x))


# DecoderLayer


class RightDecoderLayer(nn.Module):
    """Right, so that each mistake changes one thing."""

    dropout = 0.0

    def __init__(
        self, d_model, num_heads, d_ff, norm_first=False, activation=F.relu, eps=1e-5
    ):
        super().__init__()
        attention = {"dropout": self.dropout, "batch_first": True}
        self.self_attn = nn.MultiheadAttention(d_model, num_heads, **attention)
        self.multihead_attn = nn.MultiheadAttention(d_model, num_heads, **attention)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm1 = nn.LayerNorm(d_model, eps=eps)
        self.norm2 = nn.LayerNorm(d_model, eps=eps)
        self.norm3 = nn.LayerNorm(d_model, eps=eps)
        self.norm_first = norm_first
        self.activation = activation

    def attend(self, x, mask):
        return self.self_attn(x, x, x, attn_mask=flip(mask), need_weights=False)[0]

    def look_up(self, x, memory, padding_mask):
        padding = flip(padding_mask)
        return self.multihead_attn(x, memory, memory, key_padding_mask=padding)[0]

    def feed_forward(self, x):
        return self.linear2(self.activation(self.linear1(x)))

    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        if self.norm_first:
            x = x + self.attend(self.norm1(x), mask)
            x = x + self.look_up(self.norm2(x), memory, memory_padding_mask)
            return x + self.feed_forward(self.norm3(x))
        x = self.norm1(x + self.attend(x, mask))
        x = self.norm2(x + self.look_up(x, memory, memory_padding_mask))
        return self.norm3(x + self.feed_forward(x))


@mistake(
    DecoderLayer,
    "You let the memory ask and the output answer. In cross-attention the queries "
    "come from the decoder's tokens, keys and values from the memory; there is one "
    "result for each query.",
)
class QueriesFromTheMemory(RightDecoderLayer):
    def look_up(self, x, memory, padding_mask):
        return self.multihead_attn(memory, x, x)[0]


@mistake(
    DecoderLayer,
    "You took the values from the decoder's tokens. What is read comes from where it "
    "was matched: keys and values are both made from the memory.",
)
class ValuesFromTheTokens(RightDecoderLayer):
    def look_up(self, x, memory, padding_mask):
        return self.multihead_attn(memory, memory, x)[0][:, : x.shape[1]]


@mistake(
    DecoderLayer,
    "Your second attention never sees the memory, it looks at the decoder's own "
    "tokens again. The memory is its source of keys and values, and the only way to "
    "know the input.",
)
class MemoryIgnored(RightDecoderLayer):
    def look_up(self, x, memory, padding_mask):
        return self.multihead_attn(x, x, x)[0]


@mistake(
    DecoderLayer,
    "You left the cross-attention out. Without it the decoder cannot know what it "
    "should translate.",
)
class NoCrossAttention(RightDecoderLayer):
    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        if self.norm_first:
            x = x + self.attend(self.norm1(x), mask)
            return x + self.feed_forward(self.norm3(x))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm3(x + self.feed_forward(x))


@mistake(
    DecoderLayer,
    "You exchanged the two attentions. self_attn is the one among the decoder's "
    "tokens and multihead_attn the one to the memory; saved weights are loaded by "
    "these names.",
)
class AttentionsExchanged(RightDecoderLayer):
    def attend(self, x, mask):
        return self.multihead_attn(x, x, x, attn_mask=flip(mask))[0]

    def look_up(self, x, memory, padding_mask):
        padding = flip(padding_mask)
        return self.self_attn(x, memory, memory, key_padding_mask=padding)[0]


@mistake(
    DecoderLayer,
    "You use the weights of self_attn for both attentions. They ask different "
    "questions of different sequences, and each has weights of its own.",
)
class OneAttentionForBoth(RightDecoderLayer):
    def look_up(self, x, memory, padding_mask):
        padding = flip(padding_mask)
        return self.self_attn(x, memory, memory, key_padding_mask=padding)[0]


@mistake(
    DecoderLayer,
    "You look at the memory before the tokens have looked at each other. The order is "
    "self-attention, cross-attention, feed-forward.",
)
class CrossAttentionFirst(RightDecoderLayer):
    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        if self.norm_first:
            x = x + self.look_up(self.norm2(x), memory, memory_padding_mask)
            x = x + self.attend(self.norm1(x), mask)
            return x + self.feed_forward(self.norm3(x))
        x = self.norm2(x + self.look_up(x, memory, memory_padding_mask))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm3(x + self.feed_forward(x))


@mistake(
    DecoderLayer,
    "With norm_first you normalised the memory with the decoder's norm. The memory "
    "comes finished from the encoder, which normalises it itself; norm2 is for the "
    "queries.",
)
class MemoryNormalised(RightDecoderLayer):
    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        if self.norm_first:
            memory = self.norm2(memory)
        return super().forward(x, memory, mask, memory_padding_mask)


@mistake(
    DecoderLayer,
    "You used the causal mask for the memory as well. The whole input is known when "
    "the output is written, so its later tokens have nothing to hide.",
)
class CausalMemory(RightDecoderLayer):
    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        self.hidden = flip(mask)
        return super().forward(x, memory, mask, memory_padding_mask)

    def look_up(self, x, memory, padding_mask):
        fits = self.hidden is not None and memory.shape[1] == x.shape[1]
        return self.multihead_attn(
            x,
            memory,
            memory,
            key_padding_mask=flip(padding_mask),
            attn_mask=self.hidden if fits else None,
        )[0]


@mistake(
    DecoderLayer,
    "You applied the mask to the memory and left the decoder's own tokens uncovered. "
    "It belongs to the self-attention, where looking ahead would give the answer "
    "away.",
)
class MaskOnMemoryOnly(RightDecoderLayer):
    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        self.hidden = flip(mask)
        return super().forward(x, memory, None, memory_padding_mask)

    def look_up(self, x, memory, padding_mask):
        return self.multihead_attn(
            x,
            memory,
            memory,
            key_padding_mask=flip(padding_mask),
            attn_mask=self.hidden,
        )[0]


@mistake(
    DecoderLayer,
    "You used the memory's padding mask for the decoder's own tokens. It says which "
    "tokens of the memory are filler and belongs to the cross-attention.",
)
class PaddingOnTheTokens(RightDecoderLayer):
    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        self.padding = flip(memory_padding_mask)
        return super().forward(x, memory, mask)

    def attend(self, x, mask):
        return self.self_attn(
            x, x, x, attn_mask=flip(mask), key_padding_mask=self.padding
        )[0]


@mistake(
    DecoderLayer,
    "You handed the book's masks to torch's layer as they are. There True means "
    "`ignore`, so yours attends to exactly what should be hidden.",
)
class DecoderMasksNotAdapted(RightDecoderLayer):
    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        return super().forward(x, memory, flip(mask), flip(memory_padding_mask))


@mistake(
    DecoderLayer,
    "You adapted the padding mask of the memory and not the attention mask. In "
    "torch's layer True means `ignore` for both of them.",
)
class DecoderMaskNotAdapted(RightDecoderLayer):
    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        return super().forward(x, memory, flip(mask), memory_padding_mask)


@mistake(
    DecoderLayer,
    "You adapted the attention mask and not the padding mask of the memory. In "
    "torch's layer True means `ignore` for both of them.",
)
class MemoryMaskNotAdapted(RightDecoderLayer):
    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        return super().forward(x, memory, mask, flip(memory_padding_mask))


@mistake(
    DecoderLayer,
    "The attention mask is accepted and never used, so the decoder sees the tokens "
    "that it should predict.",
)
class DecoderMaskIgnored(RightDecoderLayer):
    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        return super().forward(x, memory, None, memory_padding_mask)


@mistake(
    DecoderLayer,
    "The padding mask of the memory is accepted and never used. The output would then "
    "depend on how much the input was padded.",
)
class MemoryMaskIgnored(RightDecoderLayer):
    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        return super().forward(x, memory, mask)


@mistake(
    DecoderLayer,
    "Your masks are used in training only. When the model is evaluated it then sees "
    "what it was trained without, and its scores mean nothing.",
)
class DecoderMasksInTrainingOnly(RightDecoderLayer):
    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        if not self.training:
            mask = memory_padding_mask = None
        return super().forward(x, memory, mask, memory_padding_mask)


@mistake(
    DecoderLayer,
    "You hide the future even when no mask was given. The layer leaves that decision "
    "to its caller: without a mask everything may be seen.",
)
class CausalByItself(RightDecoderLayer):
    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        if mask is None:
            mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        return super().forward(x, memory, mask, memory_padding_mask)


@mistake(
    DecoderLayer,
    "Your layer has no residual connections: what a sublayer gives replaces its "
    "input. The input has to be added, so that a sublayer only learns a change and "
    "the gradient has a way around it.",
)
class DecoderNoResiduals(RightDecoderLayer):
    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        if self.norm_first:
            x = self.attend(self.norm1(x), mask)
            x = self.look_up(self.norm2(x), memory, memory_padding_mask)
            return self.feed_forward(self.norm3(x))
        x = self.norm1(self.attend(x, mask))
        x = self.norm2(self.look_up(x, memory, memory_padding_mask))
        return self.norm3(self.feed_forward(x))


@mistake(
    DecoderLayer,
    "The residual around the cross-attention is missing. What the tokens knew of the "
    "output so far is replaced by what they read from the memory.",
)
class NoResidualAroundCrossAttention(RightDecoderLayer):
    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        if self.norm_first:
            x = x + self.attend(self.norm1(x), mask)
            x = self.look_up(self.norm2(x), memory, memory_padding_mask)
            return x + self.feed_forward(self.norm3(x))
        x = self.norm1(x + self.attend(x, mask))
        x = self.norm2(self.look_up(x, memory, memory_padding_mask))
        return self.norm3(x + self.feed_forward(x))


@mistake(
    DecoderLayer,
    "You exchanged the two orders: with norm_first you normalise after the sum, "
    "without it before the sublayer. The shapes are the same, the numbers and the "
    "gradients are not.",
)
class DecoderOrdersExchanged(RightDecoderLayer):
    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        given, self.norm_first = self.norm_first, not self.norm_first
        try:
            return super().forward(x, memory, mask, memory_padding_mask)
        finally:
            self.norm_first = given


@mistake(
    DecoderLayer,
    "You normalise after each sum, whatever norm_first says. With norm_first the norm "
    "stands before the sublayer, and the sum itself is left alone.",
)
class DecoderAlwaysAfter(RightDecoderLayer):
    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        self.norm_first = False
        return super().forward(x, memory, mask, memory_padding_mask)


@mistake(
    DecoderLayer,
    "With norm_first you add the normalised token and not the token itself. The "
    "residual has to pass untouched, or the direct way through the stack is gone.",
)
class DecoderResidualNormalised(RightDecoderLayer):
    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        if not self.norm_first:
            return super().forward(x, memory, mask, memory_padding_mask)
        x = self.norm1(x)
        x = x + self.attend(x, mask)
        x = self.norm2(x)
        x = x + self.look_up(x, memory, memory_padding_mask)
        x = self.norm3(x)
        return x + self.feed_forward(x)


@mistake(
    DecoderLayer,
    "You use norm2 for the cross-attention and for the feed-forward network. There "
    "are three sublayers and three norms, each with its own weight and bias.",
)
class ThirdNormUnused(RightDecoderLayer):
    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        if self.norm_first:
            x = x + self.attend(self.norm1(x), mask)
            x = x + self.look_up(self.norm2(x), memory, memory_padding_mask)
            return x + self.feed_forward(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask))
        x = self.norm2(x + self.look_up(x, memory, memory_padding_mask))
        return self.norm2(x + self.feed_forward(x))


@mistake(
    DecoderLayer,
    "There is no nonlinearity between the two linear maps. Together they are then one "
    "linear map.",
)
class DecoderNoActivation(RightDecoderLayer):
    def feed_forward(self, x):
        return self.linear2(self.linear1(x))


@mistake(
    DecoderLayer,
    "You always use relu. The activation is an argument of the layer, and other "
    "models use others.",
)
class DecoderActivationIgnored(RightDecoderLayer):
    def feed_forward(self, x):
        return self.linear2(F.relu(self.linear1(x)))


@mistake(
    DecoderLayer,
    "You did not hand eps on to the norms. Published models differ in it, and with "
    "another eps their weights give other results.",
)
class DecoderEpsIgnored(RightDecoderLayer):
    def __init__(
        self, d_model, num_heads, d_ff, norm_first=False, activation=F.relu, eps=1e-5
    ):
        super().__init__(d_model, num_heads, d_ff, norm_first, activation)


@mistake(
    DecoderLayer,
    "Dropout is active in your attentions, so two calls differ. The layers of this "
    "chapter have none; comparing anything while it is on compares noise.",
)
class DecoderDropout(RightDecoderLayer):
    dropout = 0.1


@mistake(
    DecoderLayer,
    "Your cross-attention has another name than torch's. It is multihead_attn there, "
    "and a state dict is loaded by name.",
)
class CrossAttentionRenamed(RightDecoderLayer):
    def __init__(
        self, d_model, num_heads, d_ff, norm_first=False, activation=F.relu, eps=1e-5
    ):
        super().__init__(d_model, num_heads, d_ff, norm_first, activation, eps)
        self.cross_attn = self.multihead_attn
        del self.multihead_attn

    def look_up(self, x, memory, padding_mask):
        padding = flip(padding_mask)
        return self.cross_attn(x, memory, memory, key_padding_mask=padding)[0]


@mistake(
    DecoderLayer,
    "You added into the tensor that you were given. Whoever still needs the tokens "
    "finds them changed, and autograd finds its notes overwritten.",
)
class DecoderInPlace(RightDecoderLayer):
    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        if not self.norm_first:
            x += self.attend(x, mask)
            x = self.norm1(x)
            x = self.norm2(x + self.look_up(x, memory, memory_padding_mask))
            return self.norm3(x + self.feed_forward(x))
        x += self.attend(self.norm1(x), mask)
        x += self.look_up(self.norm2(x), memory, memory_padding_mask)
        x += self.feed_forward(self.norm3(x))
        return x


# Encoder


class RightEncoder(nn.Module):
    """Right, so that each mistake changes one thing."""

    def __init__(self, layer, num_layers, norm=None):
        super().__init__()
        self.layers = nn.ModuleList(self.copies(layer, num_layers))
        self.norm = norm

    def copies(self, layer, num_layers):
        return [deepcopy(layer) for _ in range(num_layers)]

    def run(self, x, mask, padding_mask):
        for layer in self.layers:
            x = layer(x, mask, padding_mask)
        return x

    def forward(self, x, mask=None, padding_mask=None):
        x = self.run(x, mask, padding_mask)
        return x if self.norm is None else self.norm(x)


@mistake(
    Encoder,
    "All your layers are one and the same object, so they share their weights. Each "
    "has to be an independent copy, otherwise six layers can learn no more than one.",
)
class SharedLayer(RightEncoder):
    def copies(self, layer, num_layers):
        return [layer] * num_layers


@mistake(
    Encoder,
    "The layer that was given is itself the first layer of your stack. It is only a "
    "pattern; whoever uses it for a second stack would tie the two together.",
)
class PatternIsFirstLayer(RightEncoder):
    def copies(self, layer, num_layers):
        return [layer, *(deepcopy(layer) for _ in range(num_layers - 1))]


@mistake(
    Encoder,
    "You keep the layers in a plain list, where torch does not find them: they are "
    "missing from `parameters()` and from the state dict. Use nn.ModuleList.",
)
class PlainList(RightEncoder):
    def __init__(self, layer, num_layers, norm=None):
        nn.Module.__init__(self)
        self.layers = self.copies(layer, num_layers)
        self.norm = norm


@mistake(
    Encoder,
    "You started each copy with fresh random weights. The copies begin with the "
    "values of the layer that was given, for instance those of a trained one.",
)
class FreshWeights(RightEncoder):
    def copies(self, layer, num_layers):
        layers = super().copies(layer, num_layers)
        for copy in layers:
            for part in copy.modules():
                if hasattr(part, "reset_parameters"):
                    part.reset_parameters()
        return layers


@mistake(
    Encoder,
    "The final norm is accepted and never used. Before-norm layers leave their sum as "
    "it is, so without the last norm the output grows with the depth.",
)
class NormUnused(RightEncoder):
    def forward(self, x, mask=None, padding_mask=None):
        return self.run(x, mask, padding_mask)


@mistake(
    Encoder,
    "You apply the norm after each layer. It comes once, at the end of the stack; the "
    "layers have norms of their own.",
)
class NormAfterEachLayer(RightEncoder):
    def forward(self, x, mask=None, padding_mask=None):
        for layer in self.layers:
            x = layer(x, mask, padding_mask)
            x = x if self.norm is None else self.norm(x)
        return x


@mistake(
    Encoder,
    "You apply the norm to the input of the stack. It belongs to the end, where the "
    "sum of all the layers is brought back to a known size.",
)
class NormAtTheStart(RightEncoder):
    def forward(self, x, mask=None, padding_mask=None):
        x = x if self.norm is None else self.norm(x)
        return self.run(x, mask, padding_mask)


@mistake(
    Encoder,
    "The masks do not reach your layers. Every layer attends anew, so every layer "
    "needs them.",
)
class MasksNotPassedOn(RightEncoder):
    def run(self, x, mask, padding_mask):
        return super().run(x, None, None)


@mistake(
    Encoder,
    "The padding mask does not reach your layers. Every layer attends anew, so filler "
    "tokens have to be hidden in every layer.",
)
class PaddingNotPassedOn(RightEncoder):
    def run(self, x, mask, padding_mask):
        return super().run(x, mask, None)


@mistake(
    Encoder,
    "The attention mask does not reach your layers. Every layer attends anew, so a "
    "position that may not look ahead must be held back in every layer.",
)
class MaskNotPassedOn(RightEncoder):
    def run(self, x, mask, padding_mask):
        return super().run(x, None, padding_mask)


@mistake(
    Encoder,
    "Only your first layer gets the masks. The second attends anew, and what the "
    "first one hid leaks in there.",
)
class MasksForTheFirstOnly(RightEncoder):
    def run(self, x, mask, padding_mask):
        for layer in self.layers:
            x = layer(x, mask, padding_mask)
            mask = padding_mask = None
        return x


@mistake(
    Encoder,
    "You hand the two masks on in the wrong order. One says what a query may see, the "
    "other which tokens are real.",
)
class MasksExchanged(RightEncoder):
    def run(self, x, mask, padding_mask):
        return super().run(x, padding_mask, mask)


@mistake(
    Encoder,
    "Your masks are passed on in training only. In evaluation the layers then see "
    "what they were trained without.",
)
class StackMasksInTrainingOnly(RightEncoder):
    def run(self, x, mask, padding_mask):
        if not self.training:
            mask = padding_mask = None
        return super().run(x, mask, padding_mask)


@mistake(
    Encoder,
    "Every layer of yours reads the input of the stack, and only the last result "
    "counts. A layer reads what the layer before it wrote.",
)
class EachReadsTheInput(RightEncoder):
    def run(self, x, mask, padding_mask):
        result = x
        for layer in self.layers:
            result = layer(x, mask, padding_mask)
        return result


@mistake(
    Encoder,
    "You add the input of every layer to its output once more. The residual "
    "connections are inside the layers already.",
)
class ResidualsTwice(RightEncoder):
    def run(self, x, mask, padding_mask):
        for layer in self.layers:
            x = x + layer(x, mask, padding_mask)
        return x


@mistake(
    Encoder,
    "You run the layers from last to first. layers[0] is the first one that the "
    "tokens meet; trained weights only work in their order.",
)
class LayersReversed(RightEncoder):
    def run(self, x, mask, padding_mask):
        for layer in reversed(self.layers):
            x = layer(x, mask, padding_mask)
        return x


@mistake(
    Encoder,
    "Your stack has one layer too few. num_layers counts all the copies, and the "
    "pattern is not one of them.",
)
class OneLayerTooFew(RightEncoder):
    def copies(self, layer, num_layers):
        return [deepcopy(layer) for _ in range(num_layers - 1)]


@mistake(
    Encoder,
    "You run the first layer again and again. The stack has several layers, each with "
    "weights of its own, and all of them take part.",
)
class FirstLayerRepeated(RightEncoder):
    def run(self, x, mask, padding_mask):
        for _ in self.layers:
            x = self.layers[0](x, mask, padding_mask)
        return x


# Decoder


class RightDecoder(nn.Module):
    """Right, so that each mistake changes one thing."""

    def __init__(self, layer, num_layers, norm=None):
        super().__init__()
        self.layers = nn.ModuleList(self.copies(layer, num_layers))
        self.norm = norm

    def copies(self, layer, num_layers):
        return [deepcopy(layer) for _ in range(num_layers)]

    def run(self, x, memory, mask, padding_mask):
        for layer in self.layers:
            x = layer(x, memory, mask, padding_mask)
        return x

    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        x = self.run(x, memory, mask, memory_padding_mask)
        return x if self.norm is None else self.norm(x)


@mistake(
    Decoder,
    "You hand the output of a layer on as the memory of the next. All layers look at "
    "the same memory, the encoder's output, and pass only the tokens along.",
)
class MemoryReplaced(RightDecoder):
    def run(self, x, memory, mask, padding_mask):
        for layer in self.layers:
            x = memory = layer(x, memory, mask, padding_mask)
            padding_mask = None
        return x


@mistake(
    Decoder,
    "You exchanged tokens and memory. The tokens of the output pass through the "
    "stack, the memory is only looked at.",
)
class MemoryAndTokensExchanged(RightDecoder):
    def run(self, x, memory, mask, padding_mask):
        for layer in self.layers:
            memory = layer(memory, x)
        return memory


@mistake(
    Decoder,
    "You applied the final norm to the memory. The encoder has normalised it already; "
    "this norm is for the output of the decoder.",
)
class NormOnTheMemory(RightDecoder):
    def run(self, x, memory, mask, padding_mask):
        memory = memory if self.norm is None else self.norm(memory)
        return super().run(x, memory, mask, padding_mask)


@mistake(
    Decoder,
    "All your layers are one and the same object, so they share their weights. Each "
    "has to be an independent copy, otherwise six layers can learn no more than one.",
)
class DecoderSharedLayer(RightDecoder):
    def copies(self, layer, num_layers):
        return [layer] * num_layers


@mistake(
    Decoder,
    "The layer that was given is itself the first layer of your stack. It is only a "
    "pattern; whoever uses it for a second stack would tie the two together.",
)
class DecoderPatternIsFirst(RightDecoder):
    def copies(self, layer, num_layers):
        return [layer, *(deepcopy(layer) for _ in range(num_layers - 1))]


@mistake(
    Decoder,
    "You keep the layers in a plain list, where torch does not find them: they are "
    "missing from `parameters()` and from the state dict. Use nn.ModuleList.",
)
class DecoderPlainList(RightDecoder):
    def __init__(self, layer, num_layers, norm=None):
        nn.Module.__init__(self)
        self.layers = self.copies(layer, num_layers)
        self.norm = norm


@mistake(
    Decoder,
    "The final norm is accepted and never used. Before-norm layers leave their sum as "
    "it is, so without the last norm the output grows with the depth.",
)
class DecoderNormUnused(RightDecoder):
    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        return self.run(x, memory, mask, memory_padding_mask)


@mistake(
    Decoder,
    "You apply the norm after each layer. It comes once, at the end of the stack; the "
    "layers have norms of their own.",
)
class DecoderNormAfterEach(RightDecoder):
    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        for layer in self.layers:
            x = layer(x, memory, mask, memory_padding_mask)
            x = x if self.norm is None else self.norm(x)
        return x


@mistake(
    Decoder,
    "The masks do not reach your layers. Every layer attends anew, so every layer "
    "needs them.",
)
class DecoderMasksNotPassedOn(RightDecoder):
    def run(self, x, memory, mask, padding_mask):
        return super().run(x, memory, None, None)


@mistake(
    Decoder,
    "The memory's padding mask does not reach your layers. Every layer looks at the "
    "memory anew, and its filler has to be hidden each time.",
)
class MemoryMaskNotPassedOn(RightDecoder):
    def run(self, x, memory, mask, padding_mask):
        return super().run(x, memory, mask, None)


@mistake(
    Decoder,
    "Only your first layer gets the masks. In the second the future leaks in, and "
    "with it the token that should be predicted.",
)
class DecoderMasksFirstOnly(RightDecoder):
    def run(self, x, memory, mask, padding_mask):
        for layer in self.layers:
            x = layer(x, memory, mask, padding_mask)
            mask = padding_mask = None
        return x


@mistake(
    Decoder,
    "Your masks are passed on in training only. In evaluation the layers then see "
    "what they were trained without.",
)
class DecoderStackMasksInTraining(RightDecoder):
    def run(self, x, memory, mask, padding_mask):
        if not self.training:
            mask = padding_mask = None
        return super().run(x, memory, mask, padding_mask)


@mistake(
    Decoder,
    "Every layer of yours reads the input of the stack, and only the last result "
    "counts. A layer reads what the layer before it wrote.",
)
class DecoderEachReadsTheInput(RightDecoder):
    def run(self, x, memory, mask, padding_mask):
        result = x
        for layer in self.layers:
            result = layer(x, memory, mask, padding_mask)
        return result


@mistake(
    Decoder,
    "Your stack has one layer too few. num_layers counts all the copies, and the "
    "pattern is not one of them.",
)
class DecoderOneLayerTooFew(RightDecoder):
    def copies(self, layer, num_layers):
        return [deepcopy(layer) for _ in range(num_layers - 1)]


# transformer_parameter_count


def counted(
    d_model,
    d_ff,
    encoder_layers,
    decoder_layers,
    *,
    projections=4,
    attention_bias=True,
    inner_biases=None,
    norm_size=2,
    cross_attentions=1,
    decoder_norms=3,
    encoder_norms=2,
    final_norms=2,
):
    """The right count, so that each mistake changes one thing."""
    attention = projections * d_model * (d_model + attention_bias)
    if inner_biases is None:
        inner_biases = d_ff + d_model
    feed_forward = 2 * d_model * d_ff + inner_biases
    norm = norm_size * d_model
    encoder = attention + feed_forward + encoder_norms * norm
    decoder = (1 + cross_attentions) * attention + feed_forward + decoder_norms * norm
    return encoder_layers * encoder + decoder_layers * decoder + final_norms * norm


@mistake(
    transformer_parameter_count,
    "You left out the biases of the attention's projections. Queries, keys, values "
    "and output each have one.",
)
def attention_without_biases(d_model, d_ff, encoder_layers, decoder_layers):
    return counted(d_model, d_ff, encoder_layers, decoder_layers, attention_bias=False)


@mistake(
    transformer_parameter_count,
    "You counted three projections for each attention. There are four: queries, keys, "
    "values, and the one that mixes the heads.",
)
def no_output_projection(d_model, d_ff, encoder_layers, decoder_layers):
    return counted(d_model, d_ff, encoder_layers, decoder_layers, projections=3)


@mistake(
    transformer_parameter_count,
    "You left out the biases of the feed-forward network. It has one of d_ff numbers "
    "and one of d_model.",
)
def feed_forward_without_biases(d_model, d_ff, encoder_layers, decoder_layers):
    return counted(d_model, d_ff, encoder_layers, decoder_layers, inner_biases=0)


@mistake(
    transformer_parameter_count,
    "You counted both biases of the feed-forward network with d_model numbers. The "
    "first map ends in the wide middle, so its bias has d_ff.",
)
def both_biases_narrow(d_model, d_ff, encoder_layers, decoder_layers):
    return counted(
        d_model, d_ff, encoder_layers, decoder_layers, inner_biases=2 * d_model
    )


@mistake(
    transformer_parameter_count,
    "You counted one vector for each norm. A norm has two: a weight and a bias.",
)
def norms_without_bias(d_model, d_ff, encoder_layers, decoder_layers):
    return counted(d_model, d_ff, encoder_layers, decoder_layers, norm_size=1)


@mistake(
    transformer_parameter_count,
    "You left out the norms at the end of the two stacks. nn.Transformer has one "
    "after its encoder and one after its decoder.",
)
def no_final_norms(d_model, d_ff, encoder_layers, decoder_layers):
    return counted(d_model, d_ff, encoder_layers, decoder_layers, final_norms=0)


@mistake(
    transformer_parameter_count,
    "You counted a single norm after the stacks. The encoder ends with one and the "
    "decoder with another.",
)
def one_final_norm(d_model, d_ff, encoder_layers, decoder_layers):
    return counted(d_model, d_ff, encoder_layers, decoder_layers, final_norms=1)


@mistake(
    transformer_parameter_count,
    "You counted one attention in a decoder layer. It has two, one among its own "
    "tokens and one to the memory.",
)
def no_cross_attention_counted(d_model, d_ff, encoder_layers, decoder_layers):
    return counted(d_model, d_ff, encoder_layers, decoder_layers, cross_attentions=0)


@mistake(
    transformer_parameter_count,
    "You counted two norms in a decoder layer. It has three sublayers and a norm for "
    "each.",
)
def two_norms_in_the_decoder(d_model, d_ff, encoder_layers, decoder_layers):
    return counted(d_model, d_ff, encoder_layers, decoder_layers, decoder_norms=2)


@mistake(
    transformer_parameter_count,
    "You counted one norm in an encoder layer. It has two sublayers and a norm for "
    "each.",
)
def one_norm_in_the_encoder(d_model, d_ff, encoder_layers, decoder_layers):
    return counted(d_model, d_ff, encoder_layers, decoder_layers, encoder_norms=1)


@mistake(
    transformer_parameter_count,
    "You counted a decoder layer like an encoder layer. It has a second attention and "
    "a third norm.",
)
def decoder_like_encoder(d_model, d_ff, encoder_layers, decoder_layers):
    return counted(
        d_model,
        d_ff,
        encoder_layers,
        decoder_layers,
        cross_attentions=0,
        decoder_norms=2,
    )


@mistake(
    transformer_parameter_count,
    "You left out the norms altogether. They have few parameters, but the count is "
    "exact: two vectors for each norm.",
)
def no_norms(d_model, d_ff, encoder_layers, decoder_layers):
    return counted(d_model, d_ff, encoder_layers, decoder_layers, norm_size=0)


@mistake(
    transformer_parameter_count,
    "You exchanged the numbers of encoder and decoder layers. Equal numbers hide it, "
    "but a decoder layer is larger.",
)
def stacks_exchanged(d_model, d_ff, encoder_layers, decoder_layers):
    return counted(d_model, d_ff, decoder_layers, encoder_layers)


@mistake(
    transformer_parameter_count,
    "You left out all biases and norms and counted the large matrices only. That is a "
    "good estimate, but the count is exact.",
)
def matrices_only(d_model, d_ff, encoder_layers, decoder_layers):
    return counted(
        d_model,
        d_ff,
        encoder_layers,
        decoder_layers,
        attention_bias=False,
        inner_biases=0,
        norm_size=0,
    )
