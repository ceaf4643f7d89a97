"""Misconceptions about the transformer, as code that can be recognised."""

from copy import deepcopy

import torch
import torch.nn.functional as F
from torch import nn

from autograder.break_exercise import hide
from autograder.exercise import mistake
from autograder.exercises.transformer import (
    Decoder,
    DecoderLayer,
    Encoder,
    EncoderLayer,
    break_layer_norm,
    layer_norm,
    transformer_parameter_count,
)
from solutions import transformer as right


def flip(mask):
    return None if mask is None else ~mask


# layer_norm


def centred_over(x, dims):
    return x - x.mean(dims, keepdim=True)


def normalised_over(x, dims, eps, correction=0):
    variance = x.var(dims, correction=correction, keepdim=True)
    return centred_over(x, dims) / (variance + eps).sqrt()


@mistake(layer_norm)
def variance_of_a_sample(x, weight, bias, eps=1e-5):
    """You divided the sum of squares by D - 1. The variance here is that of the D
    features themselves and not an estimate from a sample, so it divides by D."""
    return normalised_over(x, -1, eps, correction=1) * weight + bias


@mistake(layer_norm)
def eps_outside_the_root(x, weight, bias, eps=1e-5):
    """You added eps to the standard deviation. It belongs to the variance, under the
    root; for tokens that hardly vary the difference is large."""
    deviation = x.std(-1, correction=0, keepdim=True)
    return centred_over(x, -1) / (deviation + eps) * weight + bias


@mistake(layer_norm)
def deviation_of_a_sample_with_eps_outside(x, weight, bias, eps=1e-5):
    """You divided by the standard deviation as torch computes it, and added eps to
    that. The variance here divides by D and not by D - 1, and eps belongs to it, under
    the root."""
    deviation = x.std(-1, keepdim=True)
    return centred_over(x, -1) / (deviation + eps) * weight + bias


@mistake(layer_norm)
def eps_left_out(x, weight, bias, eps=1e-5):
    """You left eps out. A token whose features are all equal then divides zero by zero,
    and one NaN spreads to everything that attends to it."""
    return right.layer_norm(x, weight, bias, 0.0)


@mistake(layer_norm)
def eps_ignored(x, weight, bias, eps=1e-5):
    """You use your own eps and not the one that was given. Published models differ in
    it, and for tokens of small variance it decides the result."""
    return right.layer_norm(x, weight, bias)


@mistake(layer_norm)
def over_the_batch(x, weight, bias, eps=1e-5):
    """You took mean and variance over all tokens of the batch for each feature, which
    is batch normalisation. Layer norm looks at one token alone, so a token never
    depends on what else is in the batch."""
    dims = tuple(range(x.ndim - 1))
    return normalised_over(x, dims, eps) * weight + bias


@mistake(layer_norm)
def over_the_first_axis(x, weight, bias, eps=1e-5):
    """You took mean and variance over the first axis, which mixes the sequences of a
    batch place by place. The features of a token are the last axis, however many axes
    stand before it."""
    return normalised_over(x, 0, eps) * weight + bias


@mistake(layer_norm)
def over_the_sequence(x, weight, bias, eps=1e-5):
    """You took mean and variance over all the tokens of a sequence. Each token is
    normalised on its own, otherwise padding and later tokens leak into it."""
    dims = (-2, -1) if x.ndim > 1 else -1
    return normalised_over(x, dims, eps) * weight + bias


@mistake(layer_norm)
def along_the_tokens(x, weight, bias, eps=1e-5):
    """You normalised along the tokens. The features of each token are the last axis,
    and they are what gets mean 0 and variance 1."""
    return normalised_over(x, -2 if x.ndim > 1 else -1, eps) * weight + bias


@mistake(layer_norm)
def not_centred(x, weight, bias, eps=1e-5):
    """You did not subtract the mean and divided by the root of the mean square. That is
    RMS norm, a relative that some models use; layer norm centres first."""
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * weight + bias


@mistake(layer_norm)
def mean_left_in(x, weight, bias, eps=1e-5):
    """You divided by the right deviation and did not subtract the mean. The result has
    variance 1 and keeps whatever offset the token had."""
    variance = x.var(-1, correction=0, keepdim=True)
    return x / (variance + eps).sqrt() * weight + bias


@mistake(layer_norm)
def root_forgotten(x, weight, bias, eps=1e-5):
    """You divided by the variance. Its square root has the unit of the features, and
    only that gives variance 1."""
    variance = x.var(-1, correction=0, keepdim=True)
    return centred_over(x, -1) / (variance + eps) * weight + bias


@mistake(layer_norm)
def spread_left_in(x, weight, bias, eps=1e-5):
    """You only centred the token. Its spread has to become 1 as well, otherwise a large
    token stays large."""
    return centred_over(x, -1) * weight + bias


@mistake(layer_norm)
def weight_left_out(x, weight, bias, eps=1e-5):
    """You left out the weight. The learned factor lets the layer undo the normalisation
    where a feature should be large."""
    return right.layer_norm(x, torch.ones_like(weight), bias, eps)


@mistake(layer_norm)
def bias_left_out(x, weight, bias, eps=1e-5):
    """You left out the bias. The learned offset moves each feature away from mean 0
    where that helps."""
    return right.layer_norm(x, weight, torch.zeros_like(bias), eps)


@mistake(layer_norm)
def weight_and_bias_left_out(x, weight, bias, eps=1e-5):
    """You left out weight and bias. Both are learned and belong to the layer; without
    them every token would be forced to mean 0 and variance 1."""
    return normalised_over(x, -1, eps)


@mistake(layer_norm)
def bias_before_weight(x, weight, bias, eps=1e-5):
    """You added the bias before multiplying with the weight, so the offset is scaled as
    well. First the factor, then the offset."""
    return right.layer_norm(x, weight, bias * weight, eps)


@mistake(layer_norm)
def one_plus_weight(x, weight, bias, eps=1e-5):
    """You multiplied with 1 + weight. Some models store the factor that way; here the
    weight is the factor itself and starts at one."""
    return right.layer_norm(x, 1 + weight, bias, eps)


@mistake(layer_norm)
def statistics_detached(x, weight, bias, eps=1e-5):
    """Your values are right, but mean and variance are cut off from the gradient. They
    depend on the token, and leaving that out trains towards tokens that keep
    growing."""
    mean = x.mean(-1, keepdim=True).detach()
    deviation = (x.var(-1, correction=0, keepdim=True) + eps).sqrt().detach()
    return (x - mean) / deviation * weight + bias


@mistake(layer_norm)
def mean_square_minus_squared_mean(x, weight, bias, eps=1e-5):
    """You computed the variance as the mean of the squares minus the square of the
    mean. On paper that is right, but where the mean is large, two huge numbers that are
    nearly equal are subtracted: single precision keeps hardly a digit of the
    difference, and it can even come out negative. Centre first, then square."""
    mean = x.mean(-1, keepdim=True)
    variance = x.square().mean(-1, keepdim=True) - mean.square()
    return (x - mean) / (variance + eps).sqrt() * weight + bias


@mistake(layer_norm)
def normalised_in_place(x, weight, bias, eps=1e-5):
    """You normalised the tensor that you were given in place. The residual connection
    still needs the token as it was, and would add the wrong one."""
    x -= x.mean(-1, keepdim=True)
    x /= (x.square().mean(-1, keepdim=True) + eps).sqrt()
    return x * weight + bias


# EncoderLayer


def look(attention, x, source, mask=None, padding_mask=None, **options):
    """Ask torch's attention, with masks that are True where x may look."""
    ignore = {"attn_mask": flip(mask), "key_padding_mask": flip(padding_mask)}
    return attention(x, source, source, **ignore, **options)[0]


class RightLayer(nn.Module):
    """What both kinds of layers share, in steps that a mistake replaces."""

    norms = {"attention": "norm1", "feed_forward": "norm2"}

    def __init__(
        self, d_model, num_heads, d_ff, norm_first=False, activation=F.relu, eps=1e-5
    ):
        super().__init__()
        self.self_attn = self.new_attention(d_model, num_heads)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm1 = self.new_norm(d_model, eps)
        self.norm2 = self.new_norm(d_model, eps)
        self.norm_first = norm_first
        self.activation = activation

    def new_attention(self, d_model, num_heads):
        return nn.MultiheadAttention(d_model, num_heads, batch_first=True)

    def new_norm(self, d_model, eps):
        return nn.LayerNorm(d_model, eps=eps)

    def feed_forward(self, x):
        return self.linear2(self.activation(self.linear1(x)))

    def norm_of(self, place):
        return getattr(self, self.norms[place])

    def connect(self, x, sublayer, place):
        connected = self.norm_before if self.norm_first else self.norm_after
        return connected(x, sublayer, place)

    def norm_before(self, x, sublayer, place):
        return self.add(x, sublayer(self.norm_of(place)(x)), place)

    def norm_after(self, x, sublayer, place):
        return self.norm_of(place)(self.add(x, sublayer(x), place))

    def add(self, x, change, place):
        return x + change


# What goes wrong in both kinds of layers.


class NothingAdded(RightLayer):
    """Your layer has no residual connections: what a sublayer gives replaces its input.
    The input has to be added, so that a sublayer only learns a change and the gradient
    has a way around it."""

    def add(self, x, change, place):
        return change


class OrderExchanged(RightLayer):
    """You exchanged the two orders: with norm_first you normalise after the sum,
    without it before the sublayer. The shapes are the same, the numbers and the
    gradients are not."""

    def connect(self, x, sublayer, place):
        connected = self.norm_after if self.norm_first else self.norm_before
        return connected(x, sublayer, place)


class NormAfter(RightLayer):
    """You normalise after each sum, whatever norm_first says. With norm_first the norm
    stands before the sublayer, and the sum itself is left alone."""

    def connect(self, x, sublayer, place):
        return self.norm_after(x, sublayer, place)


class NormalisedAdded(RightLayer):
    """With norm_first you add the normalised token and not the token itself. The
    residual has to pass untouched, or the direct way through the stack is gone."""

    def norm_before(self, x, sublayer, place):
        x = self.norm_of(place)(x)
        return self.add(x, sublayer(x), place)


class WithWeights(RightLayer):
    """Asks torch's attention for the weights as well, as it does unless told not to.

    Where no key is left it then gives NaN, and zeros otherwise.
    """

    def attend(self, x, mask, padding_mask=None):
        return look(self.self_attn, x, x, mask, padding_mask)


class NormalisedAddedOnce(RightLayer):
    """The same in one place only, which is called ``wrong``."""

    def norm_before(self, x, sublayer, place):
        if place != self.wrong:
            return super().norm_before(x, sublayer, place)
        x = self.norm_of(place)(x)
        return self.add(x, sublayer(x), place)


class NormalisedAddedToAttention(NormalisedAddedOnce):
    """With norm_first you add the result of the self-attention to the normalised token
    and not to the token itself. The residual has to pass untouched; only what goes into
    the sublayer is normalised."""

    wrong = "attention"


class NormalisedAddedToFeedForward(NormalisedAddedOnce):
    """With norm_first you add the result of the feed-forward network to the normalised
    token and not to the token itself. The residual has to pass untouched; only what
    goes into the sublayer is normalised."""

    wrong = "feed_forward"


class RightEncoderLayer(RightLayer):
    """Right, so that each mistake changes one thing."""

    def attend(self, x, mask, padding_mask):
        return look(self.self_attn, x, x, mask, padding_mask, need_weights=False)

    def attention_step(self, x, mask, padding_mask):
        def attend(x):
            return self.attend(x, mask, padding_mask)

        return self.connect(x, attend, "attention")

    def feed_forward_step(self, x):
        return self.connect(x, self.feed_forward, "feed_forward")

    def forward(self, x, mask=None, padding_mask=None):
        return self.feed_forward_step(self.attention_step(x, mask, padding_mask))


@mistake(EncoderLayer)
class NoResiduals(NothingAdded, RightEncoderLayer):
    __doc__ = NothingAdded.__doc__


@mistake(EncoderLayer)
class NoResidualAroundAttention(RightEncoderLayer):
    """The residual around the attention is missing. Each token would be replaced by a
    mixture of others and forget what it was."""

    def add(self, x, change, place):
        return change if place == "attention" else super().add(x, change, place)


@mistake(EncoderLayer)
class NoResidualAroundFeedForward(RightEncoderLayer):
    """The residual around the feed-forward network is missing. What the attention
    gathered reaches the next layer only through the two linear maps."""

    def add(self, x, change, place):
        return change if place == "feed_forward" else super().add(x, change, place)


@mistake(EncoderLayer)
class OrdersExchanged(OrderExchanged, RightEncoderLayer):
    __doc__ = OrderExchanged.__doc__


@mistake(EncoderLayer)
class AlwaysAfter(NormAfter, RightEncoderLayer):
    __doc__ = NormAfter.__doc__


@mistake(EncoderLayer)
class AlwaysBefore(RightEncoderLayer):
    """You normalise before each sublayer, whatever norm_first says. Without norm_first
    the norm comes last, after the input was added."""

    def connect(self, x, sublayer, place):
        return self.norm_before(x, sublayer, place)


@mistake(EncoderLayer)
class ResidualNormalised(NormalisedAdded, RightEncoderLayer):
    __doc__ = NormalisedAdded.__doc__


@mistake(EncoderLayer)
class FirstResidualNormalised(NormalisedAddedToAttention, RightEncoderLayer):
    __doc__ = NormalisedAddedToAttention.__doc__


@mistake(EncoderLayer)
class SecondResidualNormalised(NormalisedAddedToFeedForward, RightEncoderLayer):
    __doc__ = NormalisedAddedToFeedForward.__doc__


@mistake(EncoderLayer)
class OutputNormalised(RightEncoderLayer):
    """You normalise what a sublayer gives and then add the token. After-norm normalises
    the sum of both; before-norm normalises what goes into the sublayer."""

    def norm_after(self, x, sublayer, place):
        return self.add(x, self.norm_of(place)(sublayer(x)), place)


@mistake(EncoderLayer)
class OnlyQueriesNormalised(RightEncoderLayer):
    """With norm_first only the queries are normalised; keys and values come from the
    bare tokens. All three are made from the normalised token."""

    def attention_step(self, x, mask, padding_mask):
        if not self.norm_first:
            return super().attention_step(x, mask, padding_mask)
        queries = self.norm_of("attention")(x)
        seen = look(self.self_attn, queries, x, mask, padding_mask)
        return self.add(x, seen, "attention")


@mistake(EncoderLayer)
class FirstSumLost(RightEncoderLayer):
    """The second residual connection adds the input of the layer, and not the sum after
    the attention. What the attention found then reaches the output only through the
    feed-forward network."""

    def forward(self, x, mask=None, padding_mask=None):
        self.input = x
        return super().forward(x, mask, padding_mask)

    def add(self, x, change, place):
        before = self.input if place == "feed_forward" else x
        return super().add(before, change, place)


@mistake(EncoderLayer)
class ValuesNotNormalised(RightEncoderLayer):
    """With norm_first you gave the attention normalised queries and keys, but values
    that are not. The norm is applied to the input of the sublayer, which is all
    three."""

    def attention_step(self, x, mask, padding_mask):
        if not self.norm_first:
            return super().attention_step(x, mask, padding_mask)
        y = self.norm_of("attention")(x)
        ignore = {"attn_mask": flip(mask), "key_padding_mask": flip(padding_mask)}
        return self.add(x, self.self_attn(y, y, x, **ignore)[0], "attention")


@mistake(EncoderLayer)
class PaddingOfZeros(RightEncoderLayer):
    """The outputs at padded positions are zeros. A padding mask only keeps others from
    attending to them; what becomes of the padded tokens themselves is nobody's
    concern, and they are computed as all others."""

    def forward(self, x, mask=None, padding_mask=None):
        y = super().forward(x, mask, padding_mask)
        return y if padding_mask is None else y * padding_mask[..., None]


@mistake(EncoderLayer)
class MaskOfOnesAdded(RightEncoderLayer):
    """The attention gets the mask as real numbers, which it adds to the scores. Ones in
    place of minus infinity hide nothing, and raise what they should hide: pass truth
    values."""

    def attend(self, x, mask, padding_mask):
        if mask is None:
            return super().attend(x, mask, padding_mask)
        ignored = None
        if padding_mask is not None:
            ignored = torch.zeros(padding_mask.shape, dtype=x.dtype)
            ignored = ignored.masked_fill(~padding_mask, -torch.inf)
        masks = {"attn_mask": (~mask).to(x.dtype), "key_padding_mask": ignored}
        return self.self_attn(x, x, x, **masks)[0]


@mistake(EncoderLayer)
class NormAtTheEndToo(RightEncoderLayer):
    """With norm_first you normalise the result once more. The layer ends with a plain
    sum; the one norm at the end of the whole stack belongs to the encoder."""

    def forward(self, x, mask=None, padding_mask=None):
        x = super().forward(x, mask, padding_mask)
        return self.norm_of("feed_forward")(x) if self.norm_first else x


@mistake(EncoderLayer)
class OneNormForBoth(RightEncoderLayer):
    """You use norm1 in both places. Each sublayer has a norm of its own, with its own
    learned weight and bias."""

    norms = {"attention": "norm1", "feed_forward": "norm1"}


@mistake(EncoderLayer)
class NormsExchanged(RightEncoderLayer):
    """You exchanged norm1 and norm2. norm1 belongs to the attention and norm2 to the
    feed-forward network; saved weights are loaded by these names."""

    norms = {"attention": "norm2", "feed_forward": "norm1"}


@mistake(EncoderLayer)
class FeedForwardFirst(RightEncoderLayer):
    """You run the feed-forward network before the attention. The layer first lets the
    tokens look at each other and then works on each one alone."""

    def forward(self, x, mask=None, padding_mask=None):
        return self.attention_step(self.feed_forward_step(x), mask, padding_mask)


@mistake(EncoderLayer)
class Parallel(RightEncoderLayer):
    """You feed both sublayers with the same input and add both results. The
    feed-forward network comes second and works on what the attention has gathered."""

    def forward(self, x, mask=None, padding_mask=None):
        if not self.norm_first:
            return super().forward(x, mask, padding_mask)
        attended = self.attend(self.norm_of("attention")(x), mask, padding_mask)
        return x + attended + self.feed_forward(self.norm_of("feed_forward")(x))


class MasksTurned(RightEncoderLayer):
    """Both masks as they came."""

    def forward(self, x, mask=None, padding_mask=None):
        return super().forward(x, flip(mask), flip(padding_mask))


class MaskTurned(RightEncoderLayer):
    """The attention mask as it came."""

    def forward(self, x, mask=None, padding_mask=None):
        return super().forward(x, flip(mask), padding_mask)


class PaddingMaskTurned(RightEncoderLayer):
    """The padding mask as it came."""

    def forward(self, x, mask=None, padding_mask=None):
        return super().forward(x, mask, flip(padding_mask))


@mistake(EncoderLayer)
class MasksNotAdapted(MasksTurned):
    """You handed the book's masks to torch's layer as they are. There True means
    `ignore`, so yours attends to exactly what should be hidden."""


@mistake(EncoderLayer)
class MasksNotAdaptedUntilNaN(WithWeights, MasksTurned):
    """You handed the book's masks to torch's layer as they are. There True means
    `ignore`, so yours attends to exactly what should be hidden, and gives NaN where
    that is nothing."""


@mistake(EncoderLayer)
class MaskNotAdapted(MaskTurned):
    """You adapted the padding mask and not the attention mask. In torch's layer True
    means `ignore` for both of them."""


@mistake(EncoderLayer)
class MaskNotAdaptedUntilNaN(WithWeights, MaskTurned):
    """You adapted the padding mask and not the attention mask. In torch's layer True
    means `ignore` for both of them; where that leaves nothing to attend to, it gives
    NaN."""


@mistake(EncoderLayer)
class PaddingMaskNotAdapted(PaddingMaskTurned):
    """You adapted the attention mask and not the padding mask. In torch's layer True
    means `ignore` for both of them."""


@mistake(EncoderLayer)
class PaddingMaskNotAdaptedUntilNaN(WithWeights, PaddingMaskTurned):
    """You adapted the attention mask and not the padding mask. In torch's layer True
    means `ignore` for both of them; where that leaves nothing to attend to, it gives
    NaN."""


@mistake(EncoderLayer)
class MasksIgnored(RightEncoderLayer):
    """You accept the masks and never use them. Both have to reach the attention,
    otherwise tokens see padding and the future."""

    def forward(self, x, mask=None, padding_mask=None):
        return super().forward(x)


@mistake(EncoderLayer)
class MaskIgnored(RightEncoderLayer):
    """The attention mask is accepted and never used. It has to reach the attention
    together with the padding mask."""

    def forward(self, x, mask=None, padding_mask=None):
        return super().forward(x, None, padding_mask)


@mistake(EncoderLayer)
class PaddingMaskIgnored(RightEncoderLayer):
    """The padding mask is accepted and never used. Filler tokens would then take part
    in every average, and a sentence would depend on how much its batch was padded."""

    def forward(self, x, mask=None, padding_mask=None):
        return super().forward(x, mask)


@mistake(EncoderLayer)
class MasksInTrainingOnly(RightEncoderLayer):
    """Your masks are used in training only. A model that sees padding or the future
    when it is evaluated is another model than the one that was trained."""

    def forward(self, x, mask=None, padding_mask=None):
        if not self.training:
            mask = padding_mask = None
        return super().forward(x, mask, padding_mask)


@mistake(EncoderLayer)
class NoActivation(RightEncoderLayer):
    """There is no nonlinearity between the two linear maps. Together they are then one
    linear map, and the second gap of plain attention stays open."""

    def feed_forward(self, x):
        return self.linear2(self.linear1(x))


@mistake(EncoderLayer)
class ActivationIgnored(RightEncoderLayer):
    """You always use relu. The activation is an argument of the layer; BERT and vision
    transformers use gelu."""

    def feed_forward(self, x):
        return self.linear2(F.relu(self.linear1(x)))


@mistake(EncoderLayer)
class ActivationTwice(RightEncoderLayer):
    """You apply the activation after the second linear map as well. The network ends
    with a linear map, so that what it adds to the token can have either sign."""

    def feed_forward(self, x):
        return self.activation(super().feed_forward(x))


@mistake(EncoderLayer)
class ActivationLast(RightEncoderLayer):
    """You apply the activation after the second linear map instead of between the two.
    Two linear maps in a row are one, so the wide middle would be wasted."""

    def feed_forward(self, x):
        return self.activation(self.linear2(self.linear1(x)))


@mistake(EncoderLayer)
class NormEpsIgnored(RightEncoderLayer):
    """You did not hand eps on to the norms. Published models differ in it, and with
    another eps their weights give other results."""

    def new_norm(self, d_model, eps):
        return nn.LayerNorm(d_model)


@mistake(EncoderLayer)
class DropoutInAttention(RightEncoderLayer):
    """Dropout is active in your layer, so two calls differ. The layers of this chapter
    have none; torch's default of 0.1 has to be switched off to compare them."""

    def new_attention(self, d_model, num_heads):
        return nn.MultiheadAttention(d_model, num_heads, dropout=0.1, batch_first=True)


@mistake(EncoderLayer)
class DropoutAfterFeedForward(RightEncoderLayer):
    """Dropout is active around your feed-forward network, so two calls differ. The
    layers of this chapter have none."""

    def feed_forward(self, x):
        return F.dropout(super().feed_forward(x), 0.1, self.training)


@mistake(EncoderLayer)
class SequenceFirst(RightEncoderLayer):
    """Your attention takes the first axis for the tokens and mixes the sequences of the
    batch with each other. Set batch_first: the sequence is the second axis here."""

    def new_attention(self, d_model, num_heads):
        return nn.MultiheadAttention(d_model, num_heads)


class OwnAttention(RightEncoderLayer):
    """Attention written out with the weights of self_attn, in steps."""

    def scale(self, heads, width):
        return (width // heads) ** -0.5

    def mix_heads(self, x):
        return self.self_attn.out_proj(x)

    def attend(self, x, mask, padding_mask):
        attention, heads = self.self_attn, self.self_attn.num_heads
        projected = F.linear(x, attention.in_proj_weight, attention.in_proj_bias)
        q, k, v = (
            part.unflatten(-1, (heads, -1)).transpose(1, 2)
            for part in projected.chunk(3, dim=-1)
        )  # (B, h, N, d)
        scores = q @ k.mT * self.scale(heads, x.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        if padding_mask is not None:
            scores = scores.masked_fill(~padding_mask[:, None, None], -torch.inf)
        read = scores.softmax(dim=-1) @ v
        return self.mix_heads(read.transpose(1, 2).flatten(2))


@mistake(EncoderLayer)
class OutputProjectionUnused(OwnAttention):
    """Your attention puts the heads side by side and never uses out_proj. That map
    combines what the heads have found before it is added to the token; its weights
    belong to the layer."""

    def mix_heads(self, x):
        return x


@mistake(EncoderLayer)
class ScaledByTheModel(OwnAttention):
    """The scores of your attention are divided by the square root of the model's width.
    A score is a dot product of one head's features, so the width of a head counts."""

    def scale(self, heads, width):
        return width**-0.5


@mistake(EncoderLayer)
class ScoresNotScaled(OwnAttention):
    """The scores of your attention are not scaled. They have to be divided by the
    square root of a head's width, or the weights become too sharp."""

    def scale(self, heads, width):
        return 1.0


@mistake(EncoderLayer)
class OneHead(RightEncoderLayer):
    """You ignored num_heads and use a single head. The weights have the same shapes,
    but one softmax over the whole width is another function than several over
    slices."""

    def new_attention(self, d_model, num_heads):
        return super().new_attention(d_model, 1)


@mistake(EncoderLayer)
class OwnNames(RightEncoderLayer):
    """Your parts have other names than torch's. The names are part of the exercise: a
    state dict is loaded by name, and only then can published weights be used."""

    def __init__(self, *sizes, **options):
        super().__init__(*sizes, **options)
        self.attention = self.self_attn
        del self.self_attn

    def attend(self, x, mask, padding_mask):
        return look(self.attention, x, x, mask, padding_mask)


@mistake(EncoderLayer)
class EncoderInPlace(RightEncoderLayer):
    """You added into the tensor that you were given. Whoever still needs the tokens
    finds them changed, and autograd finds its notes overwritten."""

    def add(self, x, change, place):
        x += change
        return x


@mistake(EncoderLayer)
class NormsExchangedAfter(RightEncoderLayer):
    """Without norm_first you exchanged norm1 and norm2. norm1 belongs to the attention
    and norm2 to the feed-forward network, in both orders; saved weights are loaded by
    these names."""

    def norm_of(self, place):
        other = {"attention": self.norm2, "feed_forward": self.norm1}
        return super().norm_of(place) if self.norm_first else other[place]


@mistake(EncoderLayer)
class PaddedTokensOfZero(RightEncoderLayer):
    """After the attention, padded tokens are set to zero. The mask only keeps others
    from attending to them: what a padded token becomes itself does not matter, so the
    layer treats it like any other."""

    def attention_step(self, x, mask, padding_mask):
        x = super().attention_step(x, mask, padding_mask)
        return x if padding_mask is None else x * padding_mask.unsqueeze(-1)


# DecoderLayer


class RightDecoderLayer(RightLayer):
    """Right, so that each mistake changes one thing."""

    norms = {"attention": "norm1", "memory": "norm2", "feed_forward": "norm3"}

    def __init__(
        self, d_model, num_heads, d_ff, norm_first=False, activation=F.relu, eps=1e-5
    ):
        super().__init__(d_model, num_heads, d_ff, norm_first, activation, eps)
        self.multihead_attn = self.new_attention(d_model, num_heads)
        self.norm3 = self.new_norm(d_model, eps)

    def attend(self, x, mask):
        return look(self.self_attn, x, x, mask, need_weights=False)

    def look_up(self, x, memory, padding_mask):
        return look(self.multihead_attn, x, memory, padding_mask=padding_mask)

    def attention_step(self, x, mask):
        return self.connect(x, lambda x: self.attend(x, mask), "attention")

    def memory_step(self, x, memory, padding_mask):
        def look_up(x):
            return self.look_up(x, memory, padding_mask)

        return self.connect(x, look_up, "memory")

    def feed_forward_step(self, x):
        return self.connect(x, self.feed_forward, "feed_forward")

    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        x = self.attention_step(x, mask)
        x = self.memory_step(x, memory, memory_padding_mask)
        return self.feed_forward_step(x)


@mistake(DecoderLayer)
class QueriesFromTheMemory(RightDecoderLayer):
    """You let the memory ask and the output answer. In cross-attention the queries come
    from the decoder's tokens, keys and values from the memory; there is one result for
    each query."""

    def look_up(self, x, memory, padding_mask):
        return look(self.multihead_attn, memory, x)


@mistake(DecoderLayer)
class QueriesFromTheMemoryMasked(RightDecoderLayer):
    """The memory asks and the decoder's tokens answer, with the padding mask on these
    tokens. In cross-attention the queries come from the decoder's tokens, keys and
    values from the memory, to which the mask belongs."""

    def look_up(self, x, memory, padding_mask):
        return look(self.multihead_attn, memory, x, padding_mask=padding_mask)


@mistake(DecoderLayer)
class QueriesFromTheInput(RightDecoderLayer):
    """The queries of your cross-attention are made from what enters the layer, before
    its self-attention. What the tokens have learned from each other there is to decide
    what they look for in the memory."""

    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        self.input = self.norm_of("memory")(x) if self.norm_first else x
        return super().forward(x, memory, mask, memory_padding_mask)

    def look_up(self, x, memory, padding_mask):
        return super().look_up(self.input, memory, padding_mask)


@mistake(DecoderLayer)
class ValuesFromTheTokens(RightDecoderLayer):
    """You took the values from the decoder's tokens. What is read comes from where it
    was matched: keys and values are both made from the memory."""

    def look_up(self, x, memory, padding_mask):
        return self.multihead_attn(memory, memory, x)[0][:, : x.shape[1]]


@mistake(DecoderLayer)
class MemoryIgnored(RightDecoderLayer):
    """Your second attention never sees the memory, it looks at the decoder's own tokens
    again. The memory is its source of keys and values, and the only way to know the
    input."""

    def look_up(self, x, memory, padding_mask):
        return look(self.multihead_attn, x, x)


@mistake(DecoderLayer)
class NoCrossAttention(RightDecoderLayer):
    """You left the cross-attention out. Without it the decoder cannot know what it
    should translate."""

    def memory_step(self, x, memory, padding_mask):
        return x


@mistake(DecoderLayer)
class AttentionsExchanged(RightDecoderLayer):
    """You exchanged the two attentions. self_attn is the one among the decoder's tokens
    and multihead_attn the one to the memory; saved weights are loaded by these
    names."""

    def attend(self, x, mask):
        return look(self.multihead_attn, x, x, mask)

    def look_up(self, x, memory, padding_mask):
        return look(self.self_attn, x, memory, padding_mask=padding_mask)


@mistake(DecoderLayer)
class OneAttentionForBoth(RightDecoderLayer):
    """You use the weights of self_attn for both attentions. They ask different
    questions of different sequences, and each has weights of its own."""

    def look_up(self, x, memory, padding_mask):
        return look(self.self_attn, x, memory, padding_mask=padding_mask)


@mistake(DecoderLayer)
class CrossAttentionFirst(RightDecoderLayer):
    """You look at the memory before the tokens have looked at each other. The order is
    self-attention, cross-attention, feed-forward."""

    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        x = self.memory_step(x, memory, memory_padding_mask)
        x = self.attention_step(x, mask)
        return self.feed_forward_step(x)


@mistake(DecoderLayer)
class DecoderNormAtTheEndToo(RightDecoderLayer):
    """With norm_first you normalise the result once more. The layer ends with a plain
    sum; the one norm at the end of the whole stack belongs to the decoder."""

    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        x = super().forward(x, memory, mask, memory_padding_mask)
        return self.norm_of("feed_forward")(x) if self.norm_first else x


@mistake(DecoderLayer)
class MemoryNormalised(RightDecoderLayer):
    """With norm_first you normalised the memory with the decoder's norm. The memory
    comes finished from the encoder, which normalises it itself; norm2 is for the
    queries."""

    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        if self.norm_first:
            memory = self.norm_of("memory")(memory)
        return super().forward(x, memory, mask, memory_padding_mask)


@mistake(DecoderLayer)
class CausalMemory(RightDecoderLayer):
    """You used the causal mask for the memory as well. The whole input is known when
    the output is written, so its later tokens have nothing to hide."""

    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        self.mask = mask if memory.shape[1] == x.shape[1] else None
        return super().forward(x, memory, mask, memory_padding_mask)

    def look_up(self, x, memory, padding_mask):
        return look(self.multihead_attn, x, memory, self.mask, padding_mask)


@mistake(DecoderLayer)
class MaskOnMemoryOnly(RightDecoderLayer):
    """You applied the mask to the memory and left the decoder's own tokens uncovered.
    It belongs to the self-attention, where looking ahead would give the answer away."""

    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        self.mask = mask
        return super().forward(x, memory, None, memory_padding_mask)

    def look_up(self, x, memory, padding_mask):
        return look(self.multihead_attn, x, memory, self.mask, padding_mask)


@mistake(DecoderLayer)
class PaddingOnTheTokens(RightDecoderLayer):
    """You used the memory's padding mask for the decoder's own tokens. It says which
    tokens of the memory are filler and belongs to the cross-attention."""

    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        self.padding_mask = memory_padding_mask
        return super().forward(x, memory, mask)

    def attend(self, x, mask):
        return look(self.self_attn, x, x, mask, self.padding_mask)


class DecoderMasksTurned(RightDecoderLayer):
    """Both masks as they came."""

    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        return super().forward(x, memory, flip(mask), flip(memory_padding_mask))


class DecoderMaskTurned(RightDecoderLayer):
    """The attention mask as it came."""

    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        return super().forward(x, memory, flip(mask), memory_padding_mask)


@mistake(DecoderLayer)
class DecoderMasksNotAdapted(DecoderMasksTurned):
    """You handed the book's masks to torch's layer as they are. There True means
    `ignore`, so yours attends to exactly what should be hidden."""


@mistake(DecoderLayer)
class DecoderMasksNotAdaptedUntilNaN(WithWeights, DecoderMasksTurned):
    """You handed the book's masks to torch's layer as they are. There True means
    `ignore`, so yours attends to exactly what should be hidden, and gives NaN where
    that is nothing."""


@mistake(DecoderLayer)
class DecoderMaskNotAdapted(DecoderMaskTurned):
    """You adapted the padding mask of the memory and not the attention mask. In torch's
    layer True means `ignore` for both of them."""


@mistake(DecoderLayer)
class DecoderMaskNotAdaptedUntilNaN(WithWeights, DecoderMaskTurned):
    """You adapted the padding mask of the memory and not the attention mask. In torch's
    layer True means `ignore` for both of them; where that leaves nothing to attend to,
    it gives NaN."""


@mistake(DecoderLayer)
class MemoryMaskNotAdapted(RightDecoderLayer):
    """You adapted the attention mask and not the padding mask of the memory. In torch's
    layer True means `ignore` for both of them."""

    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        return super().forward(x, memory, mask, flip(memory_padding_mask))


@mistake(DecoderLayer)
class DecoderMaskIgnored(RightDecoderLayer):
    """The attention mask is accepted and never used, so the decoder sees the tokens
    that it should predict."""

    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        return super().forward(x, memory, None, memory_padding_mask)


@mistake(DecoderLayer)
class MemoryMaskIgnored(RightDecoderLayer):
    """The padding mask of the memory is accepted and never used. The output would then
    depend on how much the input was padded."""

    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        return super().forward(x, memory, mask)


@mistake(DecoderLayer)
class DecoderMasksIgnored(RightDecoderLayer):
    """You accept both masks and never use them. The decoder then sees the tokens that
    it should predict, and the filler tokens of the memory."""

    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        return super().forward(x, memory)


@mistake(DecoderLayer)
class DecoderMasksInTrainingOnly(RightDecoderLayer):
    """Your masks are used in training only. When the model is evaluated it then sees
    what it was trained without, and its scores mean nothing."""

    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        if not self.training:
            mask = memory_padding_mask = None
        return super().forward(x, memory, mask, memory_padding_mask)


@mistake(DecoderLayer)
class CausalByItself(RightDecoderLayer):
    """You hide the future even when no mask was given. The layer leaves that decision
    to its caller: without a mask everything may be seen."""

    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        if mask is None:
            mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        return super().forward(x, memory, mask, memory_padding_mask)


@mistake(DecoderLayer)
class DecoderNoResiduals(NothingAdded, RightDecoderLayer):
    __doc__ = NothingAdded.__doc__


@mistake(DecoderLayer)
class DecoderNoResidualAroundAttention(RightDecoderLayer):
    """The residual around the self-attention is missing. Each token would be replaced
    by a mixture of others and forget what it was."""

    def add(self, x, change, place):
        return change if place == "attention" else super().add(x, change, place)


@mistake(DecoderLayer)
class DecoderNoResidualAroundFeedForward(RightDecoderLayer):
    """The residual around the feed-forward network is missing. What both attentions
    gathered reaches the next layer only through the two linear maps."""

    def add(self, x, change, place):
        return change if place == "feed_forward" else super().add(x, change, place)


@mistake(DecoderLayer)
class NoResidualAroundCrossAttention(RightDecoderLayer):
    """The residual around the cross-attention is missing. What the tokens knew of the
    output so far is replaced by what they read from the memory."""

    def add(self, x, change, place):
        return change if place == "memory" else super().add(x, change, place)


@mistake(DecoderLayer)
class DecoderOrdersExchanged(OrderExchanged, RightDecoderLayer):
    __doc__ = OrderExchanged.__doc__


@mistake(DecoderLayer)
class DecoderAlwaysAfter(NormAfter, RightDecoderLayer):
    __doc__ = NormAfter.__doc__


@mistake(DecoderLayer)
class DecoderResidualNormalised(NormalisedAdded, RightDecoderLayer):
    __doc__ = NormalisedAdded.__doc__


@mistake(DecoderLayer)
class DecoderFirstResidualNormalised(NormalisedAddedToAttention, RightDecoderLayer):
    __doc__ = NormalisedAddedToAttention.__doc__


@mistake(DecoderLayer)
class DecoderSecondResidualNormalised(NormalisedAddedOnce, RightDecoderLayer):
    """With norm_first you add what is read from the memory to the normalised token and
    not to the token itself. The residual has to pass untouched; only the queries are
    normalised."""

    wrong = "memory"


@mistake(DecoderLayer)
class DecoderThirdResidualNormalised(NormalisedAddedToFeedForward, RightDecoderLayer):
    __doc__ = NormalisedAddedToFeedForward.__doc__


@mistake(DecoderLayer)
class ThirdNormUnused(RightDecoderLayer):
    """You use norm2 for the cross-attention and for the feed-forward network. There are
    three sublayers and three norms, each with its own weight and bias."""

    norms = RightDecoderLayer.norms | {"feed_forward": "norm2"}


@mistake(DecoderLayer)
class DecoderNoActivation(RightDecoderLayer):
    """There is no nonlinearity between the two linear maps. Together they are then one
    linear map."""

    def feed_forward(self, x):
        return self.linear2(self.linear1(x))


@mistake(DecoderLayer)
class DecoderActivationIgnored(RightDecoderLayer):
    """You always use relu. The activation is an argument of the layer, and other models
    use others."""

    def feed_forward(self, x):
        return self.linear2(F.relu(self.linear1(x)))


@mistake(DecoderLayer)
class DecoderEpsIgnored(RightDecoderLayer):
    """You did not hand eps on to the norms. Published models differ in it, and with
    another eps their weights give other results."""

    def new_norm(self, d_model, eps):
        return nn.LayerNorm(d_model)


@mistake(DecoderLayer)
class DecoderDropout(RightDecoderLayer):
    """Dropout is active in your attentions, so two calls differ. The layers of this
    chapter have none; comparing anything while it is on compares noise."""

    def new_attention(self, d_model, num_heads):
        return nn.MultiheadAttention(d_model, num_heads, dropout=0.1, batch_first=True)


@mistake(DecoderLayer)
class CrossAttentionRenamed(RightDecoderLayer):
    """Your cross-attention has another name than torch's. It is multihead_attn there,
    and a state dict is loaded by name."""

    def __init__(self, *sizes, **options):
        super().__init__(*sizes, **options)
        self.cross_attn = self.multihead_attn
        del self.multihead_attn

    def look_up(self, x, memory, padding_mask):
        return look(self.cross_attn, x, memory, padding_mask=padding_mask)


@mistake(DecoderLayer)
class DecoderInPlace(RightDecoderLayer):
    """You added into the tensor that you were given. Whoever still needs the tokens
    finds them changed, and autograd finds its notes overwritten."""

    def add(self, x, change, place):
        x += change
        return x


@mistake(DecoderLayer)
class CrossAttentionFirstAfter(RightDecoderLayer):
    """Without norm_first you look at the memory before the tokens have looked at each
    other. The order is self-attention with norm1, cross-attention with norm2,
    feed-forward with norm3, whenever the norms come."""

    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        if self.norm_first:
            return super().forward(x, memory, mask, memory_padding_mask)
        x = self.norm1(x + self.look_up(x, memory, memory_padding_mask))
        x = self.norm2(x + self.attend(x, mask))
        return self.feed_forward_step(x)


@mistake(DecoderLayer)
class ValuesFromTheTokensWhereTheyFit(RightDecoderLayer):
    """With as many tokens as the memory has, you took the values from the decoder's
    tokens. What is read comes from where it was matched: keys and values are both made
    from the memory, whatever the sizes are."""

    def look_up(self, x, memory, padding_mask):
        values = x if x.shape == memory.shape else memory
        hidden = flip(padding_mask)
        return self.multihead_attn(x, memory, values, key_padding_mask=hidden)[0]


# Both stacks


class RightStack(nn.Module):
    """What both stacks share; ``context`` is what a layer gets besides the tokens."""

    def __init__(self, layer, num_layers, norm=None):
        super().__init__()
        self.layers = self.copies(layer, num_layers)
        self.norm = norm

    def copies(self, layer, num_layers):
        return nn.ModuleList(deepcopy(layer) for _ in range(num_layers))

    def run(self, x, *context):
        for layer in self.layers:
            x = layer(x, *context)
        return x

    def finish(self, x):
        return x if self.norm is None else self.norm(x)

    def run_and_finish(self, x, *context):
        return self.finish(self.run(x, *context))


# What goes wrong in both stacks. The last two of ``context`` are the masks.


class OneLayerThroughout(RightStack):
    """All your layers are one and the same object, so they share their weights. Each
    has to be an independent copy, otherwise six layers can learn no more than one."""

    def copies(self, layer, num_layers):
        return nn.ModuleList([layer] * num_layers)


class PatternTakesPart(RightStack):
    """The layer that was given is itself the first layer of your stack. It is only a
    pattern; whoever uses it for a second stack would tie the two together."""

    def copies(self, layer, num_layers):
        return nn.ModuleList([layer, *super().copies(layer, num_layers - 1)])


class ListUnseenByTorch(RightStack):
    """You keep the layers in a plain list, where torch does not find them: they are
    missing from `parameters()` and from the state dict. Use nn.ModuleList."""

    def copies(self, layer, num_layers):
        return list(super().copies(layer, num_layers))


class NothingNormalised(RightStack):
    """The final norm is accepted and never used. Before-norm layers leave their sum as
    it is, so without the last norm the output grows with the depth."""

    def finish(self, x):
        return x


class EachLayerNormalised(RightStack):
    """You apply the norm after each layer. It comes once, at the end of the stack; the
    layers have norms of their own."""

    def run_and_finish(self, x, *context):
        for layer in self.layers:
            x = self.finish(layer(x, *context))
        return x


class LayersAddedOnceMore(RightStack):
    """You add the input of every layer to its output once more. The residual
    connections are inside the layers already."""

    def run(self, x, *context):
        for layer in self.layers:
            x = x + layer(x, *context)
        return x


class AddedAndNormalised(RightStack):
    """You add the input of every layer to its output once more, and apply the norm to
    each sum. The layers have residual connections and norms inside; the stack only runs
    them, and applies its norm once, at the end."""

    def run_and_finish(self, x, *context):
        for layer in self.layers:
            x = self.finish(x + layer(x, *context))
        return x


class AddedAroundTheStack(RightStack):
    """You add the input of the stack to its output. The residual connections are inside
    the layers, where they carry the input through already."""

    def run(self, x, *context):
        return x + super().run(x, *context)


class AddedBeforeTheNorm(RightStack):
    """You add the input of the stack to the output of its last layer before the final
    norm. The residual connections are inside the layers, so the norm gets what the last
    layer gives, and nothing else."""

    def run_and_finish(self, x, *context):
        y = self.run(x, *context)
        return y if self.norm is None else self.finish(x + y)


class NoMasksForLayers(RightStack):
    """The masks do not reach your layers. Every layer attends anew, so every layer
    needs them."""

    def run(self, x, *context):
        return super().run(x, *context[:-2])


class NoMasksInEvaluation(RightStack):
    """Your masks are passed on in training only. In evaluation the layers then see what
    they were trained without."""

    def run(self, x, *context):
        return super().run(x, *(context if self.training else context[:-2]))


class LayersSideBySide(RightStack):
    """Every layer of yours reads the input of the stack, and only the last result
    counts. A layer reads what the layer before it wrote."""

    def run(self, x, *context):
        return [layer(x, *context) for layer in self.layers][-1]


class OneCopyTooFew(RightStack):
    """Your stack has one layer too few. num_layers counts all the copies, and the
    pattern is not one of them."""

    def copies(self, layer, num_layers):
        return super().copies(layer, num_layers - 1)


# Encoder


class RightEncoder(RightStack):
    """Right, so that each mistake changes one thing."""

    def forward(self, x, mask=None, padding_mask=None):
        return self.run_and_finish(x, mask, padding_mask)


@mistake(Encoder)
class SharedLayer(OneLayerThroughout, RightEncoder):
    __doc__ = OneLayerThroughout.__doc__


@mistake(Encoder)
class PatternIsFirstLayer(PatternTakesPart, RightEncoder):
    __doc__ = PatternTakesPart.__doc__


@mistake(Encoder)
class PlainList(ListUnseenByTorch, RightEncoder):
    __doc__ = ListUnseenByTorch.__doc__


@mistake(Encoder)
class FreshWeights(RightEncoder):
    """You started each copy with fresh random weights. The copies begin with the values
    of the layer that was given, for instance those of a trained one."""

    def copies(self, layer, num_layers):
        layers = super().copies(layer, num_layers)
        for copy in layers:
            for part in copy.modules():
                if hasattr(part, "reset_parameters"):
                    part.reset_parameters()
        return layers


@mistake(Encoder)
class NormUnused(NothingNormalised, RightEncoder):
    __doc__ = NothingNormalised.__doc__


@mistake(Encoder)
class NormAfterEachLayer(EachLayerNormalised, RightEncoder):
    __doc__ = EachLayerNormalised.__doc__


@mistake(Encoder)
class NormAtTheStart(RightEncoder):
    """You apply the norm to the input of the stack. It belongs to the end, where the
    sum of all the layers is brought back to a known size."""

    def run_and_finish(self, x, *context):
        return self.run(self.finish(x), *context)


@mistake(Encoder)
class MasksNotPassedOn(NoMasksForLayers, RightEncoder):
    __doc__ = NoMasksForLayers.__doc__


@mistake(Encoder)
class PaddingNotPassedOn(RightEncoder):
    """The padding mask does not reach your layers. Every layer attends anew, so filler
    tokens have to be hidden in every layer."""

    def run(self, x, mask, padding_mask):
        return super().run(x, mask, None)


@mistake(Encoder)
class MaskNotPassedOn(RightEncoder):
    """The attention mask does not reach your layers. Every layer attends anew, so a
    position that may not look ahead must be held back in every layer."""

    def run(self, x, mask, padding_mask):
        return super().run(x, None, padding_mask)


@mistake(Encoder)
class MasksForTheFirstOnly(RightEncoder):
    """Only your first layer gets the masks. The second attends anew, and what the first
    one hid leaks in there."""

    def run(self, x, *masks):
        for layer in self.layers:
            x, masks = layer(x, *masks), ()
        return x


@mistake(Encoder)
class MasksExchanged(RightEncoder):
    """You hand the two masks on in the wrong order. One says what a query may see, the
    other which tokens are real."""

    def run(self, x, mask, padding_mask):
        return super().run(x, padding_mask, mask)


@mistake(Encoder)
class StackMasksInTrainingOnly(NoMasksInEvaluation, RightEncoder):
    __doc__ = NoMasksInEvaluation.__doc__


@mistake(Encoder)
class EachReadsTheInput(LayersSideBySide, RightEncoder):
    __doc__ = LayersSideBySide.__doc__


@mistake(Encoder)
class ResidualsTwice(LayersAddedOnceMore, RightEncoder):
    __doc__ = LayersAddedOnceMore.__doc__


@mistake(Encoder)
class ResidualsTwiceAndNormEach(AddedAndNormalised, RightEncoder):
    __doc__ = AddedAndNormalised.__doc__


@mistake(Encoder)
class ResidualOfTheStack(AddedAroundTheStack, RightEncoder):
    __doc__ = AddedAroundTheStack.__doc__


@mistake(Encoder)
class ResidualBeforeTheNorm(AddedBeforeTheNorm, RightEncoder):
    __doc__ = AddedBeforeTheNorm.__doc__


@mistake(Encoder)
class LayersReversed(RightEncoder):
    """You run the layers from last to first. layers[0] is the first one that the tokens
    meet; trained weights only work in their order."""

    def run(self, x, *context):
        for layer in reversed(self.layers):
            x = layer(x, *context)
        return x


@mistake(Encoder)
class OneLayerTooFew(OneCopyTooFew, RightEncoder):
    __doc__ = OneCopyTooFew.__doc__


@mistake(Encoder)
class FirstLayerRepeated(RightEncoder):
    """You run the first layer again and again. The stack has several layers, each with
    weights of its own, and all of them take part."""

    def run(self, x, *context):
        for _ in self.layers:
            x = self.layers[0](x, *context)
        return x


@mistake(Encoder)
class PaddingForTheFirstOnly(RightEncoder):
    """Only your first layer gets the padding mask. The others attend anew, so filler
    tokens leak in there: they have to be hidden in every layer."""

    def run(self, x, mask, padding_mask):
        for layer in self.layers:
            x, padding_mask = layer(x, mask, padding_mask), None
        return x


@mistake(Encoder)
class MaskForTheFirstOnly(RightEncoder):
    """Only your first layer gets the attention mask. The others attend anew, and what
    the first one hid leaks in there: hide it in every layer."""

    def run(self, x, mask, padding_mask):
        for layer in self.layers:
            x, mask = layer(x, mask, padding_mask), None
        return x


# Decoder


class RightDecoder(RightStack):
    """Right, so that each mistake changes one thing."""

    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        return self.run_and_finish(x, memory, mask, memory_padding_mask)


@mistake(Decoder)
class MemoryReplaced(RightDecoder):
    """You hand the output of a layer on as the memory of the next. All layers look at
    the same memory, the encoder's output, and pass only the tokens along."""

    def run(self, x, memory, mask, padding_mask):
        for layer in self.layers:
            x = memory = layer(x, memory, mask, padding_mask)
            padding_mask = None
        return x


@mistake(Decoder)
class MemoryAndTokensExchanged(RightDecoder):
    """You exchanged tokens and memory. The tokens of the output pass through the stack,
    the memory is only looked at."""

    def run(self, x, memory, mask, padding_mask):
        for layer in self.layers:
            memory = layer(memory, x)
        return memory


@mistake(Decoder)
class NormOnTheMemory(RightDecoder):
    """You applied the final norm to the memory. The encoder has normalised it already;
    this norm is for the output of the decoder."""

    def run(self, x, memory, *masks):
        return super().run(x, self.finish(memory), *masks)


@mistake(Decoder)
class DecoderSharedLayer(OneLayerThroughout, RightDecoder):
    __doc__ = OneLayerThroughout.__doc__


@mistake(Decoder)
class DecoderPatternIsFirst(PatternTakesPart, RightDecoder):
    __doc__ = PatternTakesPart.__doc__


@mistake(Decoder)
class DecoderPlainList(ListUnseenByTorch, RightDecoder):
    __doc__ = ListUnseenByTorch.__doc__


@mistake(Decoder)
class DecoderNormUnused(NothingNormalised, RightDecoder):
    __doc__ = NothingNormalised.__doc__


@mistake(Decoder)
class DecoderNormAfterEach(EachLayerNormalised, RightDecoder):
    __doc__ = EachLayerNormalised.__doc__


@mistake(Decoder)
class DecoderMasksNotPassedOn(NoMasksForLayers, RightDecoder):
    __doc__ = NoMasksForLayers.__doc__


@mistake(Decoder)
class MemoryMaskNotPassedOn(RightDecoder):
    """The memory's padding mask does not reach your layers. Every layer looks at the
    memory anew, and its filler has to be hidden each time."""

    def run(self, x, memory, mask, padding_mask):
        return super().run(x, memory, mask, None)


@mistake(Decoder)
class DecoderMasksFirstOnly(RightDecoder):
    """Only your first layer gets the masks. In the second the future leaks in, and with
    it the token that should be predicted."""

    def run(self, x, memory, *masks):
        for layer in self.layers:
            x, masks = layer(x, memory, *masks), ()
        return x


@mistake(Decoder)
class DecoderStackMasksInTraining(NoMasksInEvaluation, RightDecoder):
    __doc__ = NoMasksInEvaluation.__doc__


@mistake(Decoder)
class DecoderEachReadsTheInput(LayersSideBySide, RightDecoder):
    __doc__ = LayersSideBySide.__doc__


@mistake(Decoder)
class DecoderResidualsTwice(LayersAddedOnceMore, RightDecoder):
    __doc__ = LayersAddedOnceMore.__doc__


@mistake(Decoder)
class DecoderResidualsAndNormEach(AddedAndNormalised, RightDecoder):
    __doc__ = AddedAndNormalised.__doc__


@mistake(Decoder)
class DecoderResidualOfTheStack(AddedAroundTheStack, RightDecoder):
    __doc__ = AddedAroundTheStack.__doc__


@mistake(Decoder)
class DecoderResidualBeforeTheNorm(AddedBeforeTheNorm, RightDecoder):
    __doc__ = AddedBeforeTheNorm.__doc__


@mistake(Decoder)
class DecoderOneLayerTooFew(OneCopyTooFew, RightDecoder):
    __doc__ = OneCopyTooFew.__doc__


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


@mistake(transformer_parameter_count)
def attention_without_biases(*sizes):
    """You left out the biases of the attention's projections. Queries, keys, values and
    output each have one."""
    return counted(*sizes, attention_bias=False)


@mistake(transformer_parameter_count)
def no_output_projection(*sizes):
    """You counted three projections for each attention. There are four: queries, keys,
    values, and the one that mixes the heads."""
    return counted(*sizes, projections=3)


@mistake(transformer_parameter_count)
def feed_forward_without_biases(*sizes):
    """You left out the biases of the feed-forward network. It has one of d_ff numbers
    and one of d_model."""
    return counted(*sizes, inner_biases=0)


@mistake(transformer_parameter_count)
def both_biases_narrow(d_model, *sizes):
    """You counted both biases of the feed-forward network with d_model numbers. The
    first map ends in the wide middle, so its bias has d_ff."""
    return counted(d_model, *sizes, inner_biases=2 * d_model)


@mistake(transformer_parameter_count)
def both_biases_wide(d_model, d_ff, *layers):
    """You counted both biases of the feed-forward network with d_ff numbers. The second
    map ends in the width of the model, so its bias has d_model."""
    return counted(d_model, d_ff, *layers, inner_biases=2 * d_ff)


@mistake(transformer_parameter_count)
def norms_without_bias(*sizes):
    """You counted one vector for each norm. A norm has two: a weight and a bias."""
    return counted(*sizes, norm_size=1)


@mistake(transformer_parameter_count)
def no_final_norms(*sizes):
    """You left out the norms at the end of the two stacks. nn.Transformer has one after
    its encoder and one after its decoder."""
    return counted(*sizes, final_norms=0)


@mistake(transformer_parameter_count)
def one_final_norm(*sizes):
    """Your count is too small by 2 * d_model. Either one of the two norms after the
    stacks is missing, or both lack one of their vectors: encoder and decoder end with
    a norm each, which has a weight and a bias."""
    return counted(*sizes, final_norms=1)


@mistake(transformer_parameter_count)
def final_norm_in_each_layer(d_model, d_ff, encoder_layers, decoder_layers):
    """You counted a final norm for each layer. The layers have norms of their own; one
    more stands at the end of each stack."""
    norms = 2 * d_model * (encoder_layers + decoder_layers)
    sizes = d_model, d_ff, encoder_layers, decoder_layers
    return counted(*sizes, final_norms=0) + norms


@mistake(transformer_parameter_count)
def cross_attention_without_output(d_model, d_ff, encoder_layers, decoder_layers):
    """You counted three projections in one of the two attentions of a decoder layer.
    Both have four: queries, keys, values, and the one that mixes the heads."""
    sizes = d_model, d_ff, encoder_layers, decoder_layers
    return counted(*sizes) - decoder_layers * d_model * (d_model + 1)


@mistake(transformer_parameter_count)
def no_cross_attention_counted(*sizes):
    """You counted one attention in a decoder layer. It has two, one among its own
    tokens and one to the memory."""
    return counted(*sizes, cross_attentions=0)


@mistake(transformer_parameter_count)
def two_norms_in_the_decoder(*sizes):
    """Your count is too small by 2 * d_model for each decoder layer: a norm, or two
    biases. A layer has three sublayers with a norm each, and four biases in each of its
    two attentions."""
    return counted(*sizes, decoder_norms=2)


@mistake(transformer_parameter_count)
def one_norm_in_the_encoder(*sizes):
    """Your count is too small by 2 * d_model for each encoder layer: a norm, or two
    biases. A layer has two sublayers with a norm each, and four biases in its
    attention."""
    return counted(*sizes, encoder_norms=1)


@mistake(transformer_parameter_count)
def decoder_like_encoder(*sizes):
    """You counted a decoder layer like an encoder layer. It has a second attention and
    a third norm."""
    return counted(*sizes, cross_attentions=0, decoder_norms=2)


@mistake(transformer_parameter_count)
def no_norms(*sizes):
    """You left out the norms altogether. They have few parameters, but the count is
    exact: two vectors for each norm."""
    return counted(*sizes, norm_size=0)


@mistake(transformer_parameter_count)
def stacks_exchanged(d_model, d_ff, encoder_layers, decoder_layers):
    """You exchanged the numbers of encoder and decoder layers. Equal numbers hide it,
    but a decoder layer is larger."""
    return counted(d_model, d_ff, decoder_layers, encoder_layers)


@mistake(transformer_parameter_count)
def matrices_only(*sizes):
    """You left out all biases and norms and counted the large matrices only. That is a
    good estimate, but the count is exact."""
    return counted(*sizes, attention_bias=False, inner_biases=0, norm_size=0)


# break_layer_norm ---------------------------------------------------------------------

wrong_versions_of_layer_norm = hide(
    break_layer_norm,
    bias_before_weight,
    over_the_sequence,
    not_centred,
    eps_outside_the_root,
    eps_ignored,
)


@mistake(break_layer_norm)
def test_with_a_new_layer():
    """You found the two versions that take mean and variance in a wrong way. A layer
    that was just made has weights of 1, biases of 0 and the usual eps, and these hide
    what is done with them: choose other values."""
    x = torch.tensor([[1.0, 2.0, 4.0], [0.0, 3.0, 5.0]])
    return x, torch.ones(3), torch.zeros(3), 1e-5


@mistake(break_layer_norm)
def test_with_a_single_token_and_the_usual_eps():
    """Weight, bias and mean are looked at, the rest is not. A single token cannot show
    that tokens are mixed, and an eps that is tiny beside the variance may be added
    anywhere."""
    return torch.tensor([[1.0, 2.0, 4.0]]), torch.arange(3.0), torch.ones(3), 1e-5


@mistake(break_layer_norm)
def test_with_a_centred_token():
    """Your eps finds the two versions that misuse it. The other three need more than a
    single token that is centred already, in a layer whose weights are 1 or whose biases
    are 0."""
    return torch.tensor([1.0, -1.0]), torch.ones(2), torch.zeros(2), 1.0
