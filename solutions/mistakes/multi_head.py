"""Misconceptions about several heads, as code that can be recognised."""

import numpy as np

from autograder.break_exercise import hide
from autograder.exercise import edit, mistake
from autograder.exercises.multi_head import (
    MultiHeadAttention,
    break_split_heads,
    merge_heads,
    multi_head_attention,
    projection_parameter_count,
    split_heads,
)


def divide(features, num_heads):
    if features % num_heads:
        raise ValueError(f"{features} features cannot be cut into {num_heads} heads")
    return features // num_heads


# split_heads


@edit(
    split_heads,
    "B, N, num_heads, E // num_heads).swapaxes(1, 2)",
    "B, num_heads, N, E // num_heads)",
)
def split_by_reshaping_only():
    """You reshaped (B, N, E) to (B, h, N, d) in one step. A reshape keeps the order in
    memory, so a head gets pieces of a few tokens instead of a slice of each token.
    Split the last axis first, then swap two axes."""


@edit(split_heads, ".swapaxes(1, 2)", "")
def split_without_transposing():
    """You split the features and left the heads behind the tokens, as (B, N, h, d).
    Attention works on the last two axes, which must be the tokens and features of one
    head."""


@edit(
    split_heads,
    "num_heads, E // num_heads).swapaxes(1, 2)",
    "E // num_heads, num_heads).transpose(0, 3, 1, 2)",
)
def split_interleaved():
    """You split the features into (d, h) and not into (h, d), so head i takes every
    h-th feature. A head is a slice of neighbouring features; with any other choice,
    weights from elsewhere do not fit."""


@edit(split_heads, "num_heads, E // num_heads)", "E // num_heads, num_heads)")
def split_into_slices_of_that_width():
    """You took num_heads for the width of a head. It is the number of heads; the width
    of each is the number of features divided by it."""


@mistake(split_heads)
def split_dropping_the_rest(x, num_heads):
    """You did not check that the heads divide the features, so the features left over
    are dropped silently. Raise a ValueError: a layer that loses features still trains,
    only worse."""
    B, N, E = x.shape
    d = E // num_heads
    return x[..., : d * num_heads].reshape(B, N, num_heads, d).swapaxes(1, 2)


@edit(split_heads, ".swapaxes(1, 2)", ".transpose(2, 0, 1, 3)")
def split_heads_before_the_batch():
    """You put the heads in front of the batch, as (h, B, N, d). The batch stays first:
    masks and merging count on it."""


@mistake(split_heads)
def split_copies(x, num_heads):
    """You gave every head all features. Heads divide the width of the model among them,
    E / h features each; otherwise h heads would cost h times as much."""
    divide(x.shape[-1], num_heads)
    return np.stack([x] * num_heads, axis=1)


# merge_heads


@edit(merge_heads, ".swapaxes(1, 2)", "")
def merge_by_reshaping_only():
    """You reshaped (B, h, N, d) to (B, N, h * d) without swapping heads and tokens
    first. A row then holds several tokens of one head instead of all heads of one
    token."""


@edit(merge_heads, "x.swapaxes(1, 2).reshape(B, N, h * d)", "x.sum(axis=1)")
def merge_by_adding():
    """You added the heads. Their slices belong side by side, so that the output
    projection can treat each head differently; a sum has thrown that away."""


@mistake(merge_heads)
def merge_by_averaging(x):
    """You averaged the heads. Their slices belong side by side, so that the output
    projection can treat each head differently; a mean has thrown that away."""
    return x.mean(axis=1)


@edit(merge_heads, ".swapaxes(1, 2)", ".transpose(0, 2, 3, 1)")
def merge_interleaved():
    """You joined the features as (d, h) and not as (h, d): the heads are shuffled like
    two halves of a pack of cards. All of the first head comes first, then the next."""


@edit(merge_heads, ".swapaxes(1, 2).reshape(B, N, h * d)", ".reshape(B, h * N, d)")
def merge_along_the_tokens():
    """You joined the heads along the tokens, which makes h times as many tokens. The
    slices are features of one token, and the model's width is where they came from."""


@edit(merge_heads, ".swapaxes(1, 2)", ".swapaxes(2, 3)")
def merge_wrong_axes():
    """You swapped the tokens with the features of a head, and not with the heads. The
    features of one token are no longer in one row."""


# multi_head_attention


@edit(multi_head_attention, "math.sqrt(q.shape[-1])", "math.sqrt(x.shape[-1])")
def attention_scaled_by_model_width():
    """You divided by the square root of the model's width E. A score inside a head sums
    E / h products, so the head's width belongs there; with E the scores come out too
    small, and attention too even."""


@edit(multi_head_attention, " / math.sqrt(q.shape[-1])", "")
def attention_not_scaled():
    """You did not divide the scores by the square root of the head's width. They grow
    with the width, and the softmax saturates."""


@edit(
    multi_head_attention, "merge_heads(weights @ v) @ W_O", "merge_heads(weights @ v)"
)
def attention_without_output_projection():
    """You left out the output projection. Without `W_O` a head can reach only its own
    slice of the features."""


@edit(multi_head_attention, "merge_heads(weights @ v) @ W_O", "(weights @ v) @ W_O")
def attention_merged_late():
    """You applied `W_O` before the heads were merged. It maps all E merged features, so
    a single head's E / h features do not fit it."""


@edit(
    multi_head_attention,
    "split_heads(x @ W, num_heads)",
    "(x @ W).reshape(len(x), num_heads, x.shape[1], -1)",
)
def attention_split_by_reshaping():
    """You split the heads with a single reshape. Its shape is right, yet each head gets
    whole rows of a few tokens; split the features, then swap two axes."""


@edit(
    multi_head_attention, "merge_heads(weights @ v)", "(weights @ v).reshape(x.shape)"
)
def attention_merged_by_reshaping():
    """You merged the heads with a single reshape. A row then holds several tokens of
    one head; swap heads and tokens before you join the features."""


@edit(multi_head_attention, "x @ W,", "x @ W.T,")
def attention_with_transposed_weights():
    """You used the projections transposed. They are square, so no error tells you; this
    exercise stores them as (inputs, outputs) and uses them as `x @ W`."""


@edit(multi_head_attention, "q @ k.swapaxes(-1, -2)", "k @ q.swapaxes(-1, -2)")
def attention_of_keys():
    """Your scores have keys as rows and queries as columns. Row i of the weights
    belongs to query i: multiply the queries by the transposed keys."""


@edit(
    multi_head_attention,
    "np.maximum(weights.sum(axis=-1, keepdims=True), 1.0)",
    "weights.sum(axis=-1, keepdims=True)",
)
def attention_without_keys_nan():
    """A query from which every key is hidden gives you NaN: its exponentials sum to 0,
    and you divide by that. Its weights, and so its output, are 0."""


@edit(multi_head_attention, "@ W_O, weights", "@ W_O, weights.mean(axis=1)")
def attention_weights_averaged():
    """You averaged the weights over the heads. Each head has a map of its own, and two
    sharp maps, averaged, look like one blurred map: return (B, h, N, N)."""


# MultiHeadAttention


@edit(MultiHeadAttention, "math.sqrt(q.shape[-1])", "math.sqrt(query.shape[-1])")
def layer_scaled_by_model_width():
    """You divided by the square root of the model's width. A score inside a head sums
    E / h products, so the head's width belongs there."""


@edit(MultiHeadAttention, " / math.sqrt(q.shape[-1])", "")
def layer_not_scaled():
    """You did not divide the scores by the square root of the head's width. They grow
    with the width, and the softmax saturates."""


@edit(MultiHeadAttention, "self.out_proj(heads), weights", "heads, weights")
def layer_without_output_projection():
    """You left out the output projection. Without `out_proj` a head can reach only its
    own slice of the features."""


@edit(MultiHeadAttention, "self.v_proj(value)", "self.v_proj(key)")
def layer_values_from_keys():
    """You made the values from the keys' input. The two are one tensor in most models
    and need not be: what is matched and what is returned are two things."""


@edit(MultiHeadAttention, "self.k_proj(key)", "self.q_proj(key)")
def layer_keys_by_the_query_projection():
    """You projected the keys with `q_proj`. A query and a key that come from one matrix
    can only look for what resembles themselves; `k_proj` never learns."""


@edit(
    MultiHeadAttention,
    "(weights @ v).transpose(1, 2).flatten(2)",
    "(weights @ v).reshape(query.shape)",
)
def layer_merged_by_reshaping():
    """You merged the heads with a single reshape. A row then holds several tokens of
    one head; swap heads and tokens before you join the features."""


@edit(
    MultiHeadAttention,
    "scores = scores.masked_fill(~mask, -torch.inf)",
    "mask = mask.expand_as(scores)",
)
def layer_zeroed_after_the_softmax():
    """You set the weights of hidden keys to 0 after the softmax, which had given them
    their share by then. The rows no longer sum to one: hide the scores before it."""


@edit(
    MultiHeadAttention,
    "scores = scores.masked_fill(~mask, -torch.inf)",
    "mask = ~mask\n            scores = scores.masked_fill(~mask, -torch.inf)",
)
def layer_mask_inverted():
    """Your mask is used the wrong way round: True means that attention is allowed in
    this class, and you hide what is True, as PyTorch's own layer does."""


@edit(
    MultiHeadAttention,
    "weights = weights.masked_fill(~mask, 0.0)",
    "mask = mask",
)
def layer_without_keys_nan():
    """A query from which every key is hidden gives you NaN: a softmax over nothing but
    -inf has no answer. Its weights are 0."""


@edit(
    MultiHeadAttention,
    "self.out_proj(heads), weights",
    "self.out_proj(heads), weights.mean(dim=1)",
)
def layer_weights_averaged():
    """You averaged the weights over the heads, as PyTorch's layer does unless told
    otherwise. Two sharp maps, averaged, look like one blurred map: return (B, h, N,
    T)."""


@edit(MultiHeadAttention, "if d_model % num_heads != 0:", "if num_heads > d_model:")
def layer_any_number_of_heads():
    """You did not check that the heads divide the width. Twelve features in five heads
    leave two over; say so with a ValueError."""


# projection_parameter_count


@mistake(projection_parameter_count)
def count_times_heads(embed_dim, num_heads):
    """You multiplied by the number of heads. Each head has only E / h features, so h of
    them need as many parameters as one head of full width."""
    return 3 * num_heads * (embed_dim**2 + embed_dim) + embed_dim**2 + embed_dim


@mistake(projection_parameter_count)
def count_all_times_heads(embed_dim, num_heads):
    """You multiplied all four projections by the number of heads. Each head has only
    E / h features of each, and the heads share one output projection."""
    return 4 * num_heads * (embed_dim**2 + embed_dim)


@mistake(projection_parameter_count)
def count_one_head(embed_dim, num_heads):
    """You counted one head only. There are h of them side by side, each with matrices
    of its own, so that each can look for something else."""
    d = embed_dim // num_heads
    return 3 * (embed_dim * d + d) + embed_dim * d + embed_dim


@mistake(projection_parameter_count)
def count_without_output(embed_dim, num_heads):
    """You counted three projections of the four. Queries, keys, values and output have
    one each, all of the same size."""
    return 3 * embed_dim**2 + 3 * embed_dim


@mistake(projection_parameter_count)
def count_without_biases(embed_dim, num_heads):
    """You forgot the biases: each of the four projections has one number for each of
    its outputs."""
    return 4 * embed_dim**2


@mistake(projection_parameter_count)
def count_heads_of_slices(embed_dim, num_heads):
    """You let a head see only a slice of each token, or counted its matrices that way.
    Each of the h heads reads the whole token, E features, and returns a slice."""
    d = embed_dim // num_heads
    return 3 * num_heads * (d * d + d) + embed_dim**2 + embed_dim


# break_split_heads

wrong_versions_of_split_heads = hide(
    break_split_heads,
    split_by_reshaping_only,
    split_interleaved,
    split_into_slices_of_that_width,
    split_heads_before_the_batch,
)


@mistake(break_split_heads)
def test_with_a_single_token():
    """All versions are found but the one that mixes tokens with heads. With a single
    token there is nothing to mix: the order of the values in memory is right by
    chance."""
    return np.arange(6.0).reshape(1, 1, 6), 2


@mistake(break_split_heads)
def test_with_as_many_heads_as_features():
    """All versions are found but one, which takes the number of heads for the number of
    features in a head. Choose these two numbers differently."""
    return np.arange(12.0).reshape(1, 3, 4), 2


@mistake(break_split_heads)
def test_with_zeros():
    """Your tokens show a wrong shape and nothing else. A test of how values are moved
    needs values that differ from each other: with zeros everywhere, any permutation is
    right."""
    return np.zeros((2, 3, 6)), 2
