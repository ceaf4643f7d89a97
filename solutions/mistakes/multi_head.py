"""Misconceptions about several heads, as code that can be recognised."""

import torch
import torch.nn.functional as F
from torch import nn

from autograder.break_exercise import hide
from autograder.exercise import mistake
from autograder.exercises.multi_head import (
    MultiHeadAttention,
    break_split_heads,
    in_projection,
    in_projection_packed,
    merge_heads,
    projection_parameter_count,
    split_heads,
)


def divide(features, num_heads):
    if num_heads < 1 or features % num_heads:
        raise ValueError(f"{features} features cannot be cut into {num_heads} heads")
    return features // num_heads


# split_heads


@mistake(split_heads)
def split_by_reshaping_only(x, num_heads):
    """You reshaped (B, N, E) to (B, h, N, d) in one step. That keeps the order of the
    numbers in memory, so a head gets pieces of a few tokens in place of a slice of each
    token; cut the last axis first, then exchange two axes."""
    B, N, E = x.shape
    return x.reshape(B, num_heads, N, divide(E, num_heads))


@mistake(split_heads)
def split_without_transposing(x, num_heads):
    """You cut the features and left the heads behind the tokens, as (B, N, h, d).
    Attention works on the last two axes, which must be the tokens and features of one
    head."""
    B, N, E = x.shape
    return x.reshape(B, N, num_heads, divide(E, num_heads))


@mistake(split_heads)
def split_interleaved(x, num_heads):
    """You cut the features into (d, h) and not into (h, d), so that head i takes every
    h-th feature. A head is a slice of neighbouring features, otherwise its rows of the
    weights are somewhere else than every other program expects."""
    B, N, E = x.shape
    return x.reshape(B, N, divide(E, num_heads), num_heads).permute(0, 3, 1, 2)


@mistake(split_heads)
def split_into_slices_of_that_width(x, num_heads):
    """You took num_heads for the width of a head. It is the number of heads; the width
    of each is the number of features divided by it."""
    B, N, E = x.shape
    return x.reshape(B, N, divide(E, num_heads), num_heads).transpose(1, 2)


@mistake(split_heads)
def split_dropping_the_rest(x, num_heads):
    """You did not check that the heads divide the features, so the features that are
    left over are dropped in silence. Raise a ValueError; a layer that loses features
    still trains, only worse."""
    B, N, E = x.shape
    d = E // num_heads
    return x[..., : d * num_heads].reshape(B, N, num_heads, d).transpose(1, 2)


@mistake(split_heads)
def split_the_tokens(x, num_heads):
    """You cut the tokens and not the features: each head sees all features of some of
    the tokens. Then most words can never meet; a head needs a slice of every token."""
    B, N, E = x.shape
    divide(E, num_heads)
    return x.reshape(B, num_heads, N // num_heads, E)


@mistake(split_heads)
def split_heads_before_the_batch(x, num_heads):
    """You put the heads in front of the batch, as (h, B, N, d). The batch stays first,
    because masks and merging count on it."""
    B, N, E = x.shape
    return x.reshape(B, N, num_heads, divide(E, num_heads)).permute(2, 0, 1, 3)


@mistake(split_heads)
def split_copies(x, num_heads):
    """You gave every head all features. Heads share the width of the model, E / h
    features each; otherwise h heads cost h times as much."""
    divide(x.shape[-1], num_heads)
    return x[:, None].expand(-1, num_heads, -1, -1)


# merge_heads


@mistake(merge_heads)
def merge_by_reshaping_only(x):
    """You reshaped (B, h, N, d) to (B, N, h * d) without exchanging heads and tokens
    first. One row then holds several tokens of one head, in place of all heads of one
    token."""
    B, h, N, d = x.shape
    return x.reshape(B, N, h * d)


@mistake(merge_heads)
def merge_by_adding(x):
    """You added the heads up. Their slices stand side by side, so that the output
    projection can treat each head differently; a sum has thrown that away."""
    return x.sum(dim=1)


@mistake(merge_heads)
def merge_by_averaging(x):
    """You averaged the heads. Their slices stand side by side, so that the output
    projection can treat each head differently; a mean has thrown that away."""
    return x.mean(dim=1)


@mistake(merge_heads)
def merge_by_averaging_and_repeating(x):
    """You averaged the heads and repeated the mean until the width was right. Each head
    has its own slice of the result, side by side with the others, so that nothing of
    what it found is lost."""
    return x.mean(dim=1).repeat(1, 1, x.shape[1])


@mistake(merge_heads)
def merge_interleaved(x):
    """You joined the features as (d, h) and not as (h, d): the heads are shuffled like
    two halves of a pack of cards. All of the first head comes first, then the next."""
    return x.permute(0, 2, 3, 1).flatten(2)


@mistake(merge_heads)
def merge_along_the_tokens(x):
    """You joined the heads along the tokens, which gives h times as many tokens. A
    token has to get its slices back as features, for the model's width is where they
    came from."""
    return x.flatten(1, 2)


@mistake(merge_heads)
def merge_wrong_axes(x):
    """You exchanged the tokens with the features of a head, and not with the heads. The
    numbers of one token no longer stand in one row."""
    B, h, N, d = x.shape
    return x.transpose(2, 3).reshape(B, N, h * d)


@mistake(merge_heads)
def merge_without_joining(x):
    """You exchanged the right axes and left the four axes as they are. The last two,
    heads and features, have to become one."""
    return x.transpose(1, 2)


@mistake(merge_heads)
def merge_last_head_first(x):
    """The heads are joined in reverse order: the features of the last head come first.
    Head i gives the features from i * d on, as they were when the heads were split."""
    return x.flip(1).transpose(1, 2).flatten(2)


# in_projection_packed


def linear_thirds(query, key, value, weight, bias, order=(0, 1, 2)):
    matrices = weight.chunk(3)
    biases = bias.chunk(3) if bias is not None else (None,) * 3
    return tuple(
        F.linear(x, matrices[i], biases[i])
        for x, i in zip((query, key, value), order, strict=True)
    )


@mistake(in_projection_packed)
def packed_key_first(query, key, value, weight, bias=None):
    """You took the thirds of the packed weight in the order key, query, value. Queries
    come first; the shapes cannot tell you, and a layer loaded from somebody else's file
    would ask with its keys."""
    return linear_thirds(query, key, value, weight, bias, order=(1, 0, 2))


@mistake(in_projection_packed)
def packed_value_before_key(query, key, value, weight, bias=None):
    """You took the thirds of the packed weight in the order query, value, key. Keys
    come before values; the shapes cannot tell you."""
    return linear_thirds(query, key, value, weight, bias, order=(0, 2, 1))


@mistake(in_projection_packed)
def packed_weight_key_first(query, key, value, weight, bias=None):
    """You took the thirds of the packed weight in the order key, query, value, but
    those of the bias in the right order. Queries come first in both."""
    queries, keys, values = weight.chunk(3)
    return linear_thirds(query, key, value, torch.cat([keys, queries, values]), bias)


@mistake(in_projection_packed)
def packed_weight_value_before_key(query, key, value, weight, bias=None):
    """You took the thirds of the packed weight in the order query, value, key, but
    those of the bias in the right order. Keys come before values in both."""
    queries, keys, values = weight.chunk(3)
    return linear_thirds(query, key, value, torch.cat([queries, values, keys]), bias)


@mistake(in_projection_packed)
def packed_always_self(query, key, value, weight, bias=None):
    """You projected the query three times, which is right in self-attention only. Keys
    and values are made from their own inputs, or a decoder never sees what the encoder
    read."""
    return tuple(F.linear(query, weight, bias).chunk(3, dim=-1))


@mistake(in_projection_packed)
def packed_values_from_keys(query, key, value, weight, bias=None):
    """You made the values from the keys' input. The two are one tensor in most models
    and need not be; what is matched and what is read are two things."""
    return linear_thirds(query, key, key, weight, bias)


@mistake(in_projection_packed)
def packed_interleaved(query, key, value, weight, bias=None):
    """You took every third row, as if the rows were interleaved. The three matrices lie
    above one another in the packed weight, each as one block of E rows."""
    biases = [None] * 3 if bias is None else [bias[i::3] for i in range(3)]
    inputs = (query, key, value)
    return tuple(F.linear(inputs[i], weight[i::3], biases[i]) for i in range(3))


@mistake(in_projection_packed)
def packed_transposed(query, key, value, weight, bias=None):
    """You used the matrices as (inputs, outputs). They are stored as (outputs, inputs),
    like every weight of nn.Linear, and all of them are square, so no error tells
    you."""
    transposed = torch.cat([third.T for third in weight.chunk(3)])
    return linear_thirds(query, key, value, transposed, bias)


@mistake(in_projection_packed)
def packed_no_bias(query, key, value, weight, bias=None):
    """You left out the bias. Each third of it belongs to one projection."""
    return linear_thirds(query, key, value, weight, None)


@mistake(in_projection_packed)
def packed_one_bias(query, key, value, weight, bias=None):
    """You gave all three projections the first third of the bias. Each has its own, in
    the order of the weights."""
    bias = None if bias is None else bias[: len(bias) // 3].repeat(3)
    return linear_thirds(query, key, value, weight, bias)


@mistake(in_projection_packed)
def packed_bias_first(query, key, value, weight, bias=None):
    """You added the bias before the product, so the weight changes it too. A bias is
    added to what the weight gives."""
    if bias is not None:
        b_q, b_k, b_v = bias.chunk(3)
        query, key, value = query + b_q, key + b_k, value + b_v
    return linear_thirds(query, key, value, weight, None)


@mistake(in_projection_packed)
def packed_weight_interleaved(query, key, value, weight, bias=None):
    """Of the packed weight you took every third row, while the bias was cut into
    thirds. The three matrices lie above one another, each as one block of E rows, and
    so do the three parts of the bias."""
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    inputs = (query, key, value)
    return tuple(F.linear(inputs[i], weight[i::3], biases[i]) for i in range(3))


# in_projection


@mistake(in_projection)
def separate_keys_and_values_exchanged(query, key, value, w_q, w_k, w_v, bias=None):
    """You exchanged keys and values in the result. Queries, keys, values is the order
    everywhere in this book and in torch."""
    q, k, v = separate_linear(query, key, value, w_q, w_k, w_v, bias)
    return q, v, k


def separate_linear(query, key, value, w_q, w_k, w_v, bias):
    b_q, b_k, b_v = bias.chunk(3) if bias is not None else (None,) * 3
    return F.linear(query, w_q, b_q), F.linear(key, w_k, b_k), F.linear(value, w_v, b_v)


@mistake(in_projection)
def separate_transposed(query, key, value, w_q, w_k, w_v, bias=None):
    """You used the weights as (inputs, outputs), from the right of the tokens. They are
    stored as (outputs, inputs), like every weight of nn.Linear."""
    b_q, b_k, b_v = bias.chunk(3) if bias is not None else (0.0,) * 3
    return query @ w_q + b_q, key @ w_k + b_k, value @ w_v + b_v


@mistake(in_projection)
def separate_no_bias(query, key, value, w_q, w_k, w_v, bias=None):
    """You left out the bias. Each third of it belongs to one projection, in the order
    query, key, value."""
    return separate_linear(query, key, value, w_q, w_k, w_v, None)


@mistake(in_projection)
def separate_one_bias(query, key, value, w_q, w_k, w_v, bias=None):
    """You gave all three projections the first third of the bias. Each has its own, in
    the order query, key, value."""
    bias = None if bias is None else bias[: len(w_q)].repeat(3)
    return separate_linear(query, key, value, w_q, w_k, w_v, bias)


@mistake(in_projection)
def separate_bias_order(query, key, value, w_q, w_k, w_v, bias=None):
    """You took the thirds of the bias in another order than the weights. Queries come
    first, then keys, then values, though all thirds have one length."""
    bias = None if bias is None else bias.roll(len(w_q))
    return separate_linear(query, key, value, w_q, w_k, w_v, bias)


@mistake(in_projection)
def separate_bias_in_steps_of_three(query, key, value, w_q, w_k, w_v, bias=None):
    """You took every third number of the bias for each projection. The bias is three
    blocks of E numbers, one after the other: cut it into thirds, or reshape it to
    (3, E) and take the rows."""
    if bias is not None and len(bias) == 3 * len(w_q):
        bias = bias.reshape(-1, 3).T.flatten()
    return separate_linear(query, key, value, w_q, w_k, w_v, bias)


@mistake(in_projection)
def separate_raw_values(query, key, value, w_q, w_k, w_v, bias=None):
    """You passed the values on as they came. They are projected too, to the width of
    the model, or heads could not read different things from one token."""
    q, k, _ = separate_linear(query, key, value, w_q, w_k, w_v, bias)
    return q, k, value


@mistake(in_projection)
def separate_bias_needed(query, key, value, w_q, w_k, w_v, bias=None):
    """You use a bias without asking whether there is one. Without it the projections
    are plain products."""
    return separate_linear(query, key, value, w_q, w_k, w_v, bias + 0)


# MultiHeadAttention


class RightLayer(nn.Module):
    """The layer in small steps, so that each mistake below changes one of them."""

    def __init__(
        self,
        embed_dim,
        num_heads,
        bias=True,
        add_bias_kv=False,
        add_zero_attn=False,
        kdim=None,
        vdim=None,
    ):
        super().__init__()
        self.num_heads, self.add_zero_attn = num_heads, add_zero_attn
        self.head_dim = self.width_of_a_head(embed_dim)
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.in_proj_bias = self.bias_k = self.bias_v = None
        self.add_weights(embed_dim, kdim, vdim)
        if bias:
            self.in_proj_bias = nn.Parameter(torch.zeros(3 * embed_dim))
            nn.init.zeros_(self.out_proj.bias)
        if add_bias_kv:
            self.add_tokens(embed_dim)

    def width_of_a_head(self, embed_dim):
        return divide(embed_dim, self.num_heads)

    def add_weights(self, embed_dim, kdim, vdim):
        if kdim in (None, embed_dim) and vdim in (None, embed_dim):
            self.in_proj_weight = self.matrix(3 * embed_dim, embed_dim)
        else:
            self.add_separate_weights(embed_dim, kdim or embed_dim, vdim or embed_dim)

    def add_separate_weights(self, embed_dim, kdim, vdim):
        self.q_proj_weight = self.matrix(embed_dim, embed_dim)
        self.k_proj_weight = self.matrix(embed_dim, kdim)
        self.v_proj_weight = self.matrix(embed_dim, vdim)

    def matrix(self, rows, columns):
        return nn.Parameter(nn.init.xavier_uniform_(torch.empty(rows, columns)))

    def add_tokens(self, embed_dim):
        self.bias_k = nn.Parameter(torch.randn(1, 1, embed_dim) / embed_dim**0.5)
        self.bias_v = nn.Parameter(torch.randn(1, 1, embed_dim) / embed_dim**0.5)

    def forward(
        self,
        query,
        key,
        value,
        key_padding_mask=None,
        attn_mask=None,
        need_weights=True,
        average_attn_weights=True,
    ):
        batched = query.dim() == 3
        if not batched:
            query, key, value = (x.unsqueeze(0) for x in (query, key, value))
            if key_padding_mask is not None:
                key_padding_mask = key_padding_mask.unsqueeze(0)
        mask = self.mask(query, key, key_padding_mask, attn_mask)
        q, k, v = self.project(query, key, value)
        k, v, mask = self.append(k, v, mask)
        q, k, v = (self.split(x) for x in (q, k, v))
        scores = q @ k.mT * self.scale(q)
        weights = self.weigh(scores, mask)
        heads = self.read(weights, v)
        output = self.finish(self.merge(heads), weights)
        weights = self.report(weights, scores, average_attn_weights, need_weights)
        return self.unbatch(output, weights, batched)

    def additive(self, mask, like):
        """A mask of True for hidden, or of numbers, as numbers."""
        if mask.dtype == torch.bool:
            return like.new_zeros(mask.shape).masked_fill(mask, -torch.inf)
        return mask

    def by_head(self, mask, batch):
        return mask.reshape(batch, self.num_heads, *mask.shape[1:])

    def mask(self, query, key, padding, attn):
        B, T = query.shape[0], key.shape[1]
        mask = query.new_zeros(1, 1, query.shape[1], T)
        if attn is not None:
            attn = self.additive(attn, query)
            mask = mask + (attn if attn.dim() == 2 else self.by_head(attn, B))
        if padding is not None:
            mask = mask + self.additive(padding, query)[:, None, None]
        return mask

    def project(self, query, key, value):
        return separate_linear(query, key, value, *self.matrices(), self.input_bias())

    def matrices(self):
        if hasattr(self, "in_proj_weight"):
            return self.in_proj_weight.chunk(3)
        return self.q_proj_weight, self.k_proj_weight, self.v_proj_weight

    def input_bias(self):
        return self.in_proj_bias

    def append(self, k, v, mask):
        before = k.shape[1]
        if self.bias_k is not None:
            k, v = self.append_learned(k, v)
        if self.add_zero_attn:
            k, v = self.append_zeros(k, v)
        return k, v, F.pad(mask, (0, k.shape[1] - before))

    def append_learned(self, k, v):
        k = torch.cat([k, self.bias_k.expand(len(k), -1, -1)], dim=1)
        return k, torch.cat([v, self.bias_v.expand(len(v), -1, -1)], dim=1)

    def append_zeros(self, k, v):
        return F.pad(k, (0, 0, 0, 1)), F.pad(v, (0, 0, 0, 1))

    def split(self, x):
        B, N, _ = x.shape
        return x.reshape(B, N, self.num_heads, self.head_dim).transpose(1, 2)

    def scale(self, q):
        return q.shape[-1] ** -0.5

    def weigh(self, scores, mask):
        hidden = mask == -torch.inf
        scores = (scores + mask).masked_fill(hidden, -torch.inf)
        return self.normalise(scores).masked_fill(hidden, 0.0)

    def normalise(self, scores):
        return scores.softmax(dim=-1)

    def read(self, weights, v):
        return weights @ v

    def merge(self, heads):
        return heads.transpose(1, 2).flatten(2)

    def finish(self, joined, weights):
        return self.out_proj(joined)

    def report(self, weights, scores, average, need):
        if not need:
            return None
        return weights.mean(dim=1) if average else weights

    def unbatch(self, output, weights, batched):
        if batched:
            return output, weights
        return output[0], None if weights is None else weights[0]


@mistake(MultiHeadAttention)
class CutWithoutTransposing(RightLayer):
    """You cut the projected tokens into heads with one reshape to (B, h, N, d). That
    mixes tokens: cut the features into (h, d) first, then exchange heads and tokens."""

    def split(self, x):
        return x.reshape(len(x), self.num_heads, -1, self.head_dim)


@mistake(MultiHeadAttention)
class MergedWithoutTransposing(RightLayer):
    """You joined the heads without exchanging heads and tokens first, so a row of the
    result holds several tokens of one head. Undo both steps of the splitting."""

    def merge(self, heads):
        B, h, N, d = heads.shape
        return heads.reshape(B, N, h * d)


@mistake(MultiHeadAttention)
class ScaledByModelWidth(RightLayer):
    """You divided the scores by the root of the model's width. A dot product inside a
    head adds up E / h terms, so it is the root of that which brings it to size one."""

    def scale(self, q):
        return (self.num_heads * q.shape[-1]) ** -0.5


@mistake(MultiHeadAttention)
class Unscaled(RightLayer):
    """You did not scale the scores. Without the root of the head's width below them
    they grow with the width, and the softmax saturates."""

    def scale(self, q):
        return 1.0


@mistake(MultiHeadAttention)
class ScaledWithoutTheRoot(RightLayer):
    """You divided the scores by the width of a head, and not by its root. The size of a
    dot product grows with the root of the number of terms, so your weights are too
    even."""

    def scale(self, q):
        return 1 / q.shape[-1]


@mistake(MultiHeadAttention)
class MultipliedByTheRoot(RightLayer):
    """You multiplied the scores by the root of the head's width where you should divide
    by it. They grow with the width as it is, and the softmax saturates even earlier."""

    def scale(self, q):
        return q.shape[-1] ** 0.5


@mistake(MultiHeadAttention)
class WithoutOutputProjection(RightLayer):
    """You returned the joined heads without the output projection. It is what lets the
    heads' results be mixed; without it each head writes to its own features only."""

    def finish(self, joined, weights):
        return joined


@mistake(MultiHeadAttention)
class HeadsAveraged(RightLayer):
    """You averaged the results of the heads before the output projection. Their slices
    belong side by side, otherwise no later layer can tell the heads apart."""

    def merge(self, heads):
        return heads.mean(dim=1).repeat(1, 1, self.num_heads)


@mistake(MultiHeadAttention)
class HeadsAdded(RightLayer):
    """You added the results of the heads up before the output projection. Their slices
    belong side by side, otherwise no later layer can tell the heads apart."""

    def merge(self, heads):
        return heads.sum(dim=1).repeat(1, 1, self.num_heads)


@mistake(MultiHeadAttention)
class OneMapForAllHeads(RightLayer):
    """You averaged the weights over the heads before reading the values. Then all heads
    look at the same places; the average is for the caller to look at, and the output is
    made with each head's own weights."""

    def weigh(self, scores, mask):
        weights = super().weigh(scores, mask)
        return weights.mean(dim=1, keepdim=True).expand_as(weights)


@mistake(MultiHeadAttention)
class FirstHeadForAll(RightLayer):
    """You used the slice of the first head for all heads. Each has its own slice of the
    projected features; equal heads are one head, computed several times."""

    def split(self, x):
        return super().split(x)[:, :1].expand(-1, self.num_heads, -1, -1)


@mistake(MultiHeadAttention)
class MasksInverted(RightLayer):
    """You read boolean masks as True for what may be attended to. This layer follows
    torch's layer, where True hides; so your padding is read and the words are
    hidden."""

    def additive(self, mask, like):
        return super().additive(~mask if mask.dtype == torch.bool else mask, like)


@mistake(MultiHeadAttention)
class MaskAddedAsNumber(RightLayer):
    """You added a boolean mask to the scores, where True counts as 1. That shifts the
    hidden keys a little and hides nothing."""

    def additive(self, mask, like):
        return mask.to(like.dtype)


@mistake(MultiHeadAttention)
class InfinityTimesZero(RightLayer):
    """With a boolean mask your weights are NaN: you multiplied minus infinity by the
    mask as numbers, and minus infinity times 0 is NaN. Fill in minus infinity where it
    belongs."""

    def additive(self, mask, like):
        return mask.to(like.dtype) * -torch.inf if mask.dtype == torch.bool else mask

    def weigh(self, scores, mask):
        return (scores + mask).softmax(dim=-1)


@mistake(MultiHeadAttention)
class NumbersReadAsTruth(RightLayer):
    """You treated a mask of numbers as a boolean one. Its numbers are added to the
    scores: a moderate number favours a key a little, and only -inf hides it."""

    def additive(self, mask, like):
        return super().additive(mask.bool(), like)


@mistake(MultiHeadAttention)
class MaskedAfterSoftmax(RightLayer):
    """You set hidden weights to zero after the softmax, so the rest of the row no
    longer sums to one. Hide keys before normalising."""

    def weigh(self, scores, mask):
        hidden = mask == -torch.inf
        weights = (scores + mask.masked_fill(hidden, 0.0)).softmax(dim=-1)
        return weights.masked_fill(hidden, 0.0)


@mistake(MultiHeadAttention)
class MaskSubtracted(RightLayer):
    """The numbers of a float mask have the wrong sign in your scores. They are added: a
    negative one makes a pair of tokens less likely, and a positive one more."""

    def weigh(self, scores, mask):
        hidden = mask == -torch.inf
        return super().weigh(scores, torch.where(hidden, mask, -mask))


@mistake(MultiHeadAttention)
class NothingToSeeIsNaN(RightLayer):
    """A query that may see nothing has NaN for weights and output. A softmax over
    nothing but -inf divides zero by zero, and one NaN in a batch spoils the whole
    training step."""

    def weigh(self, scores, mask):
        return (scores + mask).softmax(dim=-1)


@mistake(MultiHeadAttention)
class NothingToSeeIsNaNBackwards(RightLayer):
    """You replaced NaN by zero after the softmax. The values are right, but going
    backwards the NaN is still there: it must not arise on a path that a gradient
    takes."""

    def weigh(self, scores, mask):
        return (scores + mask).softmax(dim=-1).nan_to_num(0.0)


@mistake(MultiHeadAttention)
class NothingToSeeIsEverything(RightLayer):
    """You hid keys with a large negative number, so a query that may see nothing looks
    at all keys, evenly or as if there were no mask. Its weights should be 0."""

    def weigh(self, scores, mask):
        return (
            scores.masked_fill(mask == -torch.inf, -1e9)
            .add(mask.masked_fill(mask == -torch.inf, 0.0))
            .softmax(dim=-1)
        )


@mistake(MultiHeadAttention)
class NothingToSeeGivesZero(RightLayer):
    """You set the output of a query that may see nothing to zero. Its heads read
    nothing, which is zero; the output projection comes after that and adds its bias."""

    def finish(self, joined, weights):
        seen = weights.sum(dim=(1, 3)) > 0
        return self.out_proj(joined) * seen[..., None]


@mistake(MultiHeadAttention)
class MaskHeadsFirst(RightLayer):
    """You read a mask of (B * h, N, T) with the heads first. It holds all heads of the
    first sequence, then all heads of the second, as in torch."""

    def by_head(self, mask, batch):
        return mask.reshape(self.num_heads, batch, *mask.shape[1:]).transpose(0, 1)


@mistake(MultiHeadAttention)
class PaddingIgnored(RightLayer):
    """You ignored the padding mask. Filler tokens then take part, and the result of a
    sequence depends on how long its neighbours in the batch are."""

    def mask(self, query, key, padding, attn):
        return super().mask(query, key, None, attn)


@mistake(MultiHeadAttention)
class AttentionMaskIgnored(RightLayer):
    """You ignored attn_mask, so every query sees every key. A decoder would read the
    words it should guess."""

    def mask(self, query, key, padding, attn):
        return super().mask(query, key, padding, None)


@mistake(MultiHeadAttention)
class OneMaskOnly(RightLayer):
    """With both masks given, you used only one of them. A key is hidden when either
    mask hides it."""

    def mask(self, query, key, padding, attn):
        return super().mask(query, key, padding if attn is None else None, attn)


@mistake(MultiHeadAttention)
class UnmaskedWithoutWeights(RightLayer):
    """Without the weights you forgot the masks. need_weights decides what is returned
    and must not change the output."""

    def forward(
        self, query, key, value, padding=None, attn=None, need=True, average=True, **kw
    ):
        padding = kw.get("key_padding_mask", padding)
        attn = kw.get("attn_mask", attn)
        need = kw.get("need_weights", need)
        average = kw.get("average_attn_weights", average)
        if not need:
            padding = attn = None
        return super().forward(query, key, value, padding, attn, need, average)


@mistake(MultiHeadAttention)
class AlwaysAveraged(RightLayer):
    """You always averaged the weights over the heads. With average_attn_weights=False
    the caller wants (B, h, N, T), because an average of two sharp maps looks like one
    blurred head."""

    def report(self, weights, scores, average, need):
        return super().report(weights, scores, True, need)


@mistake(MultiHeadAttention)
class NeverAveraged(RightLayer):
    """You always returned the weights of each head. By default they are averaged over
    the heads, to (B, N, T)."""

    def report(self, weights, scores, average, need):
        return super().report(weights, scores, False, need)


@mistake(MultiHeadAttention)
class WeightsSummed(RightLayer):
    """You added the heads' weights up. The mean is asked for, whose rows still sum to
    one."""

    def report(self, weights, scores, average, need):
        weights = super().report(weights, scores, average, need)
        return weights * self.num_heads if need and average else weights


@mistake(MultiHeadAttention)
class ScoresAveraged(RightLayer):
    """The weights that you return are a softmax of the mean of all heads' scores. Each
    head has a softmax of its own, and it is their weights that are averaged: the mean
    then shows what the heads have read."""

    def weigh(self, scores, mask):
        self.masked = (scores + mask).masked_fill(mask == -torch.inf, -torch.inf)
        return super().weigh(scores, mask)

    def report(self, weights, scores, average, need):
        if need and average:
            return self.masked.mean(dim=1).softmax(dim=-1).nan_to_num(0.0)
        return super().report(weights, scores, average, need)


@mistake(MultiHeadAttention)
class AlwaysWeights(RightLayer):
    """You returned weights although need_weights was False. Return None in their place:
    not having to build them is what makes the layer faster."""

    def report(self, weights, scores, average, need):
        return super().report(weights, scores, average, True)


@mistake(MultiHeadAttention)
class ScoresForWeights(RightLayer):
    """You returned the scores in place of the weights. Weights come out of the softmax
    and sum to one."""

    def report(self, weights, scores, average, need):
        return super().report(scores, scores, average, need)


@mistake(MultiHeadAttention)
class SoftmaxOverHeadsAndKeys(RightLayer):
    """The weights of a query sum to one over all heads together, so each head has only
    a share of what it should have. Every head is an attention of its own: normalise
    over the keys of one head."""

    def normalise(self, scores):
        B, h, N, T = scores.shape
        joined = scores.transpose(1, 2).flatten(2)  # (B, N, h * T)
        return joined.softmax(dim=-1).reshape(B, N, h, T).transpose(1, 2)


@mistake(MultiHeadAttention)
class HiddenScoresOfPlusInfinity(RightLayer):
    """Every query from which a key is hidden comes out as NaN. Hidden scores became
    plus infinity or NaN, by filling it in or by subtracting minus infinity, and no
    softmax gets over either; minus infinity is the one whose exponential is 0."""

    def weigh(self, scores, mask):
        hidden = mask == -torch.inf
        return (scores + mask).masked_fill(hidden, torch.inf).softmax(dim=-1)


@mistake(MultiHeadAttention)
class SoftmaxOverQueries(RightLayer):
    """Your softmax runs over the queries. Each query has a budget of one to share among
    the keys, so the sum runs over the last axis."""

    def normalise(self, scores):
        return scores.softmax(dim=-2).nan_to_num(0.0)


@mistake(MultiHeadAttention)
class SoftmaxOverHeads(RightLayer):
    """Your softmax runs over the heads, so heads compete for a key. Each head is an
    attention of its own, whose weights sum to one over the keys."""

    def weigh(self, scores, mask):
        hidden = mask == -torch.inf
        return (scores + mask.masked_fill(hidden, -1e9)).softmax(dim=1)


@mistake(MultiHeadAttention)
class SequenceFirst(RightLayer):
    """You took the tokens for the first axis and the batch for the second. Here the
    batch comes first, so your sequences attend to each other."""

    def project(self, query, key, value):
        return (x.transpose(0, 1) for x in super().project(query, key, value))

    def finish(self, joined, weights):
        return self.out_proj(joined.transpose(0, 1))


@mistake(MultiHeadAttention)
class BatchOfOneKept(RightLayer):
    """Inputs without a batch come back with one. What had no first axis of sequences
    should have none afterwards."""

    def unbatch(self, output, weights, batched):
        return output, weights


@mistake(MultiHeadAttention)
class PackedKeyFirst(RightLayer):
    """The packed weight is read in the order key, query, value. Queries come first, or
    weights from elsewhere ask with what should be found."""

    def matrices(self):
        if not hasattr(self, "in_proj_weight"):
            return super().matrices()
        w_k, w_q, w_v = self.in_proj_weight.chunk(3)
        return w_q, w_k, w_v


@mistake(MultiHeadAttention)
class InputBiasForgotten(RightLayer):
    """You left the bias of the input projections out. With bias=True queries, keys and
    values each get their third of in_proj_bias."""

    def input_bias(self):
        return None


@mistake(MultiHeadAttention)
class AlwaysSelfAttention(RightLayer):
    """You made keys and values from the query. That is self-attention whatever the
    caller passes, so a decoder never sees what the encoder read."""

    def project(self, query, key, value):
        if not hasattr(self, "in_proj_weight") or key.shape != query.shape:
            return super().project(query, key, value)
        return super().project(query, query, query)


@mistake(MultiHeadAttention)
class ValuesFromKeys(RightLayer):
    """You made the values from the keys' input. The two are one tensor in most models
    and need not be."""

    def project(self, query, key, value):
        return super().project(query, key, key if key.shape == value.shape else value)


@mistake(MultiHeadAttention)
class AlwaysSeparate(RightLayer):
    """You keep three separate weights although kdim and vdim equal the width of the
    model. Then there is one packed in_proj_weight, or a state dict of torch's layer
    does not load."""

    def add_weights(self, embed_dim, kdim, vdim):
        self.add_separate_weights(embed_dim, kdim or embed_dim, vdim or embed_dim)


@mistake(MultiHeadAttention)
class SeparateWhenGiven(RightLayer):
    """You separate the weights whenever kdim or vdim is given. What counts is whether
    one of them differs from the width of the model."""

    def add_weights(self, embed_dim, kdim, vdim):
        if kdim is None and vdim is None:
            super().add_weights(embed_dim, None, None)
        else:
            self.add_separate_weights(embed_dim, kdim or embed_dim, vdim or embed_dim)


@mistake(MultiHeadAttention)
class OtherNames(RightLayer):
    """You named the projections in your own way. A state dict is matched by names
    alone, so take the names that torch's layer uses."""

    def add_weights(self, embed_dim, kdim, vdim):
        self.query_weight = self.matrix(embed_dim, embed_dim)
        self.key_weight = self.matrix(embed_dim, kdim or embed_dim)
        self.value_weight = self.matrix(embed_dim, vdim or embed_dim)

    def matrices(self):
        return self.query_weight, self.key_weight, self.value_weight


@mistake(MultiHeadAttention)
class PlainTensors(RightLayer):
    """You keep the weights as plain tensors, not as parameters. They are then missing
    in the state dict, and no optimiser ever changes them."""

    def matrix(self, rows, columns):
        return torch.randn(rows, columns, dtype=torch.float64) / columns**0.5


@mistake(MultiHeadAttention)
class StartedEqual(RightLayer):
    """You start all weights at the same number. Equal heads get equal gradients and
    stay equal: random first values are what makes them differ."""

    def matrix(self, rows, columns):
        return nn.Parameter(torch.full((rows, columns), columns**-0.5))


@mistake(MultiHeadAttention)
class AllBiasesDrawn(RightLayer):
    """The biases of your projections do not begin as zeros, neither at the input nor at
    the output. The docstring asks for zeros in both; an nn.Linear draws its bias unless
    it is set."""

    def __init__(self, *sizes, **options):
        super().__init__(*sizes, **options)
        for name, value in self.named_parameters():
            if name.endswith("bias"):
                nn.init.uniform_(value, 0.05, 0.1)


@mistake(MultiHeadAttention)
class OutputBiasDrawn(RightLayer):
    """The bias of your `out_proj` does not begin as zeros: an nn.Linear draws its bias
    unless it is set. The docstring asks for zeros, with which torch's layer begins."""

    def __init__(self, *sizes, **options):
        super().__init__(*sizes, **options)
        self.out_proj.reset_parameters()


@mistake(MultiHeadAttention)
class InputBiasDrawn(RightLayer):
    """Your `in_proj_bias` does not begin as zeros. The docstring asks for zeros, with
    which torch's layer begins as well."""

    def __init__(self, *sizes, **options):
        super().__init__(*sizes, **options)
        if self.in_proj_bias is not None:
            nn.init.uniform_(self.in_proj_bias, -0.1, 0.1)


@mistake(MultiHeadAttention)
class AppendedTokensOfZero(RightLayer):
    """The spread of the learned key and value is wrong at first: they begin as zeros,
    or too large or too small. The docstring asks for Xavier normal: random numbers
    whose variance is one over the width of the model."""

    def add_tokens(self, embed_dim):
        self.bias_k = nn.Parameter(torch.zeros(1, 1, embed_dim))
        self.bias_v = nn.Parameter(torch.zeros(1, 1, embed_dim))


@mistake(MultiHeadAttention)
class WeightsDrawnTooLarge(RightLayer):
    """The weights of your input projections do not begin as Xavier uniform draws them:
    some are above its bound, the root of 6 / (rows + columns), and their spread is
    another. Large ones bring the first attention weights near 0 and 1."""

    def matrix(self, rows, columns):
        return nn.Parameter(torch.randn(rows, columns))


@mistake(MultiHeadAttention)
class WeightsDrawnAsByLinear(RightLayer):
    """The weights of your input projections have too small a spread at first, although
    all are within the bound of Xavier uniform. An nn.Linear draws them from a narrower
    range unless they are drawn once more."""

    def matrix(self, rows, columns):
        bound = columns**-0.5
        return nn.Parameter(torch.empty(rows, columns).uniform_(-bound / 2, bound / 2))


@mistake(MultiHeadAttention)
class WeightsDrawnNormal(RightLayer):
    """The weights of your input projections have the spread of Xavier's formula, but
    some lie outside the bound of Xavier uniform. They look as if drawn from a normal
    distribution, where the docstring asks for the uniform one."""

    def matrix(self, rows, columns):
        return nn.init.xavier_normal_(nn.Parameter(torch.empty(rows, columns)))


@mistake(MultiHeadAttention)
class AnyNumberOfHeads(RightLayer):
    """You did not check that the heads divide the width. Twelve features in five heads
    leave two over; say so with a ValueError that names both numbers."""

    def width_of_a_head(self, embed_dim):
        return embed_dim // self.num_heads


@mistake(MultiHeadAttention)
class LearnedTokenIgnored(RightLayer):
    """You ignored add_bias_kv. It appends one learned key and one learned value to
    every sequence, after the projection."""

    def append_learned(self, k, v):
        return k, v


@mistake(MultiHeadAttention)
class ZeroTokenIgnored(RightLayer):
    """You ignored add_zero_attn. It appends a key and a value of zeros, to which a head
    can turn when nothing in the sequence fits."""

    def append_zeros(self, k, v):
        return k, v


@mistake(MultiHeadAttention)
class TokenPrepended(RightLayer):
    """You put the appended key and value in front. They come last, so that column j of
    the weights is still key j of the sequence."""

    def append(self, k, v, mask):
        T = k.shape[1]
        k, v, mask = super().append(k, v, mask)
        return k.roll(-T, 1), v.roll(-T, 1), mask.roll(-T, -1)


@mistake(MultiHeadAttention)
class ZeroBeforeLearned(RightLayer):
    """You appended the zeros before the learned key and value. The learned ones come
    first; the weights tell the two apart."""

    def append(self, k, v, mask):
        T = k.shape[1]
        k, v, mask = super().append(k, v, mask)
        if k.shape[1] == T + 2:
            order = [*range(T), T + 1, T]
            k, v = k[:, order], v[:, order]
        return k, v, mask


@mistake(MultiHeadAttention)
class AppendedKeyHidden(RightLayer):
    """With a mask given, you hide the appended key too. No mask speaks about it, so it
    stays open to every query."""

    def append(self, k, v, mask):
        T = k.shape[1]
        k, v, mask = super().append(k, v, mask)
        if (mask == -torch.inf).any():
            mask = mask.clone()
            mask[..., T:] = -torch.inf
        return k, v, mask


@mistake(MultiHeadAttention)
class LearnedTokensExchanged(RightLayer):
    """You exchanged bias_k and bias_v. One is appended to the keys and is matched, the
    other to the values and is read."""

    def append_learned(self, k, v):
        k = torch.cat([k, self.bias_v.expand(len(k), -1, -1)], dim=1)
        return k, torch.cat([v, self.bias_k.expand(len(v), -1, -1)], dim=1)


@mistake(MultiHeadAttention)
class LearnedTokenAdded(RightLayer):
    """You add bias_k and bias_v to every key and value. Despite their names they are
    not biases but one more token, appended to the sequence."""

    def append_learned(self, k, v):
        return k + self.bias_k, v + self.bias_v


@mistake(MultiHeadAttention)
class WeightsDetached(RightLayer):
    """Your weights carry no gradient when the values are read, so queries and keys
    never learn where to look. Detach a copy for looking at, not what the output is made
    of."""

    def read(self, weights, v):
        return weights.detach() @ v


@mistake(MultiHeadAttention)
class PaddingNumbersReadAsTruth(RightLayer):
    """You treated a padding mask of numbers as a boolean one, so that every number but
    zero hides its key. Its numbers are added to the scores, as those of the other mask
    are: a moderate number favours a key a little, and only -inf hides it."""

    def mask(self, query, key, padding, attn):
        padding = None if padding is None else padding.bool()
        return super().mask(query, key, padding, attn)


# projection_parameter_count


@mistake(projection_parameter_count)
def count_times_heads(embed_dim, num_heads):
    """You multiplied by the number of heads. Each head has only E / h features, so h of
    them need as many numbers as one head of full width."""
    return 3 * num_heads * (embed_dim**2 + embed_dim) + embed_dim**2 + embed_dim


@mistake(projection_parameter_count)
def count_one_head(embed_dim, num_heads):
    """You counted one head only. There are h of them side by side."""
    d = embed_dim // num_heads
    return 3 * (embed_dim * d + d) + embed_dim * d + embed_dim


@mistake(projection_parameter_count)
def count_weights_of_one_head(embed_dim, num_heads):
    """You divided the weights by the number of heads. A head's part of a matrix is that
    much smaller, but there are h such parts, so all heads together have E times E
    weights of each kind."""
    return 4 * embed_dim**2 // num_heads + 4 * embed_dim


@mistake(projection_parameter_count)
def count_without_output(embed_dim, num_heads):
    """You counted three projections of the four. Queries, keys, values and output have
    one each, and all four have as many numbers."""
    return 3 * embed_dim**2 + 3 * embed_dim


@mistake(projection_parameter_count)
def count_without_biases(embed_dim, num_heads):
    """You forgot the biases: each of the four projections has one number for each of
    its outputs."""
    return 4 * embed_dim**2


@mistake(projection_parameter_count)
def count_without_output_bias(embed_dim, num_heads):
    """Your count is too small by embed_dim, which is one bias. All four projections
    have one: those of queries, keys and values, and that of the output."""
    return 4 * embed_dim**2 + 3 * embed_dim


@mistake(projection_parameter_count)
def count_biases_of_one_head(embed_dim, num_heads):
    """You counted the biases for queries, keys and values of one head only. Each of the
    h heads has its own, of E / h numbers, so all heads together have E of each kind."""
    return 4 * embed_dim**2 + 3 * (embed_dim // num_heads) + embed_dim


@mistake(projection_parameter_count)
def count_output_bias_of_each_head(embed_dim, num_heads):
    """You counted a bias of the output projection for every head. Each head has rows of
    its weight, but the products are summed, and one bias is added to the sum."""
    return 4 * embed_dim**2 + 3 * embed_dim + num_heads * embed_dim


@mistake(projection_parameter_count)
def count_all_times_heads(embed_dim, num_heads):
    """You multiplied all four projections by the number of heads. Each head has only
    E / h features of each, so h of them need as many numbers as one of full width, and
    the heads share one output projection."""
    return 4 * num_heads * (embed_dim**2 + embed_dim)


@mistake(projection_parameter_count)
def count_output_of_one_head(embed_dim, num_heads):
    """Your output projection has as many rows of weights as one head has features. It
    reads all h heads side by side, which are E features."""
    return 3 * embed_dim**2 + embed_dim**2 // num_heads + 4 * embed_dim


@mistake(projection_parameter_count)
def count_heads_of_slices(embed_dim, num_heads):
    """The matrices for queries, keys and values have as many numbers in your count as
    those of a single head, or as if a head saw only a slice of the token. Each of the h
    heads reads the whole token and writes a slice."""
    d = embed_dim // num_heads
    return 3 * num_heads * (d * d + d) + embed_dim**2 + embed_dim


@mistake(projection_parameter_count)
def count_whole_biases_of_each_head(embed_dim, num_heads):
    """You counted E numbers for each bias of each head. A head has E / h features, and
    as many numbers in its bias, so all heads together have E of each kind."""
    return 4 * embed_dim**2 + 3 * num_heads * embed_dim + embed_dim


# break_split_heads --------------------------------------------------------------------

wrong_versions_of_split_heads = hide(
    break_split_heads,
    split_by_reshaping_only,
    split_interleaved,
    split_into_slices_of_that_width,
    split_heads_before_the_batch,
    shown_by=(
        "take two tokens and two heads or more, and values that all differ.",
        "take two heads of two features or more, and values that all differ.",
        "let a head have another number of features than there are heads, as with "
        "three features in each of two heads.",
        "take two heads, or two sentences of the batch.",
    ),
)


@mistake(break_split_heads)
def test_with_a_single_token():
    """All versions are found but the one that mixes tokens with heads. With a single
    token there is nothing to mix: the order of the values in memory is right by
    chance."""
    return torch.arange(6.0).reshape(1, 1, 6), 2


@mistake(break_split_heads)
def test_with_as_many_heads_as_features():
    """All versions are found but one, which takes the number of heads for the number of
    features in a head. Choose these two numbers differently."""
    return torch.arange(12.0).reshape(1, 3, 4), 2


@mistake(break_split_heads)
def test_with_zeros():
    """Your tokens show a wrong shape and nothing else. A test of how values are moved
    around needs values that differ from each other: with zeros everywhere, any
    permutation is right."""
    return torch.zeros(2, 3, 6), 2
