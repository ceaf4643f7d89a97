"""Misconceptions about the cost of attention, and about making it smaller, as code."""

import math

import torch
import torch.nn.functional as F

from autograder.break_exercise import hide
from autograder.exercise import mistake
from autograder.exercises.efficient_attention import (
    attention_bytes,
    attention_flops,
    blockwise_attention,
    break_linear_attention,
    causal_linear_attention,
    linear_attention,
    online_softmax_sum,
)


def phi(x):
    return F.elu(x) + 1


def mix(query, key, value):
    """Linear attention of what already are features."""
    return (query @ (key.mT @ value)) / (query @ key.sum(-2).unsqueeze(-1))


def mix_causally(query, key, value):
    weights = (query @ key.mT).tril()
    return weights @ value / weights.sum(-1, keepdim=True)


# attention_flops


@mistake(attention_flops)
def flops_one_product(n, d):
    """Your count is half of the right one. Either one of the two matrix products is
    missing, scores and outputs take one each; or a multiplication and the addition
    after it count as one operation, where they are two."""
    return 2 * n * n * d


@mistake(attention_flops)
def flops_one_product_multiplications(n, d):
    """You counted each multiplication with its addition as one operation, and only one
    of the two products. By the usual count they are two operations, and the weights are
    multiplied with the values as well."""
    return n * n * d


@mistake(attention_flops)
def flops_exchanged(n, d):
    """You exchanged tokens and features: the work grows with the square of the length
    and not of the width. Each of n queries meets each of n keys."""
    return 4 * n * d * d


@mistake(attention_flops)
def flops_one_query(n, d):
    """You counted a product of n rows and d columns, without the n keys that each query
    meets. That is the work of one query with all keys."""
    return 4 * n * d


@mistake(attention_flops)
def flops_square_width(n, d):
    """You counted the width twice. A score of two vectors of d features takes d
    multiplications, and there are n times n scores."""
    return 4 * n * n * d * d


@mistake(attention_flops)
def flops_with_projections(n, d):
    """You added the four projections of an attention layer. They are worth counting,
    but here only the two products that involve pairs of tokens are asked for."""
    return 4 * n * n * d + 8 * n * d * d


@mistake(attention_flops)
def flops_with_softmax(n, d):
    """You added the softmax to the count. It is left out here, because it does not grow
    with the width and because an exponential is not one operation."""
    return 4 * n * n * d + 3 * n * n


@mistake(attention_flops)
def flops_without_the_first_additions(n, d):
    """You counted one addition less than multiplications for each sum, since d products
    need d - 1 additions. By the usual count every multiplication has an addition that
    follows it, the first one too, because hardware does both as one step."""
    return n * n * (2 * d - 1) + n * d * (2 * n - 1)


@mistake(attention_flops)
def flops_causal(n, d):
    """You counted only pairs in which the key is not later than the query. The plain
    products compute all pairs, and hide half of them only afterwards."""
    return 2 * n * (n + 1) * d


# attention_bytes


@mistake(attention_bytes)
def bytes_linear(n, heads, bytes_per_value):
    """You counted one weight per token. Each token has a weight for every token, so the
    memory grows with the square of the length."""
    return heads * n * bytes_per_value


@mistake(attention_bytes)
def bytes_without_heads(n, heads, bytes_per_value):
    """You left out the heads. Each head has weights of its own, and a layer holds them
    all at the same time."""
    return n * n * bytes_per_value


@mistake(attention_bytes)
def bytes_numbers(n, heads, bytes_per_value):
    """You counted numbers and not bytes. How much memory a weight takes depends on its
    precision."""
    return heads * n * n


@mistake(attention_bytes)
def bytes_divided_by_heads(n, heads, bytes_per_value):
    """You shared one map of weights among the heads. The heads divide the features of a
    token, and not its weights, so more heads take more memory."""
    return n * n * bytes_per_value // heads


@mistake(attention_bytes)
def bytes_heads_squared(n, heads, bytes_per_value):
    """You squared the heads. A head has its own queries and its own keys, and the
    queries of one never meet the keys of another."""
    return (heads * n) ** 2 * bytes_per_value


@mistake(attention_bytes)
def bytes_bits(n, heads, bytes_per_value):
    """You counted bits. The last argument says how many bytes a weight takes, and the
    result is asked for in bytes."""
    return 8 * heads * n * n * bytes_per_value


@mistake(attention_bytes)
def bytes_always_float32(n, heads, bytes_per_value):
    """You took four bytes for every weight and ignored the argument. Half precision
    takes two and double precision eight."""
    return 4 * heads * n * n


@mistake(attention_bytes)
def bytes_triangle(n, heads, bytes_per_value):
    """You counted half of the weights, as if no token saw a later one. The full map is
    in memory even when a mask hides half of it."""
    return heads * n * (n + 1) // 2 * bytes_per_value


# linear_attention


@mistake(linear_attention)
def linear_without_normaliser(query, key, value):
    """You did not divide by the sum of the weights. Without it the weights of a query
    do not sum to one, and outputs grow with the number of keys."""
    return phi(query) @ (phi(key).mT @ value)


@mistake(linear_attention)
def linear_times_normaliser(query, key, value):
    """The output is multiplied by the sum of the weights of its query, where it should
    be divided by it. The weights then sum to the square of that sum and not to one, so
    the output is no average of the values."""
    q, k = phi(query), phi(key)
    return q @ (k.mT @ value) * (q @ k.sum(-2).unsqueeze(-1))


@mistake(linear_attention)
def linear_divided_by_count(query, key, value):
    """You divided by the number of keys in place of the sum of the weights. The weights
    of a query then do not sum to one, so the output is no average of the values."""
    return phi(query) @ (phi(key).mT @ value) / key.shape[-2]


@mistake(linear_attention)
def linear_one_divisor(query, key, value):
    """You divided all queries by one number, the sum of all features of all keys. Each
    query has a divisor of its own, the sum of its weights, and only then do the weights
    of that query sum to one."""
    k = phi(key)
    return phi(query) @ (k.mT @ value) / k.sum((-2, -1), keepdim=True)


@mistake(linear_attention)
def linear_softmax_features(query, key, value):
    """You took softmaxes for phi, over the features of each query and over the keys, as
    a form of linear attention does that needs no divisor. Here phi(x) = elu(x) + 1, and
    the sum of its weights divides each output."""
    return query.softmax(-1) @ (key.softmax(-2).mT @ value)


@mistake(linear_attention)
def linear_elu_alone(query, key, value):
    """Your feature map is elu without the 1, which can be negative. Weights must be
    positive, or the sum that you divide by can be zero."""
    return mix(F.elu(query), F.elu(key), value)


@mistake(linear_attention)
def linear_relu(query, key, value):
    """You used relu as the feature map. It is zero for all negative features, so whole
    queries and keys can vanish, and with them the sum that you divide by."""
    return mix(F.relu(query), F.relu(key), value)


@mistake(linear_attention)
def linear_relu_plus_one(query, key, value):
    """You added 1 to relu and not to elu. Then all negative features look the same, and
    no gradient flows back to them."""
    return mix(F.relu(query) + 1, F.relu(key) + 1, value)


@mistake(linear_attention)
def linear_exponential(query, key, value):
    """You used the exponential as the feature map. It is positive, but the exercise
    asks for elu + 1, which does not explode for large features."""
    return mix(query.exp(), key.exp(), value)


@mistake(linear_attention)
def linear_no_features(query, key, value):
    """You left out the feature map. Plain dot products can be negative, so what you
    divide by can be zero and the result is no average."""
    return mix(query, key, value)


@mistake(linear_attention)
def linear_raw_keys(query, key, value):
    """You mapped the queries and not the keys. A weight is the product of the features
    of both, and is positive only if both are."""
    return mix(phi(query), key, value)


@mistake(linear_attention)
def linear_raw_queries(query, key, value):
    """You mapped the keys and not the queries. A weight is the product of the features
    of both, and is positive only if both are."""
    return mix(query, phi(key), value)


@mistake(linear_attention)
def linear_raw_queries_below(query, key, value):
    """Above the fraction bar the queries have gone through the feature map, and below
    it they have not. The divisor has to be the sum of the very weights that multiply
    the values."""
    k = phi(key)
    return phi(query) @ (k.mT @ value) / (query @ k.sum(-2).unsqueeze(-1))


@mistake(linear_attention)
def linear_raw_keys_below(query, key, value):
    """Above the fraction bar the keys have gone through the feature map, and below it
    they have not. The divisor has to be the sum of the very weights that multiply the
    values."""
    q = phi(query)
    return q @ (phi(key).mT @ value) / (q @ key.sum(-2).unsqueeze(-1))


@mistake(linear_attention)
def linear_mapped_values(query, key, value):
    """You passed the values through the feature map too. It makes weights positive;
    values are what is averaged, and stay what they are."""
    return mix(phi(query), phi(key), phi(value))


@mistake(linear_attention)
def linear_scaled(query, key, value):
    """You divided queries and keys by a power of their width, as in softmax attention.
    Here no exponential can saturate, and features are made of what is given."""
    scale = query.shape[-1] ** -0.25
    return mix(phi(query * scale), phi(key * scale), value)


@mistake(linear_attention)
def linear_softmax(query, key, value):
    """This is softmax attention. Its exponential does not split into a factor for the
    query and one for the key, so the order of the products cannot be changed."""
    return F.scaled_dot_product_attention(query, key, value)


@mistake(linear_attention)
def linear_features_of_sum(query, key, value):
    """You summed the keys before the feature map for the divisor. It has to be the sum
    of the very weights that multiply the values."""
    top = phi(query) @ (phi(key).mT @ value)
    return top / (phi(query) @ phi(key.sum(-2)).unsqueeze(-1))


@mistake(linear_attention)
def linear_over_queries(query, key, value):
    """You normalised over the queries. The weights of each query must sum to one over
    the keys, so the divisor has one number per query."""
    q = phi(query) / phi(query).sum(-2, keepdim=True)
    return q @ (phi(key).mT @ value)


@mistake(linear_attention)
def linear_normalised_apart(query, key, value):
    """You made queries and keys sum to one each, features for queries and tokens for
    keys. The weights of a query then sum to one, but they are not the products of
    features divided by their sum."""
    q = phi(query) / phi(query).sum(-1, keepdim=True)
    k = phi(key) / phi(key).sum(-2, keepdim=True)
    return q @ (k.mT @ value)


@mistake(linear_attention)
def linear_all_pairs(query, key, value):
    """The numbers are right, but you multiplied queries with keys first, and so made
    the table of all pairs that this attention is meant to avoid. Change the order of
    the products, and the cost no longer grows with the square of the length."""
    weights = phi(query) @ phi(key).mT
    return weights @ value / weights.sum(-1, keepdim=True)


@mistake(linear_attention)
def linear_in_place(query, key, value):
    """You changed the tensors that you were given. Whoever called you still needs them,
    so apply the feature map to a copy."""
    query, key = F.elu_(query).add_(1), F.elu_(key).add_(1)
    return mix(query, key, value)


# causal_linear_attention


@mistake(causal_linear_attention)
def causal_all(query, key, value):
    """Each token reads all tokens, later ones too. The sums have to grow with the
    position, and be read before the later tokens are added."""
    return mix(phi(query), phi(key), value)


@mistake(causal_linear_attention)
def causal_without_itself(query, key, value):
    """You read the sums before adding the token's own key and value. A token may look
    at itself, and the first one has nothing else."""
    weights = (phi(query) @ phi(key).mT).tril(-1)
    return weights @ value / weights.sum(-1, keepdim=True)


@mistake(causal_linear_attention)
def causal_without_itself_or_nan(query, key, value):
    """A token reads only the tokens before it, and not itself. The first one then has
    nothing to read; a small number in the divisor, or a NaN that is replaced, turns its
    result into zeros and hides this."""
    weights = (phi(query) @ phi(key).mT).tril(-1)
    return weights @ value / (weights.sum(-1, keepdim=True) + 1e-6)


@mistake(causal_linear_attention)
def causal_without_normaliser(query, key, value):
    """You did not divide by the sum of the weights. The outputs grow with the position,
    because later tokens read more values."""
    return (phi(query) @ phi(key).mT).tril() @ value


@mistake(causal_linear_attention)
def causal_total_over_features(query, key, value):
    """The sum of the keys, of which the divisor is made, grows along the features and
    not along the tokens. It adds up the keys of all tokens so far, feature by
    feature."""
    weights = (phi(query) @ phi(key).mT).tril()
    total = phi(key).cumsum(dim=-1)
    return weights @ value / (phi(query) * total).sum(-1, keepdim=True)


@mistake(causal_linear_attention)
def causal_times_normaliser(query, key, value):
    """The output is multiplied by the sum of the weights of its query, where it should
    be divided by it. The weights then do not sum to one, and outputs grow with the
    position."""
    weights = (phi(query) @ phi(key).mT).tril()
    return weights @ value * weights.sum(-1, keepdim=True)


@mistake(causal_linear_attention)
def causal_along_the_second_axis(query, key, value):
    """The running sums run along the second axis. Tokens are there only if there is one
    leading axis: with heads, each head adds to the sums of the heads before it, and
    later tokens add nothing. Count the axis of the tokens from the end."""
    q, k = phi(query), phi(key)
    state = (k.unsqueeze(-1) * value.unsqueeze(-2)).cumsum(dim=1)
    total = k.cumsum(dim=1)
    reads = (q.unsqueeze(-2) @ state).squeeze(-2)
    return reads / (q * total).sum(dim=-1, keepdim=True)


@mistake(causal_linear_attention)
def causal_along_the_first_axis(query, key, value):
    """The running sums run along the first axis. Tokens are there only if there is no
    leading axis: otherwise each sequence adds to the sums of those before it, and a
    token reads its own value alone. Count the axis of the tokens from the end."""
    q, k = phi(query), phi(key)
    state = (k.unsqueeze(-1) * value.unsqueeze(-2)).cumsum(dim=0)
    reads = (q.unsqueeze(-2) @ state).squeeze(-2)
    return reads / (q * k.cumsum(dim=0)).sum(dim=-1, keepdim=True)


@mistake(causal_linear_attention)
def causal_sums_of_all_sequences(query, key, value):
    """One pair of running sums serves all sequences and heads: it adds up what all of
    them have at a place. Each has tokens of its own, and so the sums keep all leading
    axes."""
    q, k = phi(query), phi(key)
    leading = tuple(range(k.ndim - 2))
    state = (k.unsqueeze(-1) * value.unsqueeze(-2)).cumsum(dim=-3)
    total = k.cumsum(dim=-2)
    if leading:
        state, total = state.sum(leading), total.sum(leading)
    reads = (q.unsqueeze(-2) @ state).squeeze(-2)
    return reads / (q * total).sum(dim=-1, keepdim=True)


@mistake(causal_linear_attention)
def causal_full_normaliser(query, key, value):
    """You divided by the sum over all keys, later ones too. The weights of early tokens
    then sum to less than one, and the future leaks into the divisor."""
    weights = phi(query) @ phi(key).mT
    return weights.tril() @ value / weights.sum(-1, keepdim=True)


@mistake(causal_linear_attention)
def causal_count(query, key, value):
    """You divided by the number of tokens so far. That is the sum of the weights only
    if all of them are 1."""
    counts = torch.arange(1, key.shape[-2] + 1, dtype=value.dtype)
    return (phi(query) @ phi(key).mT).tril() @ value / counts.unsqueeze(-1)


@mistake(causal_linear_attention)
def causal_forgets(query, key, value):
    """You replaced the sums at every token in place of adding to them. Nothing is
    remembered, and each token returns its own value."""
    own = (phi(query) * phi(key)).sum(-1, keepdim=True)
    return own * value / own


@mistake(causal_linear_attention)
def causal_reversed(query, key, value):
    """Your sums run from the end: each token reads itself and the later ones. Position
    i may read positions up to i."""
    weights = (phi(query) @ phi(key).mT).triu()
    return weights @ value / weights.sum(-1, keepdim=True)


@mistake(causal_linear_attention)
def causal_own_value_left_out(query, key, value):
    """The weight of a token on itself counts in the divisor, and its value is not read:
    the first output is zero. Position i may read the positions up to i, and the weights
    on those sum to one."""
    weights = phi(query) @ phi(key).mT
    return weights.tril(-1) @ value / weights.tril().sum(-1, keepdim=True)


@mistake(causal_linear_attention)
def causal_no_features(query, key, value):
    """You left out the feature map. Dot products can be negative, so the sum that you
    divide by can come close to zero."""
    return mix_causally(query, key, value)


@mistake(causal_linear_attention)
def causal_relu(query, key, value):
    """You used relu as the feature map. Where a query meets only keys with which it
    shares no positive feature, you divide zero by zero."""
    return mix_causally(F.relu(query), F.relu(key), value)


@mistake(causal_linear_attention)
def causal_elu_alone(query, key, value):
    """Your feature map lacks the 1: elu alone can be negative. Weights must be positive
    to make an average."""
    return mix_causally(F.elu(query), F.elu(key), value)


@mistake(causal_linear_attention)
def causal_softmax(query, key, value):
    """This is causal softmax attention. Its exponential cannot be written as a product
    of features, so no state of fixed size can replace the past."""
    return F.scaled_dot_product_attention(query, key, value, is_causal=True)


@mistake(causal_linear_attention)
def causal_scaled(query, key, value):
    """You divided queries and keys by a power of their width. There is no scale in
    linear attention, since no exponential can saturate."""
    scale = query.shape[-1] ** -0.25
    return mix_causally(phi(query * scale), phi(key * scale), value)


@mistake(causal_linear_attention)
def causal_own_normaliser(query, key, value):
    """You accumulated the values and not the divisor, so each token divides by the
    weight of its own key alone. Both sums have to grow together."""
    q, k = phi(query), phi(key)
    return (q @ k.mT).tril() @ value / (q * k).sum(-1, keepdim=True)


@mistake(causal_linear_attention)
def causal_shared_state(query, key, value):
    """You kept the state of one sequence for the next: the sums were not reset between
    the sequences of a batch. Each sequence has a past of its own."""
    flat = [x.reshape(-1, x.shape[-1]) for x in (query, key, value)]
    result = mix_causally(phi(flat[0]), phi(flat[1]), flat[2])
    return result.reshape(*query.shape[:-1], value.shape[-1])


@mistake(causal_linear_attention)
def causal_divided_over_queries(query, key, value):
    """Each weight is divided by the sum over the queries that read its key, so what a
    token reads does not sum to one. A token divides by the sum over the keys that it
    reads itself, which are those up to its own position."""
    weights = (phi(query) @ phi(key).mT).tril()
    return weights / weights.sum(-2, keepdim=True) @ value


# online_softmax_sum


def divide(y, z):
    """Weighted sum by sum of weights; a query without keys gets 0."""
    return torch.where(z > 0, y / z, 0.0)


def online(
    score_blocks,
    value_blocks,
    rescale_output=True,
    rescale_total=True,
    *,
    lowest=-1e300,
    raised=torch.maximum,
    finish=divide,
):
    """The right loop, unless its corrections, its maximum or its end are replaced."""
    m = z = y = None
    for e, v in zip(score_blocks, value_blocks, strict=True):
        largest = e.amax(-1, keepdim=True)
        if m is None:
            m = torch.full_like(largest, lowest)
            z = y = torch.zeros_like(m)
        new = raised(m, largest)
        old = (m - new).exp()
        p = (e - new).exp()
        z = (old * z if rescale_total else z) + p.sum(-1, keepdim=True)
        y = (old * y if rescale_output else y) + p @ v
        m = new
    return finish(y, z)


@mistake(online_softmax_sum)
def online_output_not_rescaled(score_blocks, value_blocks):
    """You did not rescale the weighted sum when the maximum rose. What came earlier was
    measured against a smaller maximum, and counts too much."""
    return online(score_blocks, value_blocks, rescale_output=False)


@mistake(online_softmax_sum)
def online_total_not_rescaled(score_blocks, value_blocks):
    """You did not rescale the sum of the weights when the maximum rose. Both sums have
    to be measured against the same maximum, or their ratio is no average."""
    return online(score_blocks, value_blocks, rescale_total=False)


@mistake(online_softmax_sum)
def online_nothing_rescaled(score_blocks, value_blocks):
    """You rescaled neither of the two sums when the maximum rose. Blocks that were
    measured against different maxima cannot be added."""
    return online(score_blocks, value_blocks, False, False)


@mistake(online_softmax_sum)
def online_maximum_of_each_block(score_blocks, value_blocks):
    """You subtracted the maximum of each block, and added up the blocks as they were.
    Exponentials that were measured against different maxima cannot be added: what came
    before has to be rescaled when the maximum rises."""
    z = y = 0.0
    for e, v in zip(score_blocks, value_blocks, strict=True):
        p = (e - e.amax(-1, keepdim=True)).exp()
        z, y = z + p.sum(-1, keepdim=True), y + p @ v
    return y / z


@mistake(online_softmax_sum)
def online_sum_of_softmaxes(score_blocks, value_blocks):
    """You took the softmax of each block on its own and added the results. Each block
    then sums to one, whatever its share of the whole is."""
    pairs = zip(score_blocks, value_blocks, strict=True)
    return sum(e.softmax(-1).nan_to_num() @ v for e, v in pairs)


@mistake(online_softmax_sum)
def online_mean_of_softmaxes(score_blocks, value_blocks):
    """You averaged the softmaxes of the blocks. A block with large scores has to count
    more than one with small scores."""
    pairs = list(zip(score_blocks, value_blocks, strict=True))
    return sum(e.softmax(-1).nan_to_num() @ v for e, v in pairs) / len(pairs)


@mistake(online_softmax_sum)
def online_running_mean_of_softmaxes(score_blocks, value_blocks):
    """You took the softmax of each block on its own, and the mean of its output and of
    what was there before. Then the last block counts for half, whatever its scores are:
    keep the sum of the weights, and divide once, at the end."""
    y = None
    for e, v in zip(score_blocks, value_blocks, strict=True):
        own = e.softmax(-1).nan_to_num() @ v
        y = own if y is None else (y + own) / 2
    return y


@mistake(online_softmax_sum)
def online_running_mean_measured_alike(score_blocks, value_blocks):
    """You divided the output of each block by the sum of its own weights, and took the
    mean of it and of what was there before. Then a block counts for half, whatever its
    scores are: keep the sum of the weights, and divide once, at the end."""
    m = y = None
    for e, v in zip(score_blocks, value_blocks, strict=True):
        largest = e.amax(-1, keepdim=True).clamp(min=-1e300)
        m = largest if m is None else torch.maximum(m, largest)
        p = (e - m).exp()
        own = divide(p @ v, p.sum(-1, keepdim=True))
        y = own if y is None else (y + own) / 2
    return y


@mistake(online_softmax_sum)
def online_no_maximum(score_blocks, value_blocks):
    """You did not subtract a maximum. The exponential of a score of 1000 is infinite,
    and of -1000 zero, so large scores give NaN or nothing."""
    z = y = 0.0
    for e, v in zip(score_blocks, value_blocks, strict=True):
        z, y = z + e.exp().sum(-1, keepdim=True), y + e.exp() @ v
    return divide(y, z)


@mistake(online_softmax_sum)
def online_hidden_nan(score_blocks, value_blocks):
    """Where all keys of a query are hidden so far, you took -inf from -inf, and got
    NaN. Such a query has no maximum yet, and must not spoil what comes later."""
    return online(
        score_blocks, value_blocks, lowest=-torch.inf, finish=lambda y, z: y / z
    )


@mistake(online_softmax_sum)
def online_zero_by_zero(score_blocks, value_blocks):
    """A query that may see no key divides zero by zero at the end. Its sum of weights
    is 0, and its output should be zeros, not NaN."""
    return online(score_blocks, value_blocks, finish=lambda y, z: y / z)


@mistake(online_softmax_sum)
def online_hidden_mean(score_blocks, value_blocks):
    """A query that may see no key got the mean of the values. Scores that are all equal
    to minus infinity are no equal scores: nothing was found, so the output is zero."""
    scores = torch.cat(list(score_blocks), -1).clamp(min=-1e30)
    return scores.softmax(-1) @ torch.cat(list(value_blocks), -2)


@mistake(online_softmax_sum)
def online_nan_to_zero(score_blocks, value_blocks):
    """You replaced every NaN by zero at the end, also where only the first block of a
    query was hidden. Such a query has keys later, and its output is their average."""
    return online_hidden_nan.implementation(score_blocks, value_blocks).nan_to_num(0.0)


@mistake(online_softmax_sum)
def online_block_maximum(score_blocks, value_blocks):
    """You took the maximum of the current block, and not the largest so far. When a
    block lies far below the earlier ones, the correction is the exponential of a large
    positive number, and overflows."""

    def raised(m, largest):
        return largest.clamp(min=-1e300)

    return online(score_blocks, value_blocks, raised=raised)


@mistake(online_softmax_sum)
def online_earlier_maximum_forgotten(score_blocks, value_blocks):
    """What you keep for the next block is the maximum of the last block alone. Your
    sums are measured against the larger of it and the one before, and the next
    correction has to begin with that number: keep the largest so far."""
    m = z = y = None
    for e, v in zip(score_blocks, value_blocks, strict=True):
        largest = e.amax(-1, keepdim=True).clamp(min=-1e300)
        if m is None:
            m = torch.full_like(largest, -1e300)
            z = y = torch.zeros_like(m)
        new = torch.maximum(m, largest)
        old, p = (m - new).exp(), (e - new).exp()
        z, y, m = old * z + p.sum(-1, keepdim=True), old * y + p @ v, largest
    return divide(y, z)


@mistake(online_softmax_sum)
def online_correction_inverted(score_blocks, value_blocks):
    """You turned the correction around. When the maximum rises, what was summed before
    has to become smaller: the exponent is the old maximum minus the new one."""
    m = z = y = None
    for e, v in zip(score_blocks, value_blocks, strict=True):
        if m is None:
            m = e.amax(-1, keepdim=True).clamp(min=-1e300)
            z = y = torch.zeros_like(m)
        new = torch.maximum(m, e.amax(-1, keepdim=True))
        old, p = (new - m).exp(), (e - new).exp()
        z, y, m = old * z + p.sum(-1, keepdim=True), old * y + p @ v, new
    return divide(y, z)


@mistake(online_softmax_sum)
def online_one_maximum(score_blocks, value_blocks):
    """You subtracted one maximum from all rows. A query whose scores all lie far below
    it gets only zeros as weights; each row needs a maximum of its own."""

    def raised(m, largest):
        return torch.maximum(m, largest.max())

    return online(score_blocks, value_blocks, raised=raised)


@mistake(online_softmax_sum)
def online_not_divided(score_blocks, value_blocks):
    """You returned the weighted sum without dividing by the sum of the weights. The
    weights then do not sum to one."""
    return online(score_blocks, value_blocks, finish=lambda y, z: y)


@mistake(online_softmax_sum)
def online_divided_each_time(score_blocks, value_blocks):
    """You divided after every block and went on with the average. The next block is
    then added to an average, as if it were a sum."""
    m = z = y = None
    for e, v in zip(score_blocks, value_blocks, strict=True):
        if m is None:
            m = torch.full_like(e[..., :1], -1e300)
            z = y = torch.zeros_like(m)
        new = torch.maximum(m, e.amax(-1, keepdim=True))
        old, p = (m - new).exp(), (e - new).exp()
        z, y, m = old * z + p.sum(-1, keepdim=True), old * y + p @ v, new
        y = divide(y, z)
    return y


@mistake(online_softmax_sum)
def online_last_block(score_blocks, value_blocks):
    """You kept only the last block. The sums have to run over all blocks."""
    *_, (e, v) = zip(score_blocks, value_blocks, strict=True)
    return e.softmax(-1).nan_to_num() @ v


@mistake(online_softmax_sum)
def online_two_passes(score_blocks, value_blocks):
    """You went through the scores twice: once for the maximum, once for the sums. A
    stream can be read only once, so the second pass finds nothing."""
    largest = max(e.amax(-1, keepdim=True).max() for e in score_blocks)
    z = y = 0.0
    for e, v in zip(score_blocks, value_blocks, strict=False):
        p = (e - largest).exp()
        z, y = z + p.sum(-1, keepdim=True), y + p @ v
    return divide(y, z)


@mistake(online_softmax_sum)
def online_block_maximum_forgets(score_blocks, value_blocks):
    """You took the maximum of the current block, and not the largest so far. When a
    block lies far below the earlier ones, the correction overflows, and where a whole
    block is hidden, what came before it is lost. Keep the larger of the two maxima."""
    m = z = y = None
    for e, v in zip(score_blocks, value_blocks, strict=True):
        largest = e.amax(-1, keepdim=True)
        if m is None:
            m = torch.full_like(largest, -torch.inf)
            z = y = torch.zeros_like(m)
        shift = largest.masked_fill(largest == -torch.inf, 0.0)
        old, p = (m - shift).exp(), (e - shift).exp()
        z, y, m = old * z + p.sum(-1, keepdim=True), old * y + p @ v, largest
    return y / z.masked_fill(z == 0, 1.0)


@mistake(online_softmax_sum)
def online_output_correction_inverted(score_blocks, value_blocks):
    """The correction of the weighted sum is turned around, and that of the divisor is
    right. When the maximum rises, what was summed before has to become smaller: both
    sums are multiplied by the exponential of the old maximum minus the new one."""
    m = z = y = None
    for e, v in zip(score_blocks, value_blocks, strict=True):
        if m is None:
            m = e.amax(-1, keepdim=True).clamp(min=-1e300)
            z = y = torch.zeros_like(m)
        new = torch.maximum(m, e.amax(-1, keepdim=True))
        p, turned = (e - new).exp(), torch.where(m > -1e300, new - m, 0.0).exp()
        z, y = (m - new).exp() * z + p.sum(-1, keepdim=True), turned * y + p @ v
        m = new
    return divide(y, z)


@mistake(online_softmax_sum)
def online_keeps_all_blocks(score_blocks, value_blocks):
    """The result is right, but all blocks are in memory by the time the last one
    arrives. A stream may be far longer than memory: keep the largest score and the two
    sums, and let each block go."""
    scores = torch.cat(list(score_blocks), dim=-1)
    return scores.softmax(-1).nan_to_num() @ torch.cat(list(value_blocks), dim=-2)


# blockwise_attention


def later(row, column):
    return column > row


def blocks(query, key, size, causal, hide=later):
    """For each block of keys: the scores, scaled and masked."""
    row = torch.arange(query.shape[-2])[:, None]
    for start in range(0, key.shape[-2], size):
        keys = key[..., start : start + size, :]
        e = query @ keys.mT / math.sqrt(query.shape[-1])
        column = start + torch.arange(keys.shape[-2])
        yield e.masked_fill(hide(row, column), -torch.inf) if causal else e


def blockwise(
    query, key, value, block_size, causal=False, *, hide=later, loop=online, **changes
):
    """The right computation, unless the mask or something of the loop is replaced."""
    scores = blocks(query, key, block_size, causal, hide)
    return loop(scores, value.split(block_size, -2), **changes)


def _later_within(size):
    return lambda row, column: column % size > row % size


def plain(query, key, value, visible=True, scale=None):
    """Attention with all pairs in memory; rows without keys give 0."""
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    e = (query @ key.mT * scale).masked_fill(~torch.as_tensor(visible), -torch.inf)
    return e.softmax(-1).nan_to_num() @ value


def positions(query, key):
    return torch.arange(query.shape[-2])[:, None], torch.arange(key.shape[-2])


def triangle(query, key, causal):
    row, column = positions(query, key)
    return (column <= row) | (not causal)


@mistake(blockwise_attention)
def blockwise_all_pairs(query, key, value, block_size, causal=False):
    """The numbers are right, but all pairs of queries and keys are in memory at the
    same time. Keep only the scores of one block, and the two running sums."""
    return plain(query, key, value, triangle(query, key, causal))


@mistake(blockwise_attention)
def blockwise_last_dropped(query, key, value, block_size, causal=False):
    """You dropped the last block when it is not full. Its keys belong to the softmax as
    much as all others."""
    full = key.shape[-2] // block_size * block_size
    key, value = key[..., :full, :], value[..., :full, :]
    return blockwise(query, key, value, block_size, causal)


@mistake(blockwise_attention)
def blockwise_last_dropped_behind_others(query, key, value, block_size, causal=False):
    """You dropped the last block when it is not full, unless it is the only one. Its
    keys belong to the softmax as much as all others."""
    full = key.shape[-2] // block_size * block_size or key.shape[-2]
    key, value = key[..., :full, :], value[..., :full, :]
    return blockwise(query, key, value, block_size, causal)


@mistake(blockwise_attention)
def blockwise_last_dropped_twice(query, key, value, block_size, causal=False):
    """The last block is left out where it is not full, of the queries as well as of the
    keys: the outputs of the last queries stay zero, and the others miss the last keys.
    Round the number of blocks up, or step through the tokens with a range."""
    result = query.new_zeros(*query.shape[:-1], value.shape[-1])
    rows = query.shape[-2] // block_size * block_size
    columns = key.shape[-2] // block_size * block_size
    if rows and columns:
        seen = query[..., :rows, :], key[..., :columns, :], value[..., :columns, :]
        result[..., :rows, :] = blockwise(*seen, block_size, causal)
    return result


@mistake(blockwise_attention)
def blockwise_padded_keys(query, key, value, block_size, causal=False):
    """You filled the last block with zeros and let them take part. A key of zeros has
    the score 0, which is no small score, so it takes weight from the real keys."""
    fill = -key.shape[-2] % block_size
    key, value = F.pad(key, (0, 0, 0, fill)), F.pad(value, (0, 0, 0, fill))
    return blockwise(query, key, value, block_size, causal)


@mistake(blockwise_attention)
def blockwise_output_not_rescaled(*inputs, **options):
    """You did not rescale the weighted sum when a block raised the maximum. What was
    added before was measured against a smaller one, and counts too much."""
    return blockwise(*inputs, **options, rescale_output=False)


@mistake(blockwise_attention)
def blockwise_total_not_rescaled(*inputs, **options):
    """You did not rescale the sum of the weights when a block raised the maximum.
    Output and divisor have to be measured against the same maximum."""
    return blockwise(*inputs, **options, rescale_total=False)


@mistake(blockwise_attention)
def blockwise_nothing_rescaled(*inputs, **options):
    """You rescaled neither the output nor its divisor when a block raised the maximum.
    Blocks that were measured against different maxima cannot be added."""
    return blockwise(*inputs, **options, rescale_output=False, rescale_total=False)


@mistake(blockwise_attention)
def blockwise_maximum_of_each_block(*inputs, **options):
    """You subtracted the maximum of each block, and added up the blocks as they were.
    Exponentials that were measured against different maxima cannot be added: what came
    before has to be rescaled when the maximum rises."""
    loop = online_maximum_of_each_block.implementation
    return blockwise(*inputs, **options, loop=loop)


@mistake(blockwise_attention)
def blockwise_mean_of_blocks(*inputs, **options):
    """You took the softmax of each block on its own and averaged the results. The
    softmax runs over all keys, and a block with large scores counts more."""
    loop = online_mean_of_softmaxes.implementation
    return blockwise(*inputs, **options, loop=loop)


@mistake(blockwise_attention)
def blockwise_sum_of_blocks(*inputs, **options):
    """You took the softmax of each block on its own and added the results. The weights
    of a query then sum to the number of blocks."""
    loop = online_sum_of_softmaxes.implementation
    return blockwise(*inputs, **options, loop=loop)


@mistake(blockwise_attention)
def blockwise_triangle_in_each_block(*inputs, **options):
    """With causal, each block hides a triangle of its own, as if its first query stood
    beside its first key. Which keys come later depends on where both stand in the whole
    sequence."""
    hide = _later_within(inputs[3] if len(inputs) > 3 else options["block_size"])
    return blockwise(*inputs, **options, hide=hide)


@mistake(blockwise_attention)
def blockwise_triangle_in_each_earlier_block(*inputs, **options):
    """With causal, later blocks are hidden, as they should be, but each earlier block
    hides a triangle too, as if its first key stood beside the first query. All keys of
    an earlier block come before the query: compare positions in the whole sequence."""
    size = inputs[3] if len(inputs) > 3 else options["block_size"]
    within = _later_within(size)

    def hide(row, column):
        return within(row, column) | (column // size > row // size)

    return blockwise(*inputs, **options, hide=hide)


@mistake(blockwise_attention)
def blockwise_not_divided(*inputs, **options):
    """You did not divide by the sum of the weights. Each output is right up to that
    sum, which is kept beside the output and divides it at the end."""
    return blockwise(*inputs, **options, finish=lambda y, z: y)


@mistake(blockwise_attention)
def blockwise_scaled_by_values(query, key, value, block_size, causal=False):
    """You scaled the scores by the width of the values. They are products of queries
    and keys, so the d of queries and keys is what their size depends on."""
    query = query * (query.shape[-1] / value.shape[-1]) ** 0.5
    return blockwise(query, key, value, block_size, causal)


@mistake(blockwise_attention)
def blockwise_no_maximum(query, key, value, block_size, causal=False):
    """You did not subtract a maximum. The exponential of a large score is infinite, and
    infinity divided by infinity is not a number."""
    z = y = 0.0
    for e, v in zip(
        blocks(query, key, block_size, causal), value.split(block_size, -2), strict=True
    ):
        z, y = z + e.exp().sum(-1, keepdim=True), y + e.exp() @ v
    return y / z


@mistake(blockwise_attention)
def blockwise_unscaled(query, *others, **options):
    """You did not divide the scores by the square root of their width. The result is
    then another, sharper attention, and not the same one computed with less memory."""
    return blockwise(query * math.sqrt(query.shape[-1]), *others, **options)


@mistake(blockwise_attention)
def blockwise_scaled_by_width(query, *others, **options):
    """You divided the scores by the width and not by its square root. That leaves them
    too small, and the weights too even."""
    return blockwise(query / math.sqrt(query.shape[-1]), *others, **options)


@mistake(blockwise_attention)
def blockwise_never_causal(query, key, value, block_size, causal=False):
    """You ignored causal: every query sees all keys. With causal=True query i may see
    the keys up to and including i."""
    return blockwise(query, key, value, block_size)


@mistake(blockwise_attention)
def blockwise_local_positions(query, key, value, block_size, causal=False):
    """You numbered the keys of each block from zero when you masked. A key's position
    counts from the start of the sequence, or every block looks like the first."""

    def hide(row, column):
        return column % block_size > row

    return blockwise(query, key, value, block_size, causal, hide=hide)


@mistake(blockwise_attention)
def blockwise_local_queries(query, key, value, block_size, causal=False):
    """The queries of each block are numbered from zero when later keys are hidden, so
    every block of queries sees as few keys as the first one does. A query's position
    counts from the start of the sequence."""

    def hide(row, column):
        return column > row % block_size

    return blockwise(query, key, value, block_size, causal, hide=hide)


@mistake(blockwise_attention)
def blockwise_scales_in_place(query, key, value, block_size, causal=False):
    """The output is right, but the queries that were passed in are scaled after the
    call: they were divided in place. The next call with them scales them again."""
    scaled = query / math.sqrt(query.shape[-1])
    result = blockwise(query, key, value, block_size, causal)
    query.copy_(scaled)
    return result


@mistake(blockwise_attention)
def blockwise_diagonal_hidden(*inputs, **options):
    """You hid each token from itself. A causal mask hides what is later, and the
    token's own key is not."""
    return blockwise(*inputs, **options, hide=lambda row, column: column >= row)


@mistake(blockwise_attention)
def blockwise_whole_blocks(query, key, value, block_size, causal=False):
    """You decided for whole blocks what is visible, so a query sees later keys of its
    own block. On the diagonal the mask has to look at each key."""

    def hide(row, column):
        return column // block_size > row // block_size

    return blockwise(query, key, value, block_size, causal, hide=hide)


@mistake(blockwise_attention)
def blockwise_later_blocks_visible(query, key, value, block_size, causal=False):
    """You masked only the blocks on the diagonal, and let queries see all blocks that
    come later. Those blocks have to be skipped or hidden whole."""

    def hide(row, column):
        return (column > row) & (column // block_size == row // block_size)

    return blockwise(query, key, value, block_size, causal, hide=hide)


@mistake(blockwise_attention)
def blockwise_causal_inverted(*inputs, **options):
    """You hid the earlier keys and left the later ones. With causal=True a query looks
    back, and never ahead."""
    return blockwise(*inputs, **options, hide=lambda row, column: column < row)


@mistake(blockwise_attention)
def blockwise_own_block(query, key, value, block_size, causal=False):
    """Each block of queries looks only at the block of keys at its own place. Blocks
    are a way to compute, and must not change who sees whom."""
    row, column = positions(query, key)
    own = row // block_size == column // block_size
    return plain(query, key, value, own & triangle(query, key, causal))


@mistake(blockwise_attention)
def blockwise_first_block(query, key, value, block_size, causal=False):
    """You looked at the first block of keys and stopped. All blocks have to be visited,
    one after the other."""
    key, value = key[..., :block_size, :], value[..., :block_size, :]
    return blockwise(query, key, value, block_size, causal)


@mistake(blockwise_attention)
def blockwise_last_total(query, key, value, block_size, causal=False):
    """You divided by the sum of the last block only. The divisor is the sum of the
    weights of all blocks, rescaled together with the output."""
    m = torch.full_like(query[..., :1], -1e300)
    z = y = torch.zeros_like(m)
    for e, v in zip(
        blocks(query, key, block_size, causal), value.split(block_size, -2), strict=True
    ):
        new = torch.maximum(m, e.amax(-1, keepdim=True))
        p = (e - new).exp()
        z, y, m = p.sum(-1, keepdim=True), (m - new).exp() * y + p @ v, new
    return y / z


@mistake(blockwise_attention)
def blockwise_last_dropped_or_zeros(query, key, value, block_size, causal=False):
    """You dropped the last block of keys when it is not full, and return zeros if there
    is no other. Its keys belong to the softmax as much as all others: step through the
    keys with a range up to T, and let the last slice be shorter."""
    full = key.shape[-2] // block_size * block_size
    if not full:
        return torch.zeros_like(query[..., :1]) * value[..., :1, :]
    key, value = key[..., :full, :], value[..., :full, :]
    return blockwise(query, key, value, block_size, causal)


@mistake(blockwise_attention)
def blockwise_mean_of_hidden_blocks(*inputs, **options):
    """You took the softmax of each block on its own and averaged the results. The
    softmax runs over all keys, and a block with large scores counts more. A block that
    is hidden from a query counts as well, with the mean of its values, where it should
    not count at all."""

    def loop(scores, values):
        y, count = 0.0, 0
        for e, v in zip(scores, values, strict=True):
            y, count = y + e.clamp(min=-1e30).softmax(-1) @ v, count + 1
        return y / count

    return blockwise(*inputs, **options, loop=loop)


@mistake(blockwise_attention)
def blockwise_scaled_by_block(query, key, value, block_size, causal=False):
    """You divided the scores by the square root of the number of queries in their
    block. How large a score is depends on the number of features that it sums over, so
    the scale is the square root of d, the last axis of the queries."""
    rows = torch.arange(query.shape[-2]) // block_size
    sizes = torch.bincount(rows)[rows].unsqueeze(-1)
    query = query * (query.shape[-1] / sizes).sqrt().to(query.dtype)
    return blockwise(query, key, value, block_size, causal)


@mistake(blockwise_attention)
def blockwise_causal_from_the_end(query, key, value, block_size, causal=False):
    """With causal, the last query is lined up with the last key, as if the queries came
    behind earlier keys of a cache. Here query i may attend to the keys j <= i, both
    counted from the first one, also where there are more keys than queries."""

    def hide(row, column):
        return column > row + key.shape[-2] - query.shape[-2]

    return blockwise(query, key, value, block_size, causal, hide=hide)


# break_linear_attention ---------------------------------------------------------------

wrong_versions_of_linear_attention = hide(
    break_linear_attention,
    linear_relu_plus_one,
    linear_exponential,
    linear_features_of_sum,
    linear_scaled,
)


@mistake(break_linear_attention)
def test_with_positive_features():
    """All versions are found but one. For positive numbers, the feature map only adds
    one, and so do other functions: let some of the features be negative."""
    generator = torch.Generator().manual_seed(6)
    query, key, value = torch.rand(3, 4, 3, generator=generator)
    return 3 * query, 3 * key, value


@mistake(break_linear_attention)
def test_with_a_single_key():
    """None of the wrong versions was found. With a single key, or where all values are
    equal, every average returns the value itself, whatever the weights are."""
    return torch.tensor([[-1.0]]), torch.tensor([[-2.0]]), torch.tensor([[3.0]])


@mistake(break_linear_attention)
def test_with_negative_features():
    """All versions are found but one. For negative numbers, the feature map is the
    exponential function, so nobody can tell them apart: let some of the features be
    positive."""
    generator = torch.Generator().manual_seed(6)
    query, key, value = torch.rand(3, 4, 3, generator=generator)
    return -3 * query, -3 * key, value
